"""Recipes of runs, checked as a whole: parts that contradict each other are refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import toys
from psitext.errors import UserError
from psitext.experiments.runs.recipes import resolve_recipe


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["samples.pairs=none"], "head.next_sentence and samples.pairs contradict each other"),
        (["head.next_sentence=false"], "head.next_sentence and samples.pairs contradict each other"),
        (["head.next_sentence=false", "samples.pairs=none"], "nothing would train the pooler; .*|nothing would train"),
        (["samples.max_len=65"], "samples of 65 tokens do not fit an encoder of 64 positions"),
        (["encoder.pool=max"], "sets encoder.pool to 'max'"),
        (["encoder.hidden=0"], "sets encoder.hidden to 0"),
        (["samples.mask=1.5"], "sets samples.mask to 1.5"),
        (["train.optim.lr=fast"], "sets train.optim.lr to 'fast'"),
        (["train.optim.lrr=1"], "unknown key 'train.optim.lrr'; did you mean 'lr'"),
        (["train.precision=fp8"], "sets train.precision to 'fp8'"),
    ],
)
def test_known_contradictions(settings: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        toys.pretraining(settings)
    assert "\n" not in str(caught.value)


def test_law_what_is_given_lies_over_the_file_and_settings_over_both(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(toys.FINETUNE)
    given = {"task": "cola", "train": {"seed": 4, "epochs": 2}}
    recipe = resolve_recipe("finetune", str(path), ["train.seed=5"], given)
    assert (recipe.name, recipe.train.seed, recipe.train.epochs, recipe.train.steps) == ("mine", 5, 2, None)
    assert recipe.train.batch_sequences == 16
    bare = resolve_recipe("finetune", None)
    assert (bare.name, bare.verb) == ("finetune", "finetune")


def test_known_a_recipe_of_another_verb() -> None:
    with pytest.raises(UserError, match="bert-tiny is a recipe to pretrain, not to finetune"):
        resolve_recipe("finetune", "bert-tiny")


HALVES = {"encoder_from": "hf:bert", "decoder_from": "runs/lm"}


@pytest.mark.parametrize(
    ("settings", "given", "sentence"),
    [
        (
            ["encoder.trunk.layers=2"],
            HALVES,
            r"encoder.trunk.layers says nothing beside encoder_from \(--encoder\): hf:bert",
        ),
        (["tokenizer.vocab_size=99"], HALVES, r"tokenizer.vocab_size says nothing beside encoder_from"),
        (["decoder.width=64"], HALVES, r"decoder.width says nothing beside decoder_from \(--decoder\): runs/lm"),
        (["writer.lowercase=true"], HALVES, r"writer.lowercase says nothing beside decoder_from"),
        (
            ["decoder.latent=8"],
            {"init": "runs/space"},
            r"decoder.latent says nothing beside init \(--init\): runs/space",
        ),
    ],
)
def test_known_sizes_beside_a_model_that_has_its_own(settings: list[str], given: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        resolve_recipe("pretrain", "optimus-mini", settings, given)


def test_law_only_what_a_caller_has_written_is_refused_beside_a_model(tmp_path: Path) -> None:
    kept = ["decoder.injection=memory", "decoder.dropout=0.1", "encoder.latent=8"]
    found = resolve_recipe("pretrain", "optimus-mini", kept, HALVES).tree()
    assert found["decoder"]["injection"] == "memory" and found["decoder"]["latent"] == 8
    own = tmp_path / "own.toml"
    own.write_text('extends = "optimus-mini"\nencoder_from = "hf:bert"\n')
    resolve_recipe("pretrain", str(own))
    own.write_text(own.read_text() + "[encoder.trunk]\nlayers = 2\n")
    with pytest.raises(UserError, match=r"encoder.trunk.layers says nothing"):
        resolve_recipe("pretrain", str(own))


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_law_one_side_decides_the_width_of_a_latent(side: str) -> None:
    found = resolve_recipe("pretrain", "optimus-mini", [f"{side}.latent=12"]).tree()
    assert found["encoder"]["latent"] == found["decoder"]["latent"] == 12
    with pytest.raises(UserError, match="latents of 12 numbers, the decoder reads 5"):
        resolve_recipe("pretrain", "optimus-mini", ["encoder.latent=12", "decoder.latent=5"])
