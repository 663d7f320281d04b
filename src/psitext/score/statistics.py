"""What several seeds, or the examples of one dev set, say about a score.

Two uncertainties are kept apart. ``summary`` looks across seeds: would training again give the same?
``bootstrap_metric`` looks across examples: would another dev set of this size? Intervals are percentile
bootstraps (Efron and Tibshirani 1993, chapter 13), drawn by keys, so the same scores give the same interval
everywhere. Over three seeds such an interval can never leave the range of the scores and is too narrow: it is
printed beside n and the standard deviation, never alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from psitext import randomness
from psitext.errors import UserError, near
from psitext.score.metrics import Metric

DRAWS = 2000
_CHUNK = 1 << 22  # resampled values held at once (32 MB)

# MNLI has two dev sets, hence two entries; WNLI (a trick split) and AX (diagnostics) are in no average.
GLUE_ENTRIES = ("mnli-m", "mnli-mm", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """n scores in a few numbers. With one score there is no spread: sd, low and high are None."""

    n: int
    mean: float
    sd: float | None  # sample standard deviation (n - 1)
    median: float
    low: float | None  # bootstrap interval of the mean
    high: float | None
    best: float  # the maximum: only ever beside the others

    def __str__(self) -> str:
        if self.sd is None:
            return f"{self.mean:.4f} (one run)"
        spread = f"n {self.n}, median {self.median:.4f}, {self.low:.4f} to {self.high:.4f}"
        return f"{self.mean:.4f} ± {self.sd:.4f} ({spread})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Differences first minus second, pair by pair (the same seed, the same data order)."""

    difference: Summary
    wins: int  # pairs in which the first is greater
    losses: int

    def __str__(self) -> str:
        return f"{self.difference}, {self.wins} of {self.difference.n} pairs up, {self.losses} down"


def summary(scores: Sequence[float], confidence: float = 0.95, seed: int = 0) -> Summary:
    """Mean, deviation, median and bootstrap interval of the mean over seeds."""
    values = _finite(scores)
    several = len(values) > 1
    low, high = bootstrap_interval(values, confidence, seed) if several else (None, None)
    return Summary(
        n=len(values),
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if several else None,
        median=float(np.median(values)),
        low=low,
        high=high,
        best=float(values.max()),
    )


def paired(first: Sequence[float], second: Sequence[float], confidence: float = 0.95, seed: int = 0) -> Paired:
    """Compare two lists of scores whose positions belong together."""
    if len(first) != len(second):
        raise ValueError(f"paired scores need equal lengths, not {len(first)} and {len(second)}")
    differences = _finite(first) - _finite(second)
    return Paired(
        difference=summary(differences.tolist(), confidence, seed),
        wins=int(np.sum(differences > 0)),
        losses=int(np.sum(differences < 0)),
    )


def bootstrap_interval(
    values: npt.ArrayLike, confidence: float = 0.95, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of N numbers: scores of seeds, or one per example."""
    array = _finite(values)
    if np.ptp(array) == 0:
        return float(array[0]), float(array[0])  # resampled sums of equal values would differ in the last digit
    generator = randomness.generator(seed, "bootstrap")
    rows = max(1, _CHUNK // len(array))
    means = [
        array[generator.integers(0, len(array), (min(rows, draws - start), len(array)))].mean(axis=1)
        for start in range(0, draws, rows)
    ]
    return _percentiles(np.concatenate(means), confidence)


def bootstrap_metric(
    metric: Metric,
    predictions: npt.ArrayLike,
    gold: npt.ArrayLike,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[float, float]:
    """Percentile bootstrap interval of any metric over resampled examples, each with its gold."""
    predicted, true = np.asarray(predictions), np.asarray(gold)
    if len(predicted) != len(true) or not len(true):
        raise ValueError(f"{len(predicted)} predictions for {len(true)} gold labels")
    generator = randomness.generator(seed, "bootstrap")
    scores = np.empty(draws)
    for draw in range(draws):
        chosen = generator.integers(0, len(true), len(true))
        scores[draw] = metric(predicted[chosen], true[chosen])
    return _percentiles(scores, confidence)


def glue_average(
    scores: Mapping[str, float],
    rule: Literal["entries", "tasks"] = "entries",
    over: Sequence[str] = GLUE_ENTRIES,
) -> float:
    """Average of headline scores: Matthews for CoLA, Pearson for STS-B, F1 for MRPC and QQP, accuracy for the
    others.

    rule "entries" counts MNLI matched and mismatched as two (nine entries: this gives the averages that
    QBERT's Table 1 prints for QBERT and CVBERT); "tasks" averages them first (eight tasks, as the GLUE
    leaderboard does). No table may hide a missing task: a name in ``over`` that has no score is an error, and
    a smaller set has to be named.
    """
    for name in (*scores, *over):
        if name not in (*GLUE_ENTRIES, "wnli", "ax"):
            hint = near(name, GLUE_ENTRIES) or "; there are: " + ", ".join(GLUE_ENTRIES)
            raise UserError(f"no GLUE entry called {name!r}{hint}")
    missing = [name for name in over if name not in scores]
    if missing or not over:
        raise UserError(f"a GLUE average over {len(over)} entries lacks {', '.join(missing) or 'all of them'}")
    if rule == "entries":
        return float(np.mean([scores[name] for name in over]))
    tasks: dict[str, list[float]] = {}
    for name in over:
        tasks.setdefault(name.removesuffix("-mm").removesuffix("-m"), []).append(scores[name])
    return float(np.mean([np.mean(entries) for entries in tasks.values()]))


def _percentiles(draws: npt.NDArray[np.float64], confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, not {confidence}")
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _finite(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise ValueError(f"scores must be a list of finite numbers, not {values!r}")
    return array
