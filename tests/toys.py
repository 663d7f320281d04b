"""Recipes, tasks and files that train in a second or two, for the tests of several folders."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from psitext.experiments.finetune import finetune_run
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.runs.recipes import FinetuneRecipe, PretrainRecipe, resolve_recipe
from psitext.model import Model

SHAPE = """
[encoder]
width = 32
layers = 1
heads = 2
hidden = 48
max_len = 64
[tokenizer]
vocab_size = 300
"""
PRETRAIN = f"""
verb = "pretrain"
[[corpus]]
files = ["toy:200"]
{SHAPE}
[samples]
max_len = 32
held_out = 0.05
[train]
steps = 24
batch_tokens = 400
accumulation = 2
log_every = 3
checkpoint_every = 4
evaluate_every = 6
precision = "fp32"
optim.lr = 3e-3
"""
FINETUNE = f"""
verb = "finetune"
{SHAPE}
[text]
max_len = 48
[train]
steps = 24
batch_sequences = 16
accumulation = 2
log_every = 3
checkpoint_every = 4
evaluate_every = 6
precision = "fp32"
optim.lr = 3e-3
"""
# Tasks as a user would write them, on few generated examples.
TASKS = {
    "sentiment": """
        kind = "classification"
        text = "text"
        label = "label"
        labels = ["negative", "positive"]
        metrics = ["accuracy", "f1"]
        files.train = "toy:reviews:400"
        """,
    "pairs": """
        kind = "classification"
        text = "first"
        pair = "second"
        label = "label"
        labels = ["next", "other"]
        files.train = "toy:pairs:400"
        """,
    "tags": """
        kind = "tagging"
        text = "words"
        label = "tags"
        labels = ["other", "person", "place", "animal", "thing", "time"]
        files.train = "toy:tags:300"
        """,
    "questions": """
        kind = "span"
        text = "question"
        pair = "passage"
        label = "answer"
        metrics = ["span_f1", "span_exact"]
        files.train = "toy:questions:300"
        """,
}
CARVE = """
[carve]
dev = { of = "train", share = 0.2 }
"""


def task_file(folder: Path, name: str) -> Path:
    """The TOML file of one of the small tasks."""
    path = folder / f"{name}.toml"
    path.write_text("\n".join(line.strip() for line in TASKS[name].splitlines()) + CARVE, encoding="utf-8")
    return path


def pretraining(settings: Sequence[str] = (), **given: Any) -> PretrainRecipe:
    """The small pre-training recipe with settings laid over it."""
    recipe = resolve_recipe("pretrain", None, settings, tomllib.loads(PRETRAIN) | given)
    assert isinstance(recipe, PretrainRecipe)
    return recipe


def finetuning(settings: Sequence[str] = (), **given: Any) -> FinetuneRecipe:
    """The small fine-tuning recipe; name the task or the data."""
    recipe = resolve_recipe("finetune", None, settings, tomllib.loads(FINETUNE) | given)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def table(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    """A CSV file; the first row is its header."""
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


GOOD, BAD = ("good", "fine", "grand", "kind"), ("bad", "dull", "grim", "vain")


def words_and_labels(count: int) -> list[tuple[str, str]]:
    """Texts of two words that one look can tell apart, and which kind they are."""
    both = [(f"{a} {b}", name) for name, words in (("up", GOOD), ("down", BAD)) for a in words for b in words]
    return [both[(7 * index) % len(both)] for index in range(count)]


@cache
def folder() -> Path:
    """A folder for what is trained once in a session."""
    return Path(mkdtemp(prefix="psitext-tests-"))


@cache
def pretrained() -> Path:
    """The folder of a small pre-trained run."""
    pretrain_run(pretraining(), folder() / "pretrained")
    return folder() / "pretrained"


@cache
def trained(name: str) -> Path:
    """The folder of a small run, fine-tuned from nothing on one of ``TASKS`` or on two-word texts ("words")."""
    given: dict[str, Any]
    if name == "words":
        rows = [("text", "label"), *words_and_labels(96)]
        given = {"data": {"train": str(table(folder() / "words.csv", rows))}}
    elif name == "scores":
        rows = [("text", "label"), *scored(96)]
        given = {"data": {"train": str(table(folder() / "scores.csv", rows))}}
    else:
        given = {"task": str(task_file(folder(), name))}
    settings = ["train.steps=100", "train.evaluate_every=100", "train.checkpoint_every=100", "train.accumulation=1"]
    finetune_run(finetuning([*settings, "train.optim.lr=5e-3"], **given), folder() / name)
    return folder() / name


def scored(count: int) -> list[tuple[str, float]]:
    """Texts of two words with the share of good ones, moved a little so that they are scores and no classes."""
    words = [*GOOD, *BAD]
    found = []
    for index in range(count):
        a, b = words[index % 8], words[(3 * index + index // 8) % 8]
        found.append((f"{a} {b}", ((a in GOOD) + (b in GOOD)) / 2 + (index % 12) / 100))
    return found


def events(run: Path) -> list[dict[str, Any]]:
    """What a run logged, without the clock."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in lines]


def model_of(run: Path) -> Model:
    """The finished model of a run."""
    from psitext.model import load

    return load(run)
