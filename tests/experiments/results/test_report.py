"""experiments/report.py: nothing leaves the page, nothing breaks out of its text, numbers line up."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="figures need the extra `report`")

from psitext.errors import UserError
from psitext.experiments.results.figures import COLOURS, Interval
from psitext.experiments.results.report import (
    Calibration,
    Cell,
    Comparison,
    Curves,
    Report,
    Table,
    render,
    write_report,
)
from psitext.score.calibration import reliability

NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)> &amp; \"'\x00\ud800"
BINS = reliability([[0.7, 0.3]] * 3 + [[0.95, 0.05]] * 5, [0, 0, 1, 0, 0, 0, 0, 1])


def page(name: str = "a name") -> Report:
    """A report in which every text is ``name``."""
    return Report(
        title=name,
        lead=name,
        facts={name: name, "accuracy": 0.91234, "parameters": 4386178},
        parts=[
            Table(name, [name, "accuracy"], [[name, Cell(0.5, flag=name)], ["ours", Cell(0.9, best=True)]], name),
            Curves(name, {name: [(0, 1.0), (1, 0.5)]}, x=name, y=name, note=name),
            Comparison(name, [Interval(name, 0.5, 0.4, 0.6)], x=name, note=name),
            Calibration(name, {name: BINS}, note=name),
        ],
        settings={name: name, "train": {name: {name: [1, name]}}},
        versions={name: name},
        made=name,
    )


class Reader(HTMLParser):
    """Collects tags, attributes, cells and whether every element is closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("td", "th"):
            self.cells.append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def cells(table: Table) -> list[str]:
    return Reader(render(Report(title="x", parts=[table]))).cells


def test_law_the_page_needs_nothing_and_runs_nothing() -> None:
    text = render(page())
    read = Reader(text)
    assert read.open == []
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(read.tags)
    names = {name for name, _ in read.attributes}
    assert not {name for name in names if name.startswith("on")} | ({"src", "srcset", "action"} & names)
    assert all(value and value.startswith("#") for name, value in read.attributes if name.endswith("href"))
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "default-src 'none'" in text


def test_law_any_name_stays_text() -> None:
    plain, nasty = Reader(render(page())), Reader(render(page(NASTY)))
    assert nasty.tags == plain.tags
    assert [name for name, _ in nasty.attributes] == [name for name, _ in plain.attributes]
    text = render(page(NASTY))
    assert "<script" not in text
    assert "\x00" not in text
    shown = NASTY.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert unescape(text).count(shown) >= 20


def test_known_order_of_the_page() -> None:
    text = render(replace(page(), parts=[Table("Scores", ["a"], [["b"]])], settings={"seed": 1}))
    order = [text.index(mark) for mark in ("<h1>", 'class="facts"', "Scores", "Settings", "Versions", "<footer")]
    assert order == sorted(order)
    bare = render(Report(title="only a title"))
    for mark in ("<h2>", "<footer", '<dl class="facts"', "None"):
        assert mark not in bare


def test_known_numbers_line_up_by_column() -> None:
    table = Table(
        "x",
        ["model", "accuracy", "points", "rows", "seconds", "rate"],
        [
            ["one", 0.5, 50.0, 67349, 1234.5, 2e-5],
            ["two", 0.91237, 9.126, 3, 0.25, 5e-4],
            ["none", None, None, None, None, None],
        ],
    )
    rows = cells(table)[6:]
    assert rows[:6] == ["one", "0.500", "50.00", "67,349", "1,234", "2e-05"]
    assert rows[6:12] == ["two", "0.912", "9.13", "3", "0", "0.0005"]
    assert rows[12:] == ["none"] + ["–"] * 5


def test_known_flags_and_marks() -> None:
    table = Table("x", ["m", "s"], [["majority", Cell(0.5, flag="collapsed")], ["ours", Cell(0.9, best=True)]], "", 1)
    text = render(Report(title="x", parts=[table]))
    assert '<td class="number"><span class="flag">collapsed</span>0.500</td>' in text
    assert '<tr class="best"><td>ours</td><td class="number best">0.900</td></tr>' in text


def test_known_rows_must_fit_their_columns() -> None:
    with pytest.raises(ValueError, match="row 1 of 'x' has 1 cells for 2 columns"):
        cells(Table("x", ["a", "b"], [["1", "2"], ["1"]]))


def test_known_settings_are_a_card_per_table_with_dotted_names() -> None:
    settings = {
        "seed": 3,
        "train": {"lr": 1e-4, "betas": [0.9, 0.98], "compile": False, "norm": {"eps": 1e-12, "by": None}},
    }
    text = render(Report(title="x", settings=settings))
    assert "<h3>recipe</h3><dl><dt>seed</dt><dd>3</dd></dl>" in text
    for pair in ("lr 0.0001", "betas 0.9, 0.98", "compile false", "norm.eps 1e-12", "norm.by –"):
        name, value = pair.split(" ", 1)
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text


def test_known_calibration_prints_its_error() -> None:
    text = render(Report(title="x", parts=[Calibration("Calibration", {"before": BINS}, "Fitted on dev.")]))
    assert "Expected calibration error before: 0.106. Fitted on dev." in text  # 3/8 * .0333 + 5/8 * .15


def test_known_style_sheet_serves_dark_screens_paper_and_the_series() -> None:
    text = render(Report(title="x"))
    for mark in (
        "prefers-color-scheme: dark",
        "@media print",
        "color-scheme: light dark",
        "break-inside: avoid",
    ):
        assert mark in text
    for place, colour in enumerate(COLOURS, 1):
        assert f"--series-{place}: {colour}" in text


def test_law_writing_is_whole_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "report.html"
    write_report(page(), path)
    assert path.read_text(encoding="utf-8") == render(page())
    broken = replace(page(), parts=[Curves("x", {"loss": [(0, float("nan"))]})])
    with pytest.raises(UserError, match="nothing to draw"):
        write_report(broken, path)
    assert path.read_text(encoding="utf-8") == render(page())
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match=r"cannot write .*below.html"):
        write_report(page(), path / "below.html")
