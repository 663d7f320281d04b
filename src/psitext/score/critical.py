"""Where a curve over the size of a model has reached its plateau, with an interval.

A saturating law y(x) = top - drop exp(-x / scale) is fitted to the means; the critical size is the smallest x measured
whose mean is within one standard error of the top. NJP 24 053032 finds its chi* by eye.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psitext.randomness import generator

Floats = npt.NDArray[np.float64]
DRAWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Critical:
    """``size`` with its percentile-bootstrap interval over restarts; None where the curve has not levelled off."""

    size: int | None
    low: float | None
    high: float | None
    reached: float  # share of the draws in which some size reaches the plateau
    top: float  # the fitted plateau


def critical(values: Mapping[int, Sequence[float]], confidence: float = 0.95, seed: int = 0) -> Critical:
    """The critical size of one quantity: size -> its values over restarts, at least two sizes and two values each."""
    return critical_of([values], confidence, seed)


def critical_of(
    quantities: Sequence[Mapping[int, Sequence[float]]], confidence: float = 0.95, seed: int = 0
) -> Critical:
    """The smallest size at which every quantity is on its plateau; all over the same sizes. ``top`` is the first's."""
    sizes = np.asarray(sorted(quantities[0]), dtype=np.float64)
    data = [[np.asarray(values[int(size)], dtype=np.float64) for size in sizes] for values in quantities]
    if len(sizes) < 2 or any(len(some) < 2 for each in data for some in each):
        raise ValueError("a plateau needs two sizes and two restarts of each")
    size, top = _smallest(sizes, data)
    rng = generator(seed, "critical")
    drawn = [
        _smallest(sizes, [[rng.choice(some, len(some)) for some in each] for each in data])[0] for _ in range(DRAWS)
    ]
    found = [each for each in drawn if each is not None]
    edges = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2]) if found else None
    return Critical(
        size=None if size is None else int(size),
        low=None if edges is None else float(edges[0]),
        high=None if edges is None else float(edges[1]),
        reached=len(found) / DRAWS,
        top=top,
    )


def saturating(x: Floats, y: Floats) -> tuple[float, float, float]:
    """(top, drop, scale) of the least-squares fit of y = top - drop exp(-x / scale), scale on a logarithmic grid."""
    best = (np.inf, float(y.max()), 0.0, 1.0)
    for scale in np.geomspace(x.min() / 4, 4 * x.max(), 200):  # for a given scale it is linear in top and drop
        design = np.stack([np.ones_like(x), -np.exp(-x / scale)], axis=1)
        solution = np.linalg.lstsq(design, y, rcond=None)[0]
        error = float(((design @ solution - y) ** 2).sum())
        if error < best[0] - 1e-15:
            best = (error, float(solution[0]), float(solution[1]), float(scale))
    return best[1], best[2], best[3]


def _smallest(sizes: Floats, data: Sequence[Sequence[Floats]]) -> tuple[float | None, float]:
    there = np.ones(len(sizes), dtype=bool)
    tops = []
    for each in data:
        means = np.asarray([some.mean() for some in each])
        errors = np.asarray([some.std(ddof=1) / np.sqrt(len(some)) for some in each])
        top, _, scale = saturating(sizes, means)
        tops.append(top)
        # A fit that has its plateau far beyond what was measured has found none.
        there &= (means >= top - errors) & (scale <= sizes.max())
    return (float(sizes[there.argmax()]) if there.any() else None), tops[0]
