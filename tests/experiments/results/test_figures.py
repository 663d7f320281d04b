"""experiments/figures.py: the SVG is well-formed, harmless, deterministic, and says what it shows."""

from __future__ import annotations

import itertools
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("matplotlib", reason="figures need the extra `report`")

from psitext.errors import UserError
from psitext.experiments.results.figures import (
    COLOURS,
    MOST_POINTS,
    Band,
    Interval,
    bands,
    comparison,
    learning_curves,
    legible,
    reliability_diagram,
)
from psitext.score.calibration import Bin, reliability

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert(1)</script> & "q" --> ]]> $x^2$ \x00\ud800 日本'
CURVES = {"train": [(step, 1 / (step + 1)) for step in range(50)], "dev": [(0, 0.9), (49, 0.1)]}
BINS = reliability([[0.7, 0.3]] * 3 + [[0.95, 0.05]] * 5, [0, 0, 1, 0, 0, 0, 0, 1], bins=10)


def drawn() -> list[str]:
    rows = [Interval("majority", 0.5, baseline=True), Interval("ours", 0.8, 0.75, 0.85)]
    return [learning_curves(CURVES), reliability_diagram({"before": BINS}), comparison(rows)]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def curve(svg: str, place: int) -> list[list[float]]:
    """Heights of the pieces of a series' line, in points; the first path of its colour is the line."""
    paths = ElementTree.fromstring(svg).iter(f"{SVG}path")
    (line, *_legend) = [path.get("d", "") for path in paths if COLOURS[place] in path.get("style", "")]
    pieces = line.replace("\n", " ").split("M ")[1:]
    return [[float(point.split()[1]) for point in piece.split("L ")] for piece in pieces]


def test_law_figures_repeat_byte_for_byte_and_share_no_id() -> None:
    first, second = drawn(), drawn()
    assert first == second
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in first]
    assert all(ids)
    for one, other in itertools.combinations(ids, 2):
        assert not one & other


def test_law_figures_refer_to_nothing_outside_and_only_to_ids_they_hold() -> None:
    for svg in drawn():
        ids = set(re.findall(r'\bid="([^"]+)"', svg))
        wanted = set(re.findall(r'href="([^"]+)"', svg)) | set(re.findall(r"url\(([^)]+)\)", svg))
        assert wanted
        assert {name.removeprefix("#") for name in wanted} <= ids
        assert re.findall(r"https?://[^\"]+", svg) == [
            "http://www.w3.org/1999/xlink",
            "http://www.w3.org/2000/svg",
        ]
        assert {element.tag for element in ElementTree.fromstring(svg).iter()} <= {
            SVG + tag for tag in ("svg", "defs", "style", "g", "path", "use", "text", "clipPath", "rect")
        }


def test_known_ink_follows_the_page() -> None:
    for svg in drawn():
        assert "currentColor" in svg
        colours = set(re.findall(r"[:,] (#[0-9a-f]{6})", svg))
        assert colours <= set(COLOURS)


def test_known_names_are_text_whatever_they_hold() -> None:
    rows = [Interval(NASTY, 0.5), Interval("_hidden", 0.4)]
    for svg in (
        learning_curves({NASTY: [(0, 1), (1, 2)], "_hidden": [(0, 2), (1, 1)]}, y=NASTY, x=NASTY),
        reliability_diagram({NASTY: BINS, "_hidden": BINS}),
        comparison(rows, x=NASTY),
    ):
        svg.encode()  # no half of a surrogate pair is left
        found = texts(svg)
        assert legible(NASTY) in found
        assert any(text.endswith("_hidden") for text in found)
        assert "<script" not in svg


def test_known_long_curves_are_thinned_to_means() -> None:
    points = [(float(step), float(step % 2)) for step in range(100 * MOST_POINTS)]
    svg = learning_curves({"zigzag": points, "short": points[:9]})
    (zigzag,) = curve(svg, 0)
    assert np.ptp(zigzag) < 1e-6  # every mean of 50 zeros and 50 ones is the same
    (short,) = curve(svg, 1)
    assert len(short) == 9
    assert np.ptp(short) > 10


def test_known_values_that_are_not_finite_leave_a_gap() -> None:
    points = [(float(step), 1.0 if step != 5 else float("nan")) for step in range(10)]
    points[7] = (7.0, float("inf"))
    assert [len(piece) for piece in curve(learning_curves({"loss": points}), 0)] == [5, 1, 2]
    logarithmic = learning_curves({"loss": [(0, 1.0), (1, 0.0), (2, 0.1), (3, 0.01)]}, log=True)
    assert logarithmic.startswith("<svg")
    with pytest.raises(UserError, match="no curve of loss by step holds a finite value"):
        learning_curves({"loss": [(0, float("nan"))], "empty": []})
    with pytest.raises(UserError, match="nothing to draw"):
        learning_curves({"loss": [(0, -1.0)]}, log=True)


def test_known_figures_describe_themselves() -> None:
    curves, calibration, scores = (ElementTree.fromstring(svg).get("aria-label") for svg in drawn())
    assert curves == "loss by step: train, dev"
    assert calibration == "accuracy by confidence: before"
    assert scores == "score: majority 0.500, ours 0.800"


def test_known_bins_without_examples_are_not_drawn() -> None:
    table = (Bin(0.0, 0.5, 0, 0.25, 0.0), Bin(0.5, 1.0, 4, 0.8, 0.75))
    (bars,) = [
        element
        for element in ElementTree.fromstring(reliability_diagram({"x": table})).iter(f"{SVG}g")
        if (element.get("id") or "").endswith("axes_2")
    ]
    filled = [path for path in bars.iter(f"{SVG}path") if COLOURS[0] in path.get("style", "")]
    assert len(filled) == 1


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("page", ["#ffffff", "#14171b"])
def test_known_colours_stand_out_from_light_and_dark_pages(page: str) -> None:
    for colour in COLOURS:
        light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_law_matplotlib_settings_are_left_as_they_were() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    drawn()
    assert dict(matplotlib.rcParams) == before


@given(st.text())
@settings(max_examples=60)
def test_law_legible_text_can_be_written_and_parsed(text: str) -> None:
    clean = legible(text)
    assert len(clean) == len(text)
    escaped = clean.replace("&", "&amp;").replace("<", "&lt;")
    ElementTree.fromstring(f"<x>{escaped}</x>".encode())


def test_known_missing_matplotlib_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"figures need matplotlib: pip install 'psitext\[report\]'"):
        learning_curves(CURVES)


def test_law_bands_show_every_curve_with_its_interval() -> None:
    points: Band = [(1.0, 0.5, 0.4, 0.6), (5.0, 0.7, None, None)]
    drawn = bands({"accuracy": {"train": points, "test": points}, "entropy (bits)": {"S": points}}, x="chi")
    assert drawn.startswith("<svg")
    assert all(name in drawn for name in ("accuracy", "entropy (bits)", "train", "test", "chi"))
    assert drawn == bands({"accuracy": {"train": points, "test": points}, "entropy (bits)": {"S": points}}, x="chi")
    other = bands({"accuracy": {"train": [(1.0, 0.5, 0.1, 0.9), points[1]]}}, x="chi")
    assert other != bands({"accuracy": {"train": points}}, x="chi"), "the interval is drawn"
