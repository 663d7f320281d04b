"""Kets as files: every ending, with what must be in it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from psitext.experiments.states import drawing, writing
from psitext.explain.ket.controls import random_kets
from psitext.explain.ket.portrait import Portrait, portrait
from psitext.state import SentenceState

TEXTS = ["a <b>gripping</b> film", "=1+1 $x$"]
COSTS = {"bond 2": {"two_qubit": 3, "one_qubit": 5, "depth": 7}, "exact": {"two_qubit": 1, "one_qubit": 2, "depth": 3}}


def some(count: int, bond: int | None = None) -> Portrait:
    return portrait(SentenceState(random_kets(count, 12)), bond=bond)


def test_known_json_holds_everything(tmp_path: Path) -> None:
    found = some(2, 2)
    writing.write(tmp_path / "k.json", found, TEXTS, "m", COSTS)
    tree = json.loads((tmp_path / "k.json").read_text())
    assert tree == json.loads(json.dumps(writing.record(found, TEXTS, "m", COSTS)))
    assert tree["model"] == "m" and tree["preparation"] == COSTS and tree["at"] == 2
    assert [one["text"] for one in tree["sentences"]] == TEXTS


def test_known_csv_is_a_row_for_every_sentence(tmp_path: Path) -> None:
    found = some(2)
    writing.write(tmp_path / "k.csv", found, TEXTS, "m")
    with (tmp_path / "k.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sentence"] for row in rows] == TEXTS
    assert float(rows[0]["bits, cut 2"]) == float(found.entropy_bits[0, 1])
    assert float(rows[1]["fidelity with 1"]) == float(found.fidelities[1, 0])


@pytest.mark.parametrize("count", [2, 11])
def test_known_pictures_and_pages(tmp_path: Path, count: int) -> None:
    texts = [*TEXTS, *(f"sentence {place}" for place in range(count - 2))]
    found = some(count, 1)
    for ending in ("svg", "png", "html"):
        writing.write(tmp_path / f"k.{ending}", found, texts, "runs/m", COSTS)
    ElementTree.fromstring(svg := (tmp_path / "k.svg").read_text())
    assert "entropy (bits)" in svg and ("1 a &lt;b" in svg) == (count == 2) and ("mean of 11" in svg) == (count == 11)
    assert (tmp_path / "k.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "k.html").read_text()
    assert "<b>gripping" not in page and "&lt;b&gt;gripping" in page
    assert "padded with zeros to 16" in page and "Preparation" in page and "random kets" in page


def test_known_long_sentences_are_cut_in_legends() -> None:
    (name,) = drawing.named(["a " * 50])
    assert name.startswith("1 a a") and name.endswith("…") and len(name) < 35
