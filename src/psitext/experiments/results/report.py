"""A report as one HTML file that needs nothing else: no network, no script, no folder beside it.

It takes plain values only (names, numbers, points) and escapes every one of them; the single markup that
comes from elsewhere are our own figures. A content policy in the head forbids the browser to load or run
anything, whatever a name may hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from psitext.experiments.results import figures
from psitext.experiments.results.figures import Interval
from psitext.files import write_atomic
from psitext.score.calibration import Bin, calibration_error

Value: TypeAlias = "str | int | float | None"

_STYLE = Path(__file__).with_name("report.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with what stands beside it: a flag ("collapsed"), or the mark of the best in its column."""

    value: Value
    flag: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under named columns; ``highlight`` is the row that the report is about."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value | Cell]]
    note: str = ""
    highlight: int | None = None


@dataclass(frozen=True, slots=True)
class Curves:
    """Learning curves by name, each a list of (step, value)."""

    title: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    x: str = "step"
    y: str = "loss"
    log: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores with their intervals, drawn below one another."""

    title: str
    rows: Sequence[Interval]
    x: str = "score"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Reliability tables by name ("before", "after, T = 1.7"); each error is computed from its table."""

    title: str
    tables: Mapping[str, Sequence[Bin]]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything on the page, from top to bottom."""

    title: str
    lead: str = ""  # what was done and what came out, in a sentence or two
    facts: Mapping[str, Value] = field(default_factory=dict)  # a few numbers in large print
    parts: Sequence[Table | Curves | Comparison | Calibration] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # the resolved recipe, nested
    versions: Mapping[str, str] = field(default_factory=dict)
    made: str = ""  # when and by which commit


def write_report(report: Report, path: Path) -> None:
    """Write the page in one step; a failure leaves what was there."""
    write_atomic(path, render(report))


def render(report: Report) -> str:
    """The page as text. Errors: matplotlib missing while there is something to draw."""
    body = [_header(report), *(_part(part) for part in report.parts)]
    if report.settings:
        body.append(f"<h2>Settings</h2>\n{_settings(report.settings)}")
    if report.versions:
        pairs = "".join(f"<div>{_pair(name, version)}</div>" for name, version in report.versions.items())
        body.append(f'<h2>Versions</h2>\n<dl class="versions">{pairs}</dl>')
    if report.made:
        body.append(f'<footer class="soft">{_text(report.made)}</footer>')
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(report.title)}</title>\n<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n</head>\n"
        "<body>\n<main>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


def _header(report: Report) -> str:
    lead = f'\n<p class="lead">{_text(report.lead)}</p>' if report.lead else ""
    facts = "".join(f"<div>{_pair(name, _number(value))}</div>" for name, value in report.facts.items())
    large = f'\n<dl class="facts">{facts}</dl>' if facts else ""
    return f"<header>\n<h1>{_text(report.title)}</h1>{lead}{large}\n</header>"


def _part(part: Table | Curves | Comparison | Calibration) -> str:
    if isinstance(part, Table):
        drawn = _table(part)
    elif isinstance(part, Curves):
        drawn = figures.learning_curves(part.curves, x=part.x, y=part.y, log=part.log)
    elif isinstance(part, Comparison):
        drawn = figures.comparison(part.rows, x=part.x)
    else:
        drawn = figures.reliability_diagram(part.tables)
    note = part.note
    if isinstance(part, Calibration):
        errors = (f"{name}: {calibration_error(table):.3f}" for name, table in part.tables.items())
        note = " ".join(filter(None, (f"Expected calibration error {', '.join(errors)}.", note)))
    below = f"<figcaption>{_text(note)}</figcaption>" if note else ""
    return f"<section>\n<h2>{_text(part.title)}</h2>\n<figure>{drawn}{below}</figure>\n</section>"


def _table(table: Table) -> str:
    rows = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in table.rows]
    for place, row in enumerate(rows):
        if len(row) != len(table.columns):
            raise ValueError(f"row {place} of {table.title!r} has {len(row)} cells for {len(table.columns)} columns")
    columns = [[row[place].value for row in rows] for place in range(len(table.columns))]
    numeric = [any(isinstance(value, int | float) for value in column) for column in columns]
    digits = [_digits(column) for column in columns]
    head = "".join(f"<th{_class(number=n)}>{_text(name)}</th>" for name, n in zip(table.columns, numeric, strict=True))
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(_cell(cell, n, d) for cell, n, d in zip(row, numeric, digits, strict=True))
        lines.append(f"<tr{_class(best=place == table.highlight)}>{cells}</tr>")
    return (
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _cell(cell: Cell, numeric: bool, digits: int | None) -> str:
    flag = f'<span class="flag">{_text(cell.flag)}</span>' if cell.flag else ""
    return f"<td{_class(number=numeric, best=cell.best)}>{flag}{_text(_number(cell.value, digits))}</td>"


def _class(**names: bool) -> str:
    wanted = " ".join(name for name, there in names.items() if there)
    return f' class="{wanted}"' if wanted else ""


def _digits(column: Iterable[Value]) -> int | None:
    """Decimals for all floats of a column, so that its points line up; None leaves each to itself."""
    sizes = [abs(value) for value in column if isinstance(value, float) and math.isfinite(value)]
    if not sizes or max(sizes) < 0.01:
        return None
    return 3 if max(sizes) <= 1 else 2 if max(sizes) < 1000 else 0


def _number(value: Value, digits: int | None = None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if digits is None else f"{value:,.{digits}f}"


def _settings(settings: Mapping[str, Any]) -> str:
    """Every table of the recipe as a card; what stands outside any table comes first."""
    loose = {name: value for name, value in settings.items() if not isinstance(value, Mapping)}
    cards = [_card("recipe", loose)] if loose else []
    cards += [_card(name, value) for name, value in settings.items() if isinstance(value, Mapping)]
    return f'<div class="settings">{"".join(cards)}</div>'


def _card(title: str, tree: Mapping[str, Any]) -> str:
    pairs = "".join(_pair(name, value) for name, value in _leaves(tree))
    return f"<section><h3>{_text(title)}</h3><dl>{pairs}</dl></section>"


def _leaves(tree: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    """Dotted names and printed values of a nested table."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _setting(value)


def _setting(value: Any) -> str:
    """A value much as TOML writes it."""
    if value is None or value == {}:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or "–"
    return str(value)


def _pair(name: str, value: str) -> str:
    return f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>"


def _text(text: str) -> str:
    return escape(figures.legible(str(text)))
