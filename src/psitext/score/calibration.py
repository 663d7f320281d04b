"""Probabilities that mean what they say: temperature scaling and the calibration error (Guo et al. 2017).

One number T, fitted on dev, divides every logit. It moves no argmax, so accuracy stays as it was. Letters: N examples,
K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

COLDEST, HOTTEST = 0.05, 20.0  # bounds of T: dev that is separable, or pure chance, has no best T of its own


@dataclass(frozen=True, slots=True)
class Bin:
    """The examples whose greatest probability lies in (low, high]."""

    low: float
    high: float
    count: int
    confidence: float  # mean greatest probability; the middle of the bin where it is empty
    accuracy: float  # share of right answers; 0.0 where it is empty


def log_probs(logits: npt.ArrayLike, temperature: float = 1.0) -> npt.NDArray[np.float64]:
    """log softmax(logits / T) along the last axis, in nats, computed in double."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    scaled = scaled - scaled.max(axis=-1, keepdims=True)
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True)))


def negative_log_likelihood(logits: npt.ArrayLike, labels: npt.ArrayLike, temperature: float = 1.0) -> float:
    """Mean over examples of -log p(label), in nats; logits (N, K), labels (N,) class ids."""
    values, gold = _checked(logits, labels)
    return -float(np.mean(log_probs(values, temperature)[np.arange(len(gold)), gold]))


def fit_temperature(logits: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The T in [COLDEST, HOTTEST] with the least negative log-likelihood on dev: logits (N, K), labels (N,).

    The loss is convex in 1 / T, hence has one minimum in log T, where the search runs.
    """
    from scipy.optimize import minimize_scalar

    values, gold = _checked(logits, labels)
    found = minimize_scalar(
        lambda log_t: negative_log_likelihood(values, gold, float(np.exp(log_t))),
        bounds=(np.log(COLDEST), np.log(HOTTEST)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(found.x))


def reliability(probs: npt.ArrayLike, labels: npt.ArrayLike, bins: int = 15) -> tuple[Bin, ...]:
    """Confidence against accuracy in equal bins of the greatest probability; probs (N, K), labels (N,)."""
    values, gold = _checked(probs, labels)
    if values.min() < 0 or not np.allclose(values.sum(axis=1), 1, atol=1e-3):
        raise ValueError("probabilities must be at least 0 and sum to 1 along the last axis")
    confidence = values.max(axis=1)  # (N,)
    right = values.argmax(axis=1) == gold
    edges = np.linspace(0, 1, bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    table = []
    for index, (low, high) in enumerate(pairwise(edges.tolist())):
        inside = place == index
        count = int(inside.sum())
        mean = float(confidence[inside].mean()) if count else (low + high) / 2
        share = float(right[inside].mean()) if count else 0.0
        table.append(Bin(low, high, count, mean, share))
    return tuple(table)


def calibration_error(table: Sequence[Bin]) -> float:
    """Mean gap between confidence and accuracy over the bins, weighted by count (section 2 of the paper)."""
    total = sum(entry.count for entry in table)
    return sum(entry.count * abs(entry.accuracy - entry.confidence) for entry in table) / total


def expected_calibration_error(probs: npt.ArrayLike, labels: npt.ArrayLike, bins: int = 15) -> float:
    """``calibration_error`` of ``reliability``: in [0, 1], 0 where every bin is right on average."""
    return calibration_error(reliability(probs, labels, bins))


def _checked(values: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    table, gold = np.asarray(values, dtype=np.float64), np.asarray(labels)
    if table.ndim != 2 or gold.shape != table.shape[:1] or not len(gold):
        raise ValueError(f"need (N, K) values and (N,) labels, not {table.shape} and {gold.shape}")
    if not np.issubdtype(gold.dtype, np.integer) or gold.min() < 0 or gold.max() >= table.shape[1]:
        raise ValueError(f"labels must be class ids from 0 to {table.shape[1] - 1}")
    if not np.isfinite(table).all():
        raise ValueError("logits or probabilities hold a value that is not finite")
    return table, gold.astype(np.int64)
