"""Pictures of entanglement: they are what they are called, hold the names, and are the same for the same model."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import racs
from psitext.errors import UserError
from psitext.experiments.results import figures
from psitext.experiments.tensors import drawing

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("metric", ["paper", "data"])
def test_known_a_profile(tmp_path: Path, metric: str) -> None:
    held = racs.model().to_mps(metric=metric)  # type: ignore[arg-type]
    for name in ("a.svg", "b.svg", "a.png"):
        drawing.entanglement(held, tmp_path / name)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg == (tmp_path / "b.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(svg)
    for text in ("words before the cut", "Schmidt coefficient", "i, after 5 words", "entropy", "bound"):
        assert f">{text}<" in svg
    assert f'aria-label="entanglement of 10 words, {metric} metric: the log-odds of good against bad"' in svg
    assert "mathdefault" not in svg
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


def test_known_a_chain_of_one_cut(tmp_path: Path) -> None:
    drawing.entanglement(racs.model().to_mps(length=2), tmp_path / "a.svg")
    ElementTree.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", ["a $fine$ <film> & _odd_", "fine", "odd " * 70])
def test_known_words(tmp_path: Path, text: str) -> None:
    model = racs.model(3, unknown="keep", max_len=102)
    found = model.explain(text)
    for name in ("a.svg", "b.svg", "a.png"):
        drawing.sentence(found, tmp_path / name, found.shown)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg == (tmp_path / "b.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    shown = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    if len(found.words) <= drawing.LEGIBLE:
        names = [figures.one_line(word) for word in found.words]
        assert [word for word in shown if word in names][: len(names)] == names
    assert ("entropy (bits)" in shown) == (len(found.words) > 1)
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


def test_law_nothing_is_drawn_of_no_word(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the model knows no word of this text, so there is nothing to draw"):
        drawing.sentence(racs.model().explain("zebra"), tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []
