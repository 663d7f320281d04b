"""Tables and figures of the experiment on sentence kets, from result lines alone.

Lines of one run and task that differ by their seed are shown as means ± standard deviations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from psitext.experiments.lowresource.showing import Table
from psitext.experiments.results import figures
from psitext.experiments.results.lines import ResultLine
from psitext.explain.ket.controls import page_profile
from psitext.score.statistics import summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psitext.experiments.queue import Queue

WAYS = ("kets",)  # the way of a queue that is shown here
PAGE = "random (Page's formula)"
FEW = 8  # qubits up to which a table has a column for every cut


class Kets(NamedTuple):
    """The lines of one run on one task, which differ by their seeds."""

    name: str
    lines: list[ResultLine]

    @property
    def qubits(self) -> int:
        """n."""
        return int(self.lines[0].notes["qubits"])

    @property
    def whole(self) -> bool:
        """Whether the width is 2^n, without zeros behind."""
        return int(self.lines[0].notes["width"]) == 1 << self.qubits

    @property
    def says(self) -> str:
        """Of what kets they are."""
        zeros = "" if self.whole else f" of {1 << self.qubits}"
        kind = "real" if self.lines[0].notes["real"] else "complex"
        return f"{self.name}, {kind} kets of {self.qubits} qubits (width {self.lines[0].notes['width']}{zeros})"

    def profile(self, whose: str) -> list[float]:
        """Bits at every cut, means over seeds."""
        return [
            _mean(some) for some in zip(*(line.notes["profiles"][whose]["bits"] for line in self.lines), strict=True)
        ]

    def records(self, whose: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Every bond with a record for each seed."""
        for rows in zip(*(line.notes["bonds"] for line in self.lines), strict=True):
            if rows[0]["kets"] == whose:
                yield int(rows[0]["bond"]), list(rows)


def groups(found: Sequence[ResultLine]) -> list[Kets]:
    """Lines put together by run and task."""
    some: dict[str, list[ResultLine]] = {}
    for line in found:
        if "profiles" in line.notes:
            some.setdefault(f"{line.run}, {line.task}", []).append(line)
    return [Kets(name, rows) for name, rows in some.items()]


def tables(queue: Queue, found: Sequence[ResultLine]) -> list[Table]:
    """Of every run and task: entanglement with its controls, and what each bond keeps."""
    return [table for group in groups(found) for table in (entanglement(group), by_bond(group))]


def drawings(queue: Queue, found: Sequence[ResultLine]) -> dict[str, str]:
    """A figure of every run and task as SVG, by what its name ends in."""
    return {f"-{number}": drawing(group) for number, group in enumerate(groups(found), 1)}


def entanglement(group: Kets) -> Table:
    """A row for each source of kets: the mean entropy at every cut (of many qubits, every second), and of all."""
    cuts = list(range(1, group.qubits, 1 if group.qubits <= FEW else 2))
    wanted = group.lines[0].notes["fidelity"]
    rows = []
    for name in group.lines[0].notes["profiles"]:
        bits = group.profile(name)
        needed = [line.notes["profiles"][name]["bond"] for line in group.lines]
        rows.append([name, *(f"{bits[cut - 1]:.3f}" for cut in cuts), f"{_mean(bits):.3f}", f"{_mean(needed):.1f}"])
    if group.whole and not group.lines[0].notes["real"]:
        bits = page_profile(group.qubits)
        rows.append([PAGE, *(f"{bits[cut - 1]:.3f}" for cut in cuts), f"{_mean(bits):.3f}", ""])
    head = ["", *(f"cut {cut}" for cut in cuts), "mean of all cuts", f"bond for {wanted:g}"]
    return Table(f"Entropy in bits: {group.says}", head, rows)


def by_bond(group: Kets) -> Table:
    """A row for every bond: fidelity, score and gates, and beside them those of another order of coordinates."""
    metric, gates = group.lines[0].notes["metric"], group.lines[0].notes["gates"]
    other = dict(group.records("fine-tuned, other order"))
    rows = []
    for bond, some in group.records("fine-tuned"):
        shuffled = other.get(bond, [])
        cells = [_spread(some, name) for name in ("fidelity", "least fidelity", "score", "same")]
        cells += [_spread(shuffled, name) for name in ("fidelity", "score")]
        rows.append([str(bond), *cells, str(gates.get(str(bond), f"more than {gates['exact']:,}"))])
    exact = [{"score": line.metrics[metric]} for line in group.lines]
    score = _spread(exact, "score") + (" *collapsed*" if any(line.collapsed for line in group.lines) else "")
    rows.append(["exact", "1", "1", score, "", "1", score, f"{gates['exact']:,}"])
    head = ["bond", "fidelity", "least", metric, "same answer", "fidelity, other order", f"{metric}, other order",
            "two-qubit gates"]  # fmt: skip
    return Table(f"What a bond keeps: {group.name}", head, rows)


def drawing(group: Kets) -> str:
    """Entropy at every cut beside the score and the fidelity by bond; SVG."""
    with figures.style():
        figure = figures.blank(4.0)
        left, right = figure.subplots(1, 2)
        _profiles(left, group)
        _scores(right, group)
        return figures.as_svg(figure, f"entropy by cut, and {group.lines[0].notes['metric']} by bond: {group.says}")


def _profiles(axes: Axes, group: Kets) -> None:
    from matplotlib.ticker import MaxNLocator

    cuts = range(1, group.qubits)
    for place, name in enumerate(group.lines[0].notes["profiles"]):
        colour, dash, marker = figures.look(place)
        axes.plot(cuts, group.profile(name), color=colour, linestyle=dash, marker=marker, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="qubits before the cut", ylabel="entropy (bits)", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8.5)


def _scores(axes: Axes, group: Kets) -> None:
    metric = group.lines[0].notes["metric"]
    for place, (whose, name) in enumerate((("fine-tuned", ""), ("fine-tuned, other order", ", other order"))):
        rows = dict(group.records(whose))
        for offset, (key, label) in enumerate((("score", metric), ("fidelity", "fidelity"))):
            colour, dash, marker = figures.look(2 * place + offset)
            values = [_mean([record[key] for record in some]) for some in rows.values()]
            axes.plot(list(rows), values, color=colour, linestyle=dash, marker=marker, label=f"{label}{name}")
    exact = _mean([line.metrics[metric] for line in group.lines])
    axes.axhline(exact, color=figures.INK, linewidth=0.8, alpha=0.6)
    bonds = [bond for bond, _ in group.records("fine-tuned")]
    axes.set(xlabel="bond dimension", xscale="log", ylim=(None, 1.02))
    axes.set_xticks(bonds, [str(bond) for bond in bonds])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")


def _spread(records: Sequence[dict[str, Any]], name: str) -> str:
    values = [float(record[name]) for record in records if name in record]
    if not values:
        return ""
    found = summary(values)
    return f"{found.mean:.3f}" + ("" if found.sd is None else f" ± {found.sd:.3f}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
