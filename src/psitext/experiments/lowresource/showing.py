"""Tables and figures of few labels and of states in the plane, from result lines alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psitext.experiments.results import figures
from psitext.experiments.results.lines import ResultLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psitext.experiments.queue import Queue

FROZEN, TUNED, PLANE = "few-labels", "few-labels-tuned", "plane"  # the ways of a queue that are shown here
WAYS = (FROZEN, TUNED, PLANE)
PANELS = {FROZEN: "encoder as it is", TUNED: "fine-tuned"}
CONFIDENCE = 0.95
Panels = Mapping[str, Sequence[ResultLine]]  # lines by what their panel is called


class Table(NamedTuple):
    """A table of a page."""

    title: str
    head: list[str]
    rows: list[list[str]]


def tables(queue: Queue, found: Sequence[ResultLine]) -> list[Table]:
    """What a page shows of a queue's lines: scores by labels with their differences, or the numbers of pictures."""
    some = [line for line in found if "trials" in line.notes]
    pictures = [line for line in found if "points" in line.notes]
    made = []
    if some:
        made.append(scores(some))
        against = {run.name: run.against for run in queue.runs if run.against}
        if (table := differences(some, against)).rows:
            made.append(table)
    if pictures:
        names = list(dict.fromkeys(name for line in pictures for name in line.metrics))
        rows = [
            [line.run, str(line.notes["width"]), *(f"{line.metrics[name]:.3f}" for name in names)] for line in pictures
        ]
        made.append(Table("How well labels are told apart", ["", "numbers", *names], rows))
    return made


def drawings(queue: Queue, found: Sequence[ResultLine]) -> dict[str, str]:
    """The figure of a queue's lines as SVG, by what its name ends in."""
    ways = {run.name: run.how for run in queue.runs}
    panels = {
        title: [line for line in found if "trials" in line.notes and ways.get(line.run) == how]
        for how, title in PANELS.items()
    }
    pictures = [line for line in found if "points" in line.notes]
    drawn = {title: some for title, some in panels.items() if some}
    if drawn:
        return {"": curves(drawn)}
    return {"": planes(pictures)} if pictures else {}


def scores(found: Sequence[ResultLine]) -> Table:
    """A row for every encoder, a column for every count of labels: means with their 95% t intervals over trials, a
    single trial as it is.
    """
    counts = _counts(found)
    rows = []
    for line in found:
        values = {count: t_interval(some) for count, some in trials(line).items()}
        rows.append([line.run, *(_mean(values.get(count)) for count in counts)])
    metric = str(found[0].notes["metric"]).capitalize()
    return Table(f"{metric} by labels of each class", ["", *(f"{count:,}" for count in counts)], rows)


def differences(found: Sequence[ResultLine], against: Mapping[str, Sequence[str]]) -> Table:
    """One encoder less another, trial by trial on the same labelled sentences: the mean difference with its 95% t
    interval. ``against`` names what is taken off by what it is taken off from.
    """
    counts, by_run = _counts(found), {line.run: trials(line) for line in found}
    rows = []
    for run, others in against.items():
        for other in others:
            if run in by_run and other in by_run:
                both = (_paired(by_run[run].get(count, []), by_run[other].get(count, [])) for count in counts)
                rows.append([f"{run} less {other}", *both])
    return Table("Differences in the same trials", ["", *(f"{count:,}" for count in counts)], rows)


def curves(panels: Panels) -> str:
    """Scores over the number of labels, a panel beside the other, each mean inside its 95% t interval; SVG."""
    with figures.style():
        figure = figures.blank(4.2)
        drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, found) in zip(drawn, panels.items(), strict=True):
            for place, line in enumerate(found):
                _curve(axes, line, place)
            axes.set(xlabel=f"labels of each class, {figures.one_line(title)}", xscale="log")
            _plain_counts(axes, _counts(found))
            axes.legend(loc="lower right", frameon=False, fontsize=8.5)
        first = next(line for found in panels.values() for line in found)
        drawn[0].set(ylabel=figures.one_line(str(first.notes["metric"])))
        names = ", ".join(line.run for found in panels.values() for line in found)
        return figures.as_svg(figure, f"{first.notes['metric']} by labels of each class: {names}")


def planes(found: Sequence[ResultLine]) -> str:
    """The points of every line, a panel beside the other, coloured by class; SVG."""
    with figures.style():
        figure = figures.blank(4.6)
        drawn = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, line in zip(drawn, found, strict=True):
            points = np.asarray(line.notes["points"], dtype=np.float64)
            for place, label in enumerate(line.notes["labels"]):
                mine = points[points[:, 2] == place]
                colour, _, marker = figures.look(place)
                axes.plot(
                    mine[:, 0],
                    mine[:, 1],
                    linestyle="",
                    marker=marker,
                    markersize=2.2,
                    color=colour,
                    alpha=0.7,
                    label=figures.one_line(str(label)),
                )
            axes.set(xticks=[], yticks=[], xlabel=figures.one_line(f"{line.run}: {_in_words(line)}"))
            axes.grid(visible=False)
        figures.legend(drawn[0], len(found[0].notes["labels"]))
        return figures.as_svg(figure, "states in the plane by t-SNE: " + ", ".join(line.run for line in found))


def trials(line: ResultLine) -> dict[int, list[float]]:
    """The scores of every trial by the count of labels, ascending."""
    found: Mapping[str, Sequence[float]] = line.notes.get("trials", {})
    return {int(count): [float(value) for value in found[count]] for count in sorted(found, key=int)}


def t_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and half the width of its 95% interval under Student's t; None for one value.

    It says how far another draw of labelled sentences would move the mean; the test sentences are the same in all.
    """
    from scipy.stats import t

    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    half = t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return mean, float(half)


def _curve(axes: Axes, line: ResultLine, place: int) -> None:
    colour, dash, marker = figures.look(place)
    found = {count: t_interval(some) for count, some in trials(line).items()}
    at = list(found)
    means = [mean for mean, _ in found.values()]
    low, high = ([mean + sign * (half or 0.0) for mean, half in found.values()] for sign in (-1, 1))
    style: dict[str, Any] = {"color": colour, "linestyle": dash, "marker": marker}
    axes.plot(at, means, label=figures.one_line(line.run), **style)
    axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)


def _plain_counts(axes: Axes, counts: Sequence[int]) -> None:
    """The counts themselves at the axis, as plain numbers: mathematics is switched off."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.xaxis.set_major_locator(FixedLocator([float(count) for count in counts]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(counts, [f"{count:,}" for count in counts])


def _counts(found: Sequence[ResultLine]) -> list[int]:
    return sorted({count for line in found for count in trials(line)})


def _mean(value: tuple[float, float | None] | None) -> str:
    if value is None:
        return ""
    mean, half = value
    return f"{mean:.3f}" if half is None else f"{mean:.3f} ± {half:.3f}"


def _paired(first: Sequence[float], second: Sequence[float]) -> str:
    both = min(len(first), len(second))  # trials are drawn by their number, so the first ones of each are pairs
    if not both:
        return ""
    mean, half = t_interval([one - other for one, other in zip(first[:both], second[:both], strict=True)])
    return f"{mean:+.3f}" if half is None else f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def _in_words(line: ResultLine) -> str:
    from psitext.experiments.lowresource.plane import AGREE, SILHOUETTE

    return f"{line.metrics[AGREE]:.1%} of neighbours agree, silhouette {line.metrics[SILHOUETTE]:.3f}"
