"""Metrics as pure functions of two arrays: predictions first, gold second.

Classes are integer ids in the task's label order, regression values are floats, spans are half-open ranges
``[start, end)``. The formulas are written out in numpy because a bootstrap calls each of them thousands of
times and because a constant prediction has a defined value here (0.0, beside the flag of ``collapsed``) where
the libraries warn or answer NaN; parity tests hold them to scikit-learn and scipy.

N: examples; axes after N belong to one example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from psitext.errors import UserError, near
from psitext.text.examples import IGNORED

Array: TypeAlias = npt.NDArray[Any]
Metric: TypeAlias = Callable[[Array, Array], float]

_SAME = 1e-6  # predictions whose spread is below this part of their size differ by float32 rounding only


def accuracy(predictions: Array, gold: Array) -> float:
    """Share of the N class ids that are right."""
    return float(np.mean(predictions == gold))


def tag_accuracy(predictions: Array, gold: Array) -> float:
    """Share of right tags among the positions, of any shape, whose gold is not ``IGNORED``."""
    counted = gold != IGNORED
    return float(np.mean(predictions[counted] == gold[counted])) if counted.any() else 0.0


def f1(predictions: Array, gold: Array) -> float:
    """F1 of class 1 among the classes 0 and 1 (MRPC, QQP); 0.0 where neither side ever says 1."""
    both = int(np.sum((predictions == 1) & (gold == 1)))
    said = int(np.sum(predictions == 1)) + int(np.sum(gold == 1))
    return 2 * both / said if said else 0.0


def macro_f1(predictions: Array, gold: Array) -> float:
    """Unweighted mean of the F1 of every class that occurs in predictions or gold."""
    right, predicted, true = _class_counts(predictions, gold)
    said = predicted + true
    present = said > 0
    return float(np.mean(2 * right[present] / said[present]))


def matthews(predictions: Array, gold: Array) -> float:
    """Matthews correlation for any number of classes (Gorodkin 2004), in [-1, 1]; 0.0 for a constant side."""
    right, predicted, true = _class_counts(predictions, gold)
    count = float(len(gold))
    agreement = float(right.sum()) * count - float(predicted @ true)
    spread = (count**2 - float(predicted @ predicted), count**2 - float(true @ true))
    return agreement / float(np.sqrt(spread[0]) * np.sqrt(spread[1])) if min(spread) > 0 else 0.0


def pearson(predictions: Array, gold: Array) -> float:
    """Pearson correlation, in [-1, 1]; 0.0 when either side is constant (see ``collapsed``)."""
    if _constant(predictions) or _constant(gold):
        return 0.0
    first, second = _direction(predictions), _direction(gold)
    return float(np.clip(first @ second, -1.0, 1.0))


def spearman(predictions: Array, gold: Array) -> float:
    """Pearson correlation of the ranks, ties sharing their mean rank; 0.0 when either side is constant."""
    if _constant(predictions) or _constant(gold):
        return 0.0
    return pearson(_ranks(predictions), _ranks(gold))


def rmse(predictions: Array, gold: Array) -> float:
    """Root of the mean squared difference, in the unit of the labels; here less is better."""
    return float(np.sqrt(np.mean(np.square(predictions.astype(np.float64) - gold))))


def span_exact(predictions: Array, gold: Array) -> float:
    """Share of the N ranges (N, 2) that are right at both ends."""
    return float(np.mean((predictions == gold).all(axis=1)))


def span_f1(predictions: Array, gold: Array) -> float:
    """Mean over examples of the F1 between the positions of the two ranges (N, 2).

    SQuAD's F1 compares bags of words; this one compares places, so the same words elsewhere in the passage
    score nothing. Two empty ranges ("no answer") agree fully.
    """
    length = (predictions[:, 1] - predictions[:, 0]) + (gold[:, 1] - gold[:, 0])  # (N,)
    shared = np.minimum(predictions[:, 1], gold[:, 1]) - np.maximum(predictions[:, 0], gold[:, 0])
    each = np.where(length == 0, 1.0, 2 * np.maximum(shared, 0) / np.maximum(length, 1))
    return float(np.mean(each))


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
    "rmse": rmse,
    "tag_accuracy": tag_accuracy,
    "span_exact": span_exact,
    "span_f1": span_f1,
}
LOWER_IS_BETTER = frozenset({"rmse"})
_OF_NUMBERS = frozenset({"pearson", "spearman", "rmse"})
_OF_SPANS = frozenset({"span_exact", "span_f1"})


def evaluate(names: Iterable[str], predictions: npt.ArrayLike, gold: npt.ArrayLike) -> dict[str, float]:
    """Score predictions against gold by every named metric.

    predictions, gold: (N,) class ids or floats, (N, 2) spans, or tags of any one shape. Errors: an unknown
    metric, a gold label below zero (a hidden or unknown label that should never have come this far), F1 asked
    of more than two classes, a prediction that is no finite number.
    """
    predicted, true = np.asarray(predictions), np.asarray(gold)
    if predicted.shape != true.shape or not len(true):
        raise ValueError(f"predictions {predicted.shape} and gold {true.shape} must have one shape and hold something")
    scores = {}
    for name in names:
        if name not in METRICS:
            raise UserError(f"no metric called {name!r}{near(name, METRICS) or '; there are: ' + ', '.join(METRICS)}")
        _check(name, predicted, true)
        scores[name] = METRICS[name](predicted, true)
    return scores


def collapsed(predictions: npt.ArrayLike) -> bool:
    """True when two or more predictions are all the same: the model answers without reading.

    Floats count as the same when they differ by less than a millionth of their size. The number beside the
    flag is not a result: always answering "paraphrase" scores F1 0.812 on MRPC.
    """
    values = np.asarray(predictions)
    return len(values) > 1 and _constant(values)


def _check(name: str, predictions: Array, gold: Array) -> None:
    if name in _OF_NUMBERS:
        for side, values in (("prediction", predictions), ("gold value", gold)):
            wrong = np.flatnonzero(~np.isfinite(values.astype(np.float64)))
            if len(wrong):
                raise UserError(f"{side} {wrong[0]} (counted from 0) is {values[wrong[0]]}, which {name} cannot score")
        return
    if not (np.issubdtype(predictions.dtype, np.integer) and np.issubdtype(gold.dtype, np.integer)):
        raise ValueError(f"{name} takes integers, not {predictions.dtype} predictions and {gold.dtype} gold")
    if name in _OF_SPANS and gold.shape[1:] != (2,):
        raise ValueError(f"{name} takes spans (N, 2), not {gold.shape}")
    hidden = np.argwhere((gold < 0) & ~((name == "tag_accuracy") & (gold == IGNORED)))
    if len(hidden):
        place = tuple(hidden[0])
        raise UserError(
            f"example {place[0]} (counted from 0) has gold label {gold[place]}, which is hidden or unknown; "
            "only labelled splits can be scored"
        )
    if name == "f1" and max(predictions.max(), gold.max()) > 1:
        most = max(predictions.max(), gold.max())
        raise UserError(f"f1 is for two classes and the class ids go up to {most}; macro_f1 takes any number")


def _class_counts(predictions: Array, gold: Array) -> tuple[Array, Array, Array]:
    """How often each class (K,) was predicted rightly, was predicted, is true."""
    size = int(max(predictions.max(), gold.max())) + 1
    right = np.bincount(gold[predictions == gold], minlength=size)
    return right, np.bincount(predictions, minlength=size), np.bincount(gold, minlength=size)


def _constant(values: Array) -> bool:
    """Every example equals the first one, up to float32 rounding."""
    if np.issubdtype(values.dtype, np.floating):
        wide = values.astype(np.float64)
        return bool(np.all(np.ptp(wide, axis=0) <= _SAME * np.abs(wide).max(axis=0)))
    return bool(np.all(values == values[:1]))


def _direction(values: Array) -> Array:
    """Deviations from the mean as a unit vector; scaled first, so that no value vanishes or overflows."""
    wide = values.astype(np.float64)
    deviations = wide / np.abs(wide).max()
    deviations = deviations - deviations.mean()
    deviations /= np.abs(deviations).max()
    return np.asarray(deviations / np.linalg.norm(deviations))


def _ranks(values: Array) -> Array:
    """Ranks from 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])
