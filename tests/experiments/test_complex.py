"""Runs of complex families: they learn, go on exactly, come back from their folder, and start from a real BERT."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import psitext
import toys
from psitext.cli import early
from psitext.encoders.qbert import Qbert
from psitext.errors import UserError
from psitext.experiments.export import to_hf
from psitext.experiments.finetune import finetune_run, read_labelled, starting_model
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.run import finetune_recipe
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.model import load, with_pool
from psitext.train import checkpoint

PAPER = ["first=unit", "score=modulus", "queries=false", "outputs=false", "init=paper"]
FAMILIES = {
    "qbert": ["encoder.family=qbert"],
    "published": ["encoder.family=qbert", *(f"encoder.{one}" for one in PAPER), "head.logits=modulus"],
    "cvbert": ["encoder.family=cvbert"],
}
QUICK = ["train.steps=4", "train.evaluate_every=4", "train.checkpoint_every=4"]
TEXTS = ["It was a good day.", "", "The dog slept."]


@cache
def pretrained(family: str) -> Path:
    """The folder of a run that came far enough to have learnt something."""
    folder = toys.folder() / f"pretrained-{family}"
    settings = ["train.steps=60", "train.evaluate_every=20", "train.checkpoint_every=20", "train.accumulation=1"]
    pretrain_run(toys.pretraining([*FAMILIES[family], *settings]), folder)
    return folder


def own(path: Path, rows: list[tuple[str, Any]] | None = None) -> dict[str, Any]:
    table = [("text", "label"), *(rows or toys.words_and_labels(60))]
    return {"data": {"train": str(toys.table(path / "own.csv", table))}}


def on(init: Path | str | None, tree: dict[str, Any], *settings: str) -> FinetuneRecipe:
    """The small recipe without its encoder, starting from ``init``."""
    recipe = toys.finetuning([*QUICK, *settings], **tree, init=str(init))
    return recipe.model_copy(update={"encoder": None})


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    ours, theirs = checkpoint.tensors_of(one), checkpoint.tensors_of(other)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("family", FAMILIES)
def test_law_pretraining_learns_and_goes_on_exactly(family: str, tmp_path: Path) -> None:
    run = pretrained(family)
    dev = [event for event in toys.events(run) if event["kind"] == "dev"]
    assert dev[-1]["loss_words"] < dev[0]["loss_words"] < 6
    whole = load(run)
    names = checkpoint.read_tensors(run / "model" / "model.safetensors").keys()
    assert {name[-3:] for name in names} == {"_re", "_im", "ias"}, "pairs of real tensors, and the bias of real logits"
    assert not any(value.is_complex() for value in checkpoint.tensors_of(whole.network).values())
    shutil.copytree(run, tmp_path / "again")
    for left in ("model", "checkpoints/step-00000060"):
        shutil.rmtree(tmp_path / "again" / left)
    (tmp_path / "again" / "result.json").unlink()
    settled = RunFolder(tmp_path / "again").recipe()
    again = pretrain_run(settled, tmp_path / "again")  # type: ignore[arg-type]
    assert same(again.network, whole.network)
    assert [event for event in toys.events(tmp_path / "again") if event["step"] > 40] == [
        event for event in toys.events(run) if event["step"] > 40
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_law_states_are_complex_and_become_kets(family: str, tmp_path: Path) -> None:
    model = load(pretrained(family))
    state = model.encode(TEXTS, tokens=True)
    assert (state.vector.dtype, state.tokens.dtype) == (torch.complex64, torch.complex64)
    assert_close(state.vector, state.tokens[:, 0], rtol=0, atol=1e-6)
    assert_close(state.to_ket().probabilities().sum(-1), torch.ones(3), rtol=0, atol=1e-5)
    if family != "cvbert":
        size = 1.0 if family == "published" else 32**0.5
        assert_close(state.vector.norm(dim=-1), torch.full((3,), size), rtol=0, atol=1e-4)
    (vectors,) = model.token_vectors(TEXTS[:1])
    words = torch.complex(model.encoder.token.weight_re, model.encoder.token.weight_im).detach().numpy()
    ids = model.tokenizer.encode(TEXTS[:1])[0]
    np.testing.assert_array_equal(vectors.static, words[ids])
    assert vectors.contextual.dtype == np.complex64
    mean = with_pool(model, "mean").encode(TEXTS)
    assert_close(mean.vector[0], state.tokens[0][state.real[0]].mean(0), rtol=0, atol=1e-5)
    with pytest.raises(
        UserError, match=f"transformers has no {model.encoder.config.family}; a BERT, a GPT-2 or a Llama"
    ):
        to_hf(model, tmp_path / "theirs")


@pytest.mark.parametrize(
    ("family", "kind"), [("qbert", "measurement"), ("published", "measurement"), ("cvbert", "modulus")]
)
def test_law_a_run_is_finetuned_under_its_familys_head(family: str, kind: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    settings = ["train.steps=40", "train.evaluate_every=20", "train.optim.lr=1e-2", "train.accumulation=1"]
    trained = finetune_run(on(pretrained(family), own(tmp_path), *settings), run)
    assert trained.head is not None and trained.head.kind == kind  # type: ignore[union-attr]
    model = load(run)
    assert model.head == trained.head and same(model.network, trained.network)
    data = read_labelled(RunFolder(run).recipe())  # type: ignore[arg-type]
    assert model.evaluate(data.dev["dev"]) == pytest.approx(RunFolder(run).result()["scores"]["dev"])
    assert model.evaluate(data.train)["accuracy"] > 0.9
    answer = model.predict(["good fine"])[0]
    assert answer.label == "up" and sum(answer.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("head", ["affine", "measurement", "modulus"])
def test_law_any_head_on_any_family(head: str, tmp_path: Path) -> None:
    for name, init in (("bert", toys.pretrained()), ("qbert", pretrained("qbert"))):
        model = finetune_run(on(init, own(tmp_path), f"head.kind={head}"), tmp_path / name)
        assert load(tmp_path / name).head == model.head
        assert model.head.kind == head  # type: ignore[union-attr]
    scores = finetune_run(on(pretrained("qbert"), own(tmp_path, toys.scored(60)), f"head.kind={head}"), tmp_path / "s")
    assert isinstance(scores.predict(["good fine"])[0].label, float)


@pytest.mark.parametrize("name", ["tags", "questions"])
def test_smoke_heads_of_tokens_over_complex_states(name: str, tmp_path: Path) -> None:
    task = {"task": str(toys.task_file(tmp_path, name))}
    model = finetune_run(on(pretrained("qbert"), task), tmp_path / "run")
    assert model.head.kind == "affine"  # type: ignore[union-attr]
    assert model.network.head.output.in_features == 64  # type: ignore[union-attr]
    assert model.evaluate(read_labelled(on(pretrained("qbert"), task)).dev["dev"])
    with pytest.raises(UserError, match="a measurement head reads one vector a text, no tokens"):
        finetune_run(on(pretrained("qbert"), task, "head.kind=measurement"), tmp_path / "no")
    assert not (tmp_path / "no").exists()


SHAPES = {
    "qcls": {"family": "qcls", "width": 32},
    "qbert": {"family": "qbert", "width": 32, "layers": 1, "heads": 2, "hidden": 24, "max_len": 64},
}


@pytest.mark.parametrize("family", SHAPES)
def test_law_quantum_classifiers_from_nothing(family: str, tmp_path: Path) -> None:
    budget = ["train.steps=60", "train.evaluate_every=60", "train.optim.lr=2e-2", "train.accumulation=1"]
    recipe = toys.finetuning(budget, encoder=SHAPES[family], **own(tmp_path))
    model = finetune_run(recipe, tmp_path / "run")
    assert model.head.kind == "measurement"  # type: ignore[union-attr]
    assert model.evaluate(read_labelled(recipe).train)["accuracy"] > 0.9
    assert_close(load(tmp_path / "run").encode(TEXTS).vector, model.encode(TEXTS).vector)
    assert f"A {family} encoder, " in (tmp_path / "run" / "model" / "card.md").read_text(encoding="utf-8")


# --- a real BERT made complex


@pytest.mark.parametrize("how", ["zero-imaginary", "widely-linear"])
@pytest.mark.parametrize(("into", "kind"), [("qbert", "measurement"), ("cvbert", "modulus")])
def test_law_a_lifted_bert_begins_where_it_was(into: str, kind: str, how: str, tmp_path: Path) -> None:
    recipe = on(toys.pretrained(), own(tmp_path), f"lift.into={into}", f"lift.how={how}", "train.optim.lr=1e-9")
    before, after = load(toys.pretrained(), pool="cls").encode(TEXTS), starting_model(recipe).encode(TEXTS)
    expected = before.vector.to(torch.complex64) if how == "zero-imaginary" else None
    assert_close(after.to_real()[:, :32], before.vector, rtol=0, atol=1e-5)
    if expected is not None:
        assert_close(after.vector, expected, rtol=0, atol=1e-5)
    model = finetune_run(recipe, tmp_path / "run")
    assert isinstance(model.encoder, Qbert) and model.encoder.config.family == into
    assert model.head.kind == kind  # type: ignore[union-attr]
    assert_close(load(tmp_path / "run").encode(TEXTS).vector, after.vector, rtol=0, atol=1e-4)


def test_known_what_is_lifted_already_stays(tmp_path: Path) -> None:
    recipe = on(pretrained("qbert"), own(tmp_path), "lift.into=qbert")
    assert same(starting_model(recipe).encoder, load(pretrained("qbert")).encoder)
    with pytest.raises(UserError, match="only a real BERT can be made a cvbert, and this model is a qbert"):
        starting_model(on(pretrained("qbert"), own(tmp_path), "lift.into=cvbert"))
    fresh = starting_model(on(toys.pretrained(), own(tmp_path), "lift.into=qbert", "fresh=true"))
    assert fresh.encoder.token.weight_im.any(), "new weights are complex ones"


def test_known_one_line_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    toys.table(tmp_path / "own.csv", [("text", "label"), *toys.words_and_labels(60)])
    run = psitext.finetune(
        data="own.csv", init=toys.pretrained(), encoder="qbert", head="modulus", settings=QUICK, out="run", seed=1
    )
    assert run.encoder.config.family == "qbert"
    assert run.head.kind == "modulus"  # type: ignore[union-attr]
    assert json.loads(Path("run/recipe.json").read_text())["given"]["lift"] == {
        "into": "qbert",
        "how": "zero-imaginary",
    }


# --- what is refused


def test_known_settings_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"makes the real BERT complex that init \(--init\) names; .* family = 'qbert'"):
        finetune_recipe("rte", encoder="qbert")
    with pytest.raises(UserError, match="a complex encoder has no pooler"):
        finetune_recipe("rte", init="hf:x", encoder="qbert", settings=["pool=pooled"])
    with pytest.raises(UserError, match=r"sets head.kind to 'measure'; did you mean 'measurement'"):
        finetune_recipe("rte", init="hf:x", head="measure")
    with pytest.raises(UserError, match=r"has an unknown key 'head.drop'; did you mean 'dropout'"):
        finetune_recipe("rte", init="hf:x", head="modulus", settings=["head.drop=0.1"])
    with pytest.raises(UserError, match=r"--encoder is one of qbert, cvbert, not 'qbret'; did you mean 'qbert'"):
        early.choice("--encoder", "qbret", ("qbert", "cvbert"))
    encoder = {**SHAPES["qbert"]}
    with pytest.raises(UserError, match="sets pool to 'pooled': it takes 'cls' or 'mean'"):
        finetune_run(toys.finetuning(["pool=pooled"], encoder=encoder, **own(tmp_path)), tmp_path / "run")
    with pytest.raises(UserError, match=r"'encoder.widht'; did you mean 'width'"):
        toys.finetuning(["encoder.widht=3"], encoder=encoder, **own(tmp_path))
    tags = {"task": str(toys.task_file(tmp_path, "tags"))}
    with pytest.raises(UserError, match="a qcls encoder has no states of tokens"):
        finetune_run(toys.finetuning(QUICK, encoder=SHAPES["qcls"], **tags), tmp_path / "run")
    assert not (tmp_path / "run").exists()
