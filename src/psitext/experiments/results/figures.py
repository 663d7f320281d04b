"""Figures as SVG text, drawn by matplotlib without any global state, ready to stand inside a page.

Ink is ``currentColor``, so a figure takes the colour of the text around it, light or dark. The four series
colours keep a contrast of 3:1 on white and on a dark page (WCAG 2.1, 1.4.11) and differ for colour-blind
readers; a page may set brighter ones as ``--series-1`` to ``--series-4``. Dashes and markers repeat the
difference, so that print without colour works, too. Text stays text: it can be searched, and the page's font
shows it.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psitext.errors import UserError
from psitext.files import write_atomic
from psitext.score.calibration import Bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008; the last one darkened to reach 3:1 on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5609b")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
MARKERS = ("o", "s", "^", "D")
DOTS = 160  # of a PNG, an inch
MOST_POINTS = 240  # of one curve; more cannot be seen at this width
INK = "#010203"  # stands for currentColor until the SVG is written
_WIDTH = 9.0  # inches of 72 points
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


Band = Sequence[tuple[float, float, float | None, float | None]]  # (x, value, low, high), in order of x


@dataclass(frozen=True, slots=True)
class Interval:
    """One row of a comparison: a value, and the interval around it where there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    baseline: bool = False  # drawn in ink instead of colour


def learning_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x: str = "step",
    y: str = "loss",
    log: bool = False,
) -> str:
    """Curves by name, each a list of (step, value) in order of steps, as one SVG.

    A curve of more than ``MOST_POINTS`` points is drawn as the means of as many equal runs of points. ``log``
    makes the value axis logarithmic. A value that is not finite, or not positive on such an axis, leaves a
    gap; where nothing but gaps is left, that is an error.
    """
    cleaned = {name: [(step, _drawable(value, log)) for step, value in curves[name]] for name in curves}
    if all(math.isnan(value) for points in cleaned.values() for _, value in points):
        raise UserError(f"there is nothing to draw: no curve of {y} by {x} holds a finite value")
    with style():
        figure = blank(3.3)
        axes = figure.add_subplot()
        for place, (name, points) in enumerate(cleaned.items()):
            drawn = _thinned(points)
            colour, dash, marker = look(place)
            axes.plot(
                [step for step, _ in drawn],
                [value for _, value in drawn],
                color=colour,
                linestyle=dash,
                marker=marker if len(drawn) == 1 else "",
                label=one_line(name),
            )
        axes.set(xlabel=one_line(x), ylabel=one_line(y), yscale="log" if log else "linear")
        if log:
            plain_logarithm(axes)
        axes.margins(x=0.02)
        legend(axes, len(curves))
        return as_svg(figure, f"{y} by {x}: {', '.join(curves)}")


def bands(panels: Mapping[str, Mapping[str, Band]], *, x: str) -> str:
    """Curves with their intervals, one panel below the other by the name of its values."""
    with style():
        figure = blank(0.6 + 2.6 * len(panels))
        for axes, (y, curves) in zip(
            figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0], panels.items(), strict=True
        ):
            for place, (name, points) in enumerate(curves.items()):
                colour, dash, marker = look(place)
                at = [point[0] for point in points]
                axes.plot(
                    at,
                    [point[1] for point in points],
                    color=colour,
                    linestyle=dash,
                    marker=marker,
                    label=one_line(name),
                )
                low, high = ([point[1] if point[side] is None else point[side] for point in points] for side in (2, 3))
                axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
            axes.set(ylabel=one_line(y))
            legend(axes, len(curves))
        axes.set(xlabel=one_line(x))
        return as_svg(figure, "; ".join(f"{y} by {x}: {', '.join(curves)}" for y, curves in panels.items()))


def reliability_diagram(tables: Mapping[str, Sequence[Bin]]) -> str:
    """Accuracy against confidence by name ("before", "after"), and below it the share of the examples.

    On the diagonal the probabilities mean what they say.
    """
    with style():
        figure = blank(4.4)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot([0, 1], [0, 1], color=INK, alpha=0.35, linewidth=1)
        for place, (name, table) in enumerate(tables.items()):
            colour, dash, marker = look(place)
            filled = [entry for entry in table if entry.count]
            total = sum(entry.count for entry in filled)
            upper.plot(
                [entry.confidence for entry in filled],
                [entry.accuracy for entry in filled],
                color=colour,
                linestyle=dash,
                marker=marker,
                label=one_line(name),
            )
            width = (table[0].high - table[0].low) / len(tables)
            left = [entry.low + width * place for entry in filled]
            shares = [entry.count / total for entry in filled]
            lower.bar(left, shares, width=width * 0.86, align="edge", color=colour)
        upper.set(ylabel="accuracy", xlim=(0, 1), ylim=(0, 1.02))
        lower.set(ylabel="share", xlabel="confidence (greatest probability)")
        legend(upper, len(tables))
        return as_svg(figure, f"accuracy by confidence: {', '.join(tables)}")


