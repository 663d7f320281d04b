"""What a sweep found, from its result lines: tables by bond dimension, critical sizes, and both panels of its figures.

Every number is over the restarts of one bond dimension that did not diverge; those that did are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psitext.experiments.results import figures
from psitext.experiments.results.figures import Band
from psitext.experiments.results.lines import ResultLine
from psitext.score.critical import critical_of
from psitext.score.statistics import summary

Record = Mapping[str, Any]

COLUMNS = {
    "train accuracy": "train",
    "test accuracy": "test",
    "entropy bits": "S",
    "entropy bits, data metric": "S, data metric",
    "entropy bits, untrained": "S, untrained",
    "entropy bits, untrained, data metric": "S, untrained, data metric",
    "epochs": "epochs",
}
ENTROPY, ACCURACY = "entropy bits", "test accuracy"
FEWEST = 3  # sizes that can have a plateau, or make a figure


@dataclass(frozen=True, slots=True)
class Curve:
    """One protocol: the restarts of every bond dimension, ascending."""

    name: str
    restarts: dict[int, list[Record]]

    def values(self, quantity: str) -> dict[int, list[float]]:
        """A quantity's numbers by bond dimension, of the restarts that have one."""
        found = {bond: [one[quantity] for one in _good(some)] for bond, some in self.restarts.items()}
        return {bond: [value for value in some if value is not None] for bond, some in found.items()}

    def spectrum(self, bond: int) -> list[float]:
        """The mean Schmidt coefficients, descending, at one bond dimension."""
        return [float(value) for value in np.mean([one["spectrum"] for one in _good(self.restarts[bond])], axis=0)]


def curves(found: Sequence[ResultLine]) -> list[Curve]:
    """Result lines of pieces, put together by their protocol; a restart that was done twice counts once, as it came
    last.
    """
    merged: dict[tuple[str, str], dict[int, dict[int, Record]]] = {}
    for line in found:
        for record in line.notes.get("restarts", ()):
            bonds = merged.setdefault((line.run, line.recipe), {})
            bonds.setdefault(int(line.notes["bond"]), {})[int(record["seed"])] = record
    names = [name for name, _ in merged]
    return [
        Curve(
            f"{name} ({recipe})" if names.count(name) > 1 else name,
            {bond: list(bonds[bond].values()) for bond in sorted(bonds)},
        )
        for (name, recipe), bonds in merged.items()
    ]


def rows(curve: Curve) -> list[list[str]]:
    """A row for every bond dimension: restarts, diverged ones, and means ± standard deviations."""
    table = []
    for bond, some in curve.restarts.items():
        good = _good(some)
        cells = [_spread([one.get(name) for one in good]) for name in COLUMNS]
        bits = _entropy_bits(curve.spectrum(bond)) if good else None
        table.append(
            [str(bond), f"{len(good)} + {len(some) - len(good)}", *cells, "" if bits is None else f"{bits:.3f}"]
        )
    return table


HEAD = ["chi", "restarts + diverged", *COLUMNS.values(), "S of the mean spectrum"]


def critical_line(curve: Curve) -> str:
    """Where entropy and test accuracy have both reached their plateau, in words."""
    quantities = [curve.values(name) for name in (ENTROPY, ACCURACY)]
    enough = [bond for bond in curve.restarts if all(len(each[bond]) > 1 for each in quantities)]
    if len(enough) < FEWEST:
        return f"- {curve.name}: too few sizes to look for a plateau"
    found = critical_of([{bond: each[bond] for bond in enough} for each in quantities])
    share = f"{found.reached:.0%} of 500 bootstrap draws have one"
    if found.size is None:
        return f"- {curve.name}: no plateau up to chi = {max(enough)} ({share})"
    return (
        f"- {curve.name}: chi* = {found.size}, 95% interval {found.low:.0f} to {found.high:.0f} ({share}); "
        f"the entropy levels off at {found.top:.2f} bits"
    )


def left(curve: Curve) -> str:
    """Accuracies, and entropies with their controls, over the bond dimension; SVG."""
    upper = {name: _band(curve.values(name)) for name in ("train accuracy", "test accuracy")}
    names = (ENTROPY, "entropy bits, data metric", "entropy bits, untrained", "entropy bits, untrained, data metric")
    lower = {COLUMNS[name]: _band(curve.values(name)) for name in names}
    return figures.bands({"accuracy": upper, "entropy (bits)": lower}, x="chi")


def right(curve: Curve) -> str | None:
    """Mean Schmidt coefficients by their number, a curve for every bond dimension from 5; SVG, unless all diverged."""
    drawn = {
        f"chi = {bond}": [(number, value) for number, value in enumerate(curve.spectrum(bond), 1) if value > 0]
        for bond, some in curve.restarts.items()
        if bond >= min(5, max(curve.restarts)) and _good(some)
    }
    return figures.learning_curves(drawn, x="i", y="Schmidt coefficient", log=True) if any(drawn.values()) else None


def cosine(curve: Curve) -> str | None:
    """Similarity of opposite words over the bond dimension (figure 5, right); SVG, where words were trained along."""
    names = [name for some in curve.restarts.values() for name in some[0] if name.startswith("cosine ")]
    drawn = {name.removeprefix("cosine "): _band(curve.values(name)) for name in dict.fromkeys(names)}
    return figures.bands({"cosine similarity": drawn}, x="chi") if drawn else None


def _good(some: Sequence[Record]) -> list[Record]:
    return [one for one in some if not one["diverged"]]


def _band(values: Mapping[int, Sequence[float]]) -> Band:
    """Means with their bootstrap intervals."""
    points = []
    for bond, some in values.items():
        if some:
            found = summary(list(some))
            points.append((float(bond), found.mean, found.low, found.high))
    return points


def _spread(values: Sequence[float | None]) -> str:
    there = [value for value in values if value is not None]
    if not there:
        return ""
    found = summary(there)
    return f"{found.mean:.3f}" + ("" if found.sd is None else f" ± {found.sd:.3f}")


def _entropy_bits(spectrum: Sequence[float]) -> float:
    """As eq. 22 has it, of means, whose squares sum to less than 1."""
    squares = np.square([value for value in spectrum if value > 0])
    return float((squares * -np.log2(squares)).sum())
