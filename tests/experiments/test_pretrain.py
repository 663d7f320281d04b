"""Pre-training from text in any layout to a model folder."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import toys
from psitext.errors import UserError
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.run import pretrain
from psitext.experiments.runs.folder import RunFolder
from psitext.heads.pretraining import PretrainingConfig
from psitext.model import load
from psitext.text import toy
from psitext.train import checkpoint

STORIES = list(toy.stories(60))


def plain(path: Path) -> dict[str, object]:
    path = path.with_suffix(".txt")
    path.write_text("\n\n".join("\n".join(story) for story in STORIES), encoding="utf-8")
    return {"files": [str(path)]}


def packed(path: Path) -> dict[str, object]:
    text = "\n\n".join("\n".join(story) for story in STORIES)
    path.with_suffix(".txt.gz").write_bytes(gzip.compress(text.encode()))
    return {"files": [str(path.with_suffix(".txt.gz"))]}


def csv(path: Path) -> dict[str, object]:
    rows = [("id", "body"), *((index, f'"{" ".join(story)}"') for index, story in enumerate(STORIES))]
    return {"files": [str(toys.table(path.with_suffix(".csv"), rows))], "column": "body"}


def jsonl(path: Path) -> dict[str, object]:
    lines = [json.dumps({"text": " ".join(story)}) for story in STORIES]
    path.with_suffix(".jsonl").write_text("\n".join(lines), encoding="utf-8")
    return {"files": [str(path.with_suffix(".jsonl"))]}


@pytest.mark.parametrize("write", [plain, packed, csv, jsonl], ids=lambda write: write.__name__)
def test_law_the_layout_of_the_text_does_not_matter(write: Callable[[Path], dict[str, object]], tmp_path: Path) -> None:
    recipe = toys.pretraining(["train.steps=6"], corpus=[write(tmp_path / "text")])
    pretrain_run(recipe, tmp_path / "run")
    result = RunFolder(tmp_path / "run").result()
    assert (result["facts"]["steps"], result["counters"]["step"]) == (6, 6)
    assert 0 < result["facts"]["tokens trained on"] == result["counters"]["tokens"]
    assert result["data"]["samples"] > 0
    reference = pretrain_run(toys.pretraining(["train.steps=6"], corpus=[{"files": ["toy:60"]}]), tmp_path / "toy")
    model = load(tmp_path / "run")
    assert model.tokenizer.fingerprint == reference.tokenizer.fingerprint
    ours, theirs = checkpoint.tensors_of(model.network), checkpoint.tensors_of(reference.network)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours), "the same stories give the same run"


def test_known_it_learns_words_and_next_sentences(tmp_path: Path) -> None:
    recipe = toys.pretraining(["train.steps=150", "train.accumulation=1", "train.evaluate_every=50"])
    pretrain_run(recipe, tmp_path / "run")
    dev = [event for event in toys.events(tmp_path / "run") if event["kind"] == "dev"]
    assert [event["step"] for event in dev] == [50, 100, 150]
    assert dev[-1]["loss_words"] < dev[0]["loss_words"] < 5.8
    assert 0.05 < dev[-1]["accuracy_words"] <= 1 and 0 <= dev[-1]["accuracy_next"] <= 1


SINGLE = ["samples.pairs=none", "head.next_sentence=false", "encoder.pool=mean"]


@pytest.mark.parametrize(
    ("settings", "objectives"),
    [
        (["samples.pairs=sop"], {"words", "next"}),
        (SINGLE, {"words"}),
        (["samples.held_out=0", "tokenizer.kind=words", "head.tied=false"], {"words", "next"}),
        (["samples.whole_word=true", "samples.layout=padded", "tokenizer.kind=bpe"], {"words", "next"}),
        (["train.optim.schedule=cosine", "train.epochs=1", "train.accumulation=1"], {"words", "next"}),
        (["train.tokens=3000", "train.pool=4"], {"words", "next"}),
    ],
    ids=["sop", "single", "words", "bpe", "epoch", "tokens"],
)
def test_smoke_variants(settings: list[str], objectives: set[str], tmp_path: Path) -> None:
    budget = [] if any("epochs" in one or "tokens" in one for one in settings) else ["train.steps=4"]
    model = pretrain_run(toys.pretraining(settings + budget), tmp_path / "run")
    events = toys.events(tmp_path / "run")
    losses = {name.removeprefix("loss_") for event in events for name in event if name.startswith("loss_")}
    assert losses == objectives
    assert any(event["kind"] == "dev" for event in events) == ("samples.held_out=0" not in settings)
    assert model.encode(["It was a good day."]).vector.isfinite().all()
    if "train.tokens=3000" in settings:
        assert 3000 <= RunFolder(tmp_path / "run").result()["counters"]["tokens"] < 3400


def test_known_a_time_budget(tmp_path: Path) -> None:
    """Two seconds, turned into steps before the first of them."""
    pretrain_run(toys.pretraining(["train.minutes=0.033", "train.evaluate_every=0"]), tmp_path / "run")
    recipe = RunFolder(tmp_path / "run").recipe()
    assert recipe is not None and recipe.train.minutes is None
    result = RunFolder(tmp_path / "run").result()
    assert recipe.train.steps == result["counters"]["step"]


def test_law_a_run_can_start_from_another(tmp_path: Path) -> None:
    first = toys.pretrained()
    recipe = toys.pretraining(["train.steps=1", "train.optim.lr=1e-12"], init=str(first))
    model, start = pretrain_run(recipe, tmp_path / "more"), load(first)
    assert model.tokenizer.fingerprint == start.tokenizer.fingerprint
    ours, theirs = checkpoint.tensors_of(model.network), checkpoint.tensors_of(start.network)
    assert ours.keys() == theirs.keys()
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-9) for name in ours)
    with pytest.raises(UserError, match=r"does not fit this model: '[\w.]+' is .*, not"):
        pretrain_run(toys.pretraining(["encoder.width=16"], init=str(first)), tmp_path / "narrow")
    assert not (tmp_path / "narrow").exists()


def test_known_a_text_of_one_document_leaves_nothing_to_judge_by(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("\n".join(STORIES[0]), encoding="utf-8")
    still = ["train.steps=1", "head.next_sentence=false", "samples.pairs=none", "encoder.pool=cls"]
    model = pretrain_run(toys.pretraining(still, corpus=[{"files": [str(tmp_path / "one.txt")]}]), tmp_path / "run")
    assert model.facts["notes"] == [
        "nothing was held out to judge by: the text has 1 document; in plain text an empty line ends one"
    ]
    assert "notes" not in pretrain_run(toys.pretraining(["train.steps=1"]), tmp_path / "more").facts


@pytest.mark.parametrize("tied", [True, False])
def test_law_going_on_takes_sizes_and_heads_from_the_model(tied: bool, tmp_path: Path) -> None:
    """Whatever the recipe's sizes are; a head that the model has not had begins anew, what both have goes on."""
    small = ["encoder.width=16", "encoder.heads=2", f"head.tied={str(tied).lower()}", "train.steps=1"]
    first = pretrain_run(toys.pretraining(small), tmp_path / "first")
    text = "toy:60"
    still = ["train.steps=1", "train.optim.lr=1e-12", "train.evaluate_every=0"]
    run = pretrain("bert-tiny", data=text, init=tmp_path / "first", out=tmp_path / "same", settings=still)
    ours, theirs = checkpoint.tensors_of(run.model.network), checkpoint.tensors_of(first.network)
    assert ours.keys() == theirs.keys()
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-9) for name in ours)
    plainer = pretrain(data=text, init=tmp_path / "first", out=tmp_path / "adapted", settings=still).model
    assert plainer.head == PretrainingConfig(tied=tied, next_sentence=False)
    words = checkpoint.tensors_of(plainer.network)
    assert words.keys() == {name for name in theirs if not name.startswith("head.next")}
    assert all(torch.allclose(words[name], theirs[name], atol=1e-9) for name in words)
    told = pretrain(
        data=text, init=tmp_path / "first", out=tmp_path / "told", settings=[*still, "encoder.dropout=0.25"]
    )
    assert told.model.encoder.config.dropout == 0.25


@pytest.mark.parametrize(
    ("name", "message"),
    [("rac-tiny", "keeps no states of words"), ("optimus-tiny", "optimus-tiny writes: .*--config optimus-mini")],
)
def test_known_what_no_masked_words_go_on_from(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        pretrain(data="toy:60", init=name, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_law_a_resumed_run_needs_its_text_no_more(tmp_path: Path) -> None:
    """Its tokens are in its folder; so what becomes of the text in between changes nothing."""
    corpus = [plain(tmp_path / "text")]
    recipe = toys.pretraining(["train.steps=8"], corpus=corpus)
    whole = pretrain_run(recipe, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    for left in ("model", "checkpoints/step-00000008"):
        shutil.rmtree(tmp_path / "again" / left)
    (tmp_path / "again" / "result.json").unlink()
    (tmp_path / "text.txt").write_text("Another story. It is short.\n")
    settled = RunFolder(tmp_path / "again").recipe()
    assert settled is not None
    again = pretrain_run(settled, tmp_path / "again")  # type: ignore[arg-type]
    ours, theirs = checkpoint.tensors_of(again.network), checkpoint.tensors_of(whole.network)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
