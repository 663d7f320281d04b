"""Rows of a table: every way to write runs, on the same sentences and by the same judge."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import tellers
from psitext.baselines.control import CtrlGenConfig
from psitext.errors import UserError
from psitext.experiments.control.table import WAYS, ControlRow, row
from psitext.train.adversarial import GanConfig

TASK = """
kind = "classification"
text = "text"
label = "label"
labels = ["young", "old"]
[files]
train = "train.csv"
dev = "dev.csv"
"""
SETTINGS = {
    "gan": GanConfig(noise=4, width=16, steps=60, batch=32, lr=3e-3, posterior="means"),
    "rival": CtrlGenConfig(code=4, features=8, width=16, batch=8, steps=4, written=6, filters=4, max_tokens=10),
    "sentences": 100,
}


def label(text: str) -> str:
    return "old" if text.startswith(("two", "the")) else "young"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("row")
    tellers.space().save(folder / "space")
    (folder / "who.toml").write_text(TASK)
    others = [" ".join(parts) for parts in product(tellers.WHO, tellers.WHAT, tellers.WHAT, tellers.WHAT)]
    for name, texts in (("train", 4 * tellers.SENTENCES), ("dev", [*others, *tellers.SENTENCES])):
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(f"{text},{label(text)}\n" for text in texts))
    return folder


@pytest.mark.parametrize("way", sorted(WAYS))
def test_smoke_every_way_is_judged(place: Path, way: str) -> None:
    outcome = row(ControlRow(way=way, **SETTINGS), str(place / "who.toml"), str(place / "space"))
    assert outcome.rows["train"] == 48 and outcome.rows["written"] == 200
    assert outcome.rows["held out"] + outcome.rows["judge"] == 108 and outcome.rows["held out"] <= 43
    found = outcome.metrics
    assert all(0 <= value <= 1 for name, value in found.items() if name != "words")
    assert set(outcome.notes["examples"]) == {"young", "old"}
    if way in ("nearest", "copies"):
        assert found["copied"] == 1 and not any(outcome.notes["examples"].values())
    if way in ("gaussian", "nearest", "copies"):
        assert found["accuracy"] > 0.8, outcome


def test_law_a_row_repeats(place: Path) -> None:
    first, second = (
        row(ControlRow(way="gan", **SETTINGS), str(place / "who.toml"), str(place / "space"), seed=3) for _ in range(2)
    )
    assert first.metrics == second.metrics


def test_known_too_few_sentences_to_judge(place: Path) -> None:
    with pytest.raises(UserError, match="at least 100 sentences of each label, not 5"):
        row(ControlRow(sentences=5), str(place / "who.toml"), str(place / "space"))
