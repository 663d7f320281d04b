"""Where a curve over the size of a model has reached its plateau, with an interval.

A saturating law y(x) = top - drop exp(-x / scale) is fitted to the means; the critical size is the smallest x measured
whose mean is within two standard errors of the top. The largest x shows no plateau, since nothing beyond it was
measured, and where its mean lies above the top the curve grows on, whatever the fit says. NJP 24 053032 finds its chi*
by eye.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psitext.randomness import generator

Floats = npt.NDArray[np.float64]
DRAWS = 500
NEAR = 2.0  # standard errors within which a mean is on the plateau


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
    scales = np.geomspace(x.min() / 4, 4 * x.max(), 200)
    fallen = np.exp(-x / scales[:, None])  # for a given scale y is linear in it: a regression for every row
    apart, off = fallen - fallen.mean(1, keepdims=True), y - y.mean()
    slopes = apart @ off / (apart**2).sum(1)
    errors = ((slopes[:, None] * apart - off) ** 2).sum(1)
    best = int(errors.argmin())
    return float(y.mean() - slopes[best] * fallen[best].mean()), float(-slopes[best]), float(scales[best])


def _smallest(sizes: Floats, data: Sequence[Sequence[Floats]]) -> tuple[float | None, float]:
    there = np.ones(len(sizes), dtype=bool)
    tops = []
    for each in data:
        means = np.asarray([some.mean() for some in each])
        errors = np.asarray([some.std(ddof=1) / np.sqrt(len(some)) for some in each])
        top, _, scale = saturating(sizes, means)
        tops.append(top)
        # A fit that has its plateau far beyond what was measured has found none.
        there &= (means >= top - NEAR * errors) & (means[-1] <= top + NEAR * errors[-1]) & (scale <= sizes.max())
    there[-1] = False
    return (float(sizes[there.argmax()]) if there.any() else None), tops[0]
