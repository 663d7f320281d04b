"""Sentence spaces and language models from text to a folder: what they start from, and how a run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tellers
from psitext.assemble import build_decoder
from psitext.encoders.bert import Bert
from psitext.errors import UserError
from psitext.experiments.autoencode import autoencode_run
from psitext.experiments.export import to_hf
from psitext.experiments.finetune import starting_model
from psitext.experiments.latents.start import first_layers
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import AutoencodeRecipe, FinetuneRecipe, PretrainRecipe, resolve_recipe
from psitext.heads.decoding import DecodingHead, Writing
from psitext.model import Model, load
from psitext.state import Posterior
from psitext.train import checkpoint

pytest.importorskip("transformers")

TRUNK = {"width": 16, "layers": 2, "heads": 2, "hidden": 16, "max_len": 16, "pool": "mean"}
DECODER = {"width": 16, "layers": 2, "heads": 2, "hidden": 16, "max_len": 24}
LSTM = {"kind": "lstm", "features": 8, "width": 12, "max_len": 24}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "sentences.txt"
    path.write_text("\n".join([*tellers.SENTENCES * 4, "", "too " * 40]), encoding="utf-8")
    return path


def recipe(text: Path, name: str = "optimus-mini", **changes: Any) -> AutoencodeRecipe:
    """A recipe that ships, at a size for tests."""
    space = name == "optimus-mini"
    given: dict[str, Any] = {
        "corpus": [{"files": [str(text)], "lines": True}],
        "sentences": {"max_len": 16, "max_tokens": 20, "held_out": 0.1},
        "tokenizer": {"kind": "words", "vocab_size": 60},
        "writer": {"kind": "words", "vocab_size": 60},
        "encoder": {"latent": 4, "trunk": TRUNK} if space else {},
        "decoder": {**DECODER, "latent": 4 if space else 0},
        "train": {"steps": 6, "batch_sequences": 8, "log_every": 2, "precision": "fp32"},
    }
    for key, value in changes.items():
        given[key] = {**given.get(key, {}), **value} if isinstance(value, dict) else value
    found = resolve_recipe("pretrain", name, (), given)
    assert isinstance(found, AutoencodeRecipe)
    return found


def weights(model: Model) -> dict[str, torch.Tensor]:
    return checkpoint.tensors_of(model.network)


def test_smoke_a_space_reads_and_writes_and_comes_back_from_its_folder(text: Path, tmp_path: Path) -> None:
    made = autoencode_run(recipe(text), tmp_path / "run")
    result = RunFolder(tmp_path / "run").result()
    assert result["facts"]["sentences"]["kept"] == 48
    assert result["facts"]["sentences"]["many_words"] == 0, "a blank line is none, and 40 words are no 64"
    assert result["facts"]["sentences"]["many_tokens"] == 1
    found = load(tmp_path / "run")
    state = found.encode(tellers.SENTENCES[:3])
    assert state.vector.shape == (3, 4)
    how = Writing(max_len=12)
    assert found.decode(state, how) == made.decode(made.encode(tellers.SENTENCES[:3]), how)
    assert "writes sentences: gpt2, 2 layers of width 16" in (tmp_path / "run" / "model" / "card.md").read_text()


def test_known_notes_of_a_run_say_what_was_left_out_and_what_was_not_judged(text: Path, tmp_path: Path) -> None:
    made = autoencode_run(recipe(text), tmp_path / "space")
    [note] = made.facts["notes"]
    assert note.startswith("trained on 48 of ") and "left out" in note
    few = tmp_path / "few.txt"
    few.write_text("\n".join(["a girl sits", "the dog sleeps in a bed"] * 20))  # every sentence has too many copies
    made = autoencode_run(recipe(few), tmp_path / "few")
    [note] = made.facts["notes"]
    assert "no sentence could be held out" in note and "its last weights are kept" in note
    all_of_it = autoencode_run(recipe(few, sentences={"held_out": 0}), tmp_path / "all")
    assert all_of_it.facts["notes"] == [], "who asked for none to be held out knows it"


def test_law_a_run_that_was_stopped_is_the_run_that_was_not(text: Path, tmp_path: Path) -> None:
    whole = recipe(text, train={"checkpoint_every": 2})
    through = autoencode_run(whole, tmp_path / "through")
    folder = tmp_path / "stopped"

    def stop(event: Any) -> None:
        if event["kind"] == "train" and event["step"] == 4:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        autoencode_run(whole, folder, [stop])
    on = autoencode_run(whole, folder)
    assert all(torch.equal(value, weights(on)[name]) for name, value in weights(through).items())


def test_law_other_text_is_another_run(text: Path, tmp_path: Path) -> None:
    def stop(event: Any) -> None:
        raise RuntimeError("killed")

    own = tmp_path / "own.txt"
    own.write_text(text.read_text())
    with pytest.raises(RuntimeError):
        autoencode_run(recipe(own, train={"checkpoint_every": 1}), tmp_path / "run", [stop])
    own.write_text("\n".join([*tellers.SENTENCES * 4, "a girl sits down"]))
    with pytest.raises(UserError, match=r"not those that the run .* began with"):
        autoencode_run(recipe(own, train={"checkpoint_every": 1}), tmp_path / "run")


def test_law_a_decoder_starts_as_the_language_model_that_it_is_given(text: Path, tmp_path: Path) -> None:
    given = autoencode_run(recipe(text, "gpt2-mini"), tmp_path / "lm")
    changes = {
        "decoder_from": str(tmp_path / "lm"),
        "decoder": {"init_std": 0.001},
        "train": {"optim": {"lr": 1e-30}},
    }
    made = autoencode_run(recipe(text, **changes), tmp_path / "run")
    ours, theirs = weights(made), weights(given)
    for name in ("memory", "embedding"):  # the latent's matrices alone are new
        assert 0.0005 < float(ours[f"head.decoder.{name}.weight"].std()) < 0.002
    shared = [name for name in theirs if name.startswith("head.decoder.")]
    assert shared
    assert all(torch.equal(ours[name], theirs[name]) for name in shared)
    assert made.writer.fingerprint == given.writer.fingerprint
    pre = resolve_recipe("pretrain", "bert-tiny", ["train.steps=1"], {"corpus": [{"files": ["toy:20"]}]})
    assert isinstance(pre, PretrainRecipe)
    pretrain_run(pre, tmp_path / "bert")
    with pytest.raises(UserError, match="does not write"):
        autoencode_run(recipe(text, decoder_from=str(tmp_path / "bert")), tmp_path / "other")


@pytest.mark.parametrize("model", [{"model": "gpt2"}, {"model": "llama", "kv_heads": 1}])
def test_law_a_frozen_decoder_learns_to_read_latents_and_nothing_else(
    text: Path, tmp_path: Path, model: dict[str, Any]
) -> None:
    given = autoencode_run(recipe(text, "gpt2-mini", decoder=model), tmp_path / "lm")
    space = autoencode_run(recipe(text, decoder_from=str(tmp_path / "lm"), freeze_decoder=2), tmp_path / "space")
    network = {name: value for name, value in weights(given).items() if ".network." in name}
    assert network and all(torch.equal(weights(space)[name], value) for name, value in network.items())
    fresh = build_decoder(space.network.head.decoder.config, recipe(text).train.seed)  # type: ignore[union-attr, arg-type]
    for name in ("memory.weight", "embedding.weight"):
        assert not torch.equal(weights(space)[f"head.decoder.{name}"], fresh.state_dict()[name])


def test_law_a_trunk_starts_as_the_lowest_layers_of_the_bert_that_it_is_given(text: Path, tmp_path: Path) -> None:
    small = {"encoder": {"width": 16, "layers": 2, "heads": 2, "hidden": 16, "max_len": 32, "pool": "pooled"}}
    pre = resolve_recipe(
        "pretrain", "bert-tiny", ["train.steps=1", "samples.max_len=32"], {"corpus": [{"files": ["toy:20"]}], **small}
    )
    assert isinstance(pre, PretrainRecipe)
    given = pretrain_run(pre, tmp_path / "bert")
    changes = {"encoder_from": str(tmp_path / "bert"), "encoder_layers": 1, "pool": "mean"}
    made = autoencode_run(recipe(text, **changes, train={"optim": {"lr": 1e-30}}), tmp_path / "run")
    lower = weights(load(tmp_path / "bert", pool="mean"))
    ours = {name: value for name, value in weights(made).items() if name.startswith("encoder.trunk.")}
    assert "encoder.trunk.blocks.1.attention.qkv.weight" not in ours
    assert all(torch.equal(value, lower[name.replace("trunk.", "")]) for name, value in ours.items())
    assert made.tokenizer.fingerprint == given.tokenizer.fingerprint
    assert isinstance(given.encoder, Bert)
    with pytest.raises(UserError, match="encoder_layers is 5"):
        first_layers(given.encoder, 5)


def test_law_whitening_brings_latents_to_scale_and_changes_no_sentence(text: Path, tmp_path: Path) -> None:
    first = autoencode_run(
        recipe(text, objective={"noise": False, "beta": 0.0, "schedule": "constant"}), tmp_path / "ae"
    )
    frozen = {"init": str(tmp_path / "ae"), "train": {"steps": 1, "optim": {"lr": 1e-30}}}
    second = autoencode_run(recipe(text, **frozen, whiten=True), tmp_path / "vae")
    before, after = first.encode(tellers.SENTENCES), second.encode(tellers.SENTENCES)
    scale = before.vector / after.vector
    assert torch.allclose(scale, scale[0].expand_as(scale), rtol=1e-3)
    assert np.allclose(after.vector.std(0, unbiased=False), 1, atol=0.3), "over the training sentences it is 1"
    assert isinstance(after, Posterior)
    assert after.log_var.abs().max() < 1e-20, "as good as 0: the smallest rate there is has moved it"
    heads = [model.network.head for model in (first, second)]
    ids = torch.tensor([[1, 5, 9, 7]])
    states = [
        head.decoder.states(ids, state.vector[:1])
        for head, state in zip(heads, (before, after), strict=True)
        if isinstance(head, DecodingHead)
    ]
    torch.testing.assert_close(*states, rtol=1e-4, atol=1e-5)


def test_smoke_lstms_are_trained_by_the_same_recipe(text: Path, tmp_path: Path) -> None:
    given = recipe(text).tree() | {"encoder": {"family": "lstm-vae", "latent": 4}, "decoder": {**LSTM, "latent": 4}}
    made = autoencode_run(AutoencodeRecipe(**given), tmp_path / "run")
    assert len(made.decode(made.encode(["a girl sits"]))) == 1
    alone = recipe(text, "gpt2-mini").tree() | {"decoder": {**LSTM, "latent": 0}}
    language = autoencode_run(AutoencodeRecipe(**alone), tmp_path / "lm")
    with pytest.raises(UserError, match="an LSTM of width 12, no layers of which can be frozen"):
        autoencode_run(AutoencodeRecipe(**{**alone, "freeze_decoder": 1}), tmp_path / "frozen")
    with pytest.raises(UserError, match="language model"):
        language.encode(["a girl sits"])
    with pytest.raises(UserError, match="none to pool"):
        load(tmp_path / "lm", pool="mean")
    tuned = resolve_recipe("finetune", "finetune", (), {"task": "toy-sentiment", "init": str(tmp_path / "lm")})
    assert isinstance(tuned, FinetuneRecipe)
    with pytest.raises(UserError, match="has no space to go on with"):
        autoencode_run(recipe(text, init=str(tmp_path / "lm")), tmp_path / "other")
    with pytest.raises(UserError, match="is a language model"):
        starting_model(tuned)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"decoder": {"latent": 5}}, "latents of 4 numbers, the decoder reads 5"),
        ({"init": "x", "encoder_from": "y"}, "init is a whole autoencoder"),
        ({"encoder_layers": 2}, "encoder_from .--encoder., which is not given"),
        ({"whiten": True}, "init, which is not given"),
        ({"freeze_decoder": 3}, "has 2 layers, of which 3 cannot be frozen"),
        (
            {"decoder": {"max_len": 12}},
            "do not fit the 12 positions of the decoder; set sentences.max_tokens to 11 at most",
        ),
        ({"writer": {"kind": "wordpiece"}}, "writer.kind is 'bpe' or 'words'"),
        ({"corpus": []}, "no sentences to train on"),
    ],
)
def test_law_parts_that_do_not_fit_are_refused(changes: dict[str, Any], word: str, text: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=word):
        autoencode_run(recipe(text, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_law_a_language_model_goes_to_transformers_and_comes_back(text: Path, tmp_path: Path) -> None:
    made = autoencode_run(recipe(text, "gpt2-mini"), tmp_path / "lm")
    to_hf(made, tmp_path / "hf")
    back = load(f"hf:{tmp_path / 'hf'}")
    ids = torch.tensor([[1, 5, 9, 7]])
    states = [
        model.network.head.decoder.states(ids, torch.zeros(1, 0))
        for model in (made, back)
        if isinstance(model.network.head, DecodingHead)
    ]
    torch.testing.assert_close(*states)
    space = autoencode_run(recipe(text, decoder_from=f"hf:{tmp_path / 'hf'}"), tmp_path / "space")
    assert space.writer.vocab_size == made.writer.vocab_size
    with pytest.raises(UserError, match="latent"):
        to_hf(space, tmp_path / "other")