def comparison(rows: Sequence[Interval], *, x: str = "score") -> str:
    """Values with their intervals, one row each from the top, baselines in ink."""
    with style():
        figure = blank(0.75 + 0.42 * len(rows))
        axes = figure.add_subplot()
        for place, row in enumerate(rows):
            colour = INK if row.baseline else COLOURS[0]
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [place, place], color=colour, alpha=0.4, linewidth=5)
            axes.plot([row.value], [place], color=colour, marker="o", markersize=7)
            above: dict[str, Any] = {
                "xytext": (0, 8),
                "textcoords": "offset points",
                "ha": "center",
                "fontsize": 9,
            }
            axes.annotate(f"{row.value:.3f}", (row.value, place), **above)
        axes.set_yticks(range(len(rows)), [one_line(row.name) for row in rows])
        axes.set(xlabel=one_line(x), ylim=(len(rows) - 0.5, -0.8))
        axes.margins(x=0.08)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return as_svg(figure, f"{x}: " + ", ".join(f"{row.name} {row.value:.3f}" for row in rows))


@contextmanager
def style() -> Iterator[None]:
    """Our look, for the time of one figure; whatever matplotlib was set to is kept."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise UserError("figures need matplotlib: pip install 'psitext[report]'") from None
    chosen: Any = {
        "svg.fonttype": "none",
        "text.parse_math": False,  # a dollar sign in a name is a dollar sign
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "grid.alpha": 0.14,
        "grid.linewidth": 0.8,
        "lines.linewidth": 1.7,
        "lines.markersize": 5.0,
        "lines.solid_joinstyle": "round",
        "lines.solid_capstyle": "round",
    }
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color")
    chosen |= dict.fromkeys(inked, INK)
    with rc_context(chosen), warnings.catch_warnings():
        # Glyphs are measured here with matplotlib's own font but shown with the reader's.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def blank(height: float) -> Figure:
    """A figure as wide as the page, and so many inches high."""
    from matplotlib.figure import Figure

    return Figure(figsize=(_WIDTH, height), layout="constrained")


def look(place: int) -> tuple[str, Any, str]:
    """Colour, dash and marker of a series; no two of sixteen have both colour and dash in common."""
    turn = place + place // len(COLOURS)
    return COLOURS[place % len(COLOURS)], DASHES[turn % len(DASHES)], MARKERS[turn % len(MARKERS)]


def legend(axes: Axes, count: int) -> None:
    """Names above the drawing, where they cover nothing; a single series needs none."""
    if count > 1:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=min(count, 4),
            frameon=False,
            handlelength=2.4,
            borderaxespad=0.2,
        )


def plain_logarithm(axes: Axes) -> None:
    """Labels of a logarithmic value axis as numbers: mathematics is switched off, in which they would be set."""
    from matplotlib.ticker import LogFormatter

    axes.yaxis.set_major_formatter(LogFormatter())
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))


def legible(text: str) -> str:
    """``text`` with what no page can hold (control characters, lone surrogates) replaced by U+FFFD."""
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(name: str) -> str:
    """A name as matplotlib takes it: one line, no underscore in front (the legend would leave it out)."""
    clean = legible(" ".join(name.split()))
    return f"\N{ZERO WIDTH SPACE}{clean}" if clean.startswith("_") else clean


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most ``MOST_POINTS`` (step, value) points: means of equal runs; a gap in a run is a gap."""
    if len(points) <= MOST_POINTS:
        return list(points)
    edges = [len(points) * index // MOST_POINTS for index in range(MOST_POINTS + 1)]
    runs = [np.array(points[low:high]) for low, high in pairwise(edges)]
    return [(float(run[:, 0].mean()), float(run[:, 1].mean())) for run in runs]


def _drawable(value: float, log: bool) -> float:
    return float(value) if math.isfinite(value) and (value > 0 or not log) else math.nan


def write(figure: Figure, path: Path, description: str) -> None:
    """Write a figure as a file: .svg, else .png."""
    if path.suffix == ".svg":
        write_atomic(path, as_svg(figure, description))
        return
    memory = io.BytesIO()
    figure.savefig(memory, format="png", dpi=DOTS, facecolor="white", metadata={"Software": None})
    write_atomic(path, memory.getvalue())


def as_svg(figure: Figure, description: str) -> str:
    """The figure as an ``<svg>`` element: described, its ids its own, the same bytes for the same data."""
    from matplotlib import rc_context

    memory = io.StringIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": "psitext"}):
        figure.savefig(memory, format="svg", transparent=True, metadata=nothing)
    text = memory.getvalue()
    text = re.sub(r"<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"font-family: [^;]*; ", "", text).replace(f": {INK}", ": currentColor")
    for place, colour in enumerate(COLOURS, 1):
        text = text.replace(f": {colour}", f": var(--series-{place}, {colour})")
    mark = "f" + hashlib.sha256(text.encode()).hexdigest()[:8]
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{mark}-", text)
    text = text.replace(">*{", f">#{mark}-figure_1 *{{", 1)
    opening = f'<svg role="img" aria-label="{escape(one_line(description))}" font-family="sans-serif" '
    return text.replace("<svg ", opening, 1).strip() + "\n"
