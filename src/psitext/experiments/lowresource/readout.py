"""A classifier on states of few labelled sentences: logistic regression, and how strongly it is regularised.

States are standardised by the mean and deviation of all sentences of the pool, which takes no label: over two labelled
sentences every deviation would be half a difference, and all numbers of a state the same. The strength of the
regularisation is the one with the least log loss in cross-validation inside the labelled sentences; with one sentence
of a class there is nothing to validate on, and the direction of the boundary hardly depends on it.

Letters: N labelled sentences, S other ones, D numbers of a state, K classes.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.baselines.frozen import FOLDS, STRENGTHS
from psitext.nn.numerics import REGRESSION_SETTLED

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

ALONE = 1e-2  # the strength where there is nothing to choose by


@dataclass(frozen=True, slots=True)
class Scale:
    """What states are standardised by."""

    mean: Floats  # (D,)
    deviation: Floats  # (D,)

    @staticmethod
    def of(states: npt.NDArray[Any]) -> Scale:
        """The scale of (S, D) states; a number that is the same in all of them is left as it is, less its mean."""
        wide = np.asarray(states, dtype=np.float64)
        deviation = wide.std(0)
        return Scale(wide.mean(0), np.where(deviation > 0, deviation, 1.0))

    def apply(self, states: npt.NDArray[Any]) -> Floats:
        """(S, D) standardised states, in double."""
        return np.asarray((states - self.mean) / self.deviation, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Readout:
    """A fitted classifier."""

    strength: float  # inverse regularisation
    model: Any
    basis: Floats  # (D, min(N, D)) whose span holds all labelled states

    def predict(self, states: Floats) -> Labels:
        """(S,) class ids of (S, D) standardised states."""
        return np.asarray(self.model.predict(states @ self.basis), dtype=np.int64)


def fit(states: Floats, labels: Labels, seed: int) -> Readout:
    """A classifier from (N, D) standardised states and their class ids; ``seed`` cuts the folds.

    The penalty sees lengths alone, so the solution lies in the span of the labelled states; in a basis of that span
    the problem has min(N, D) unknowns, which makes hundreds of fits on few labels a matter of seconds.
    """
    basis = (
        np.linalg.svd(states, full_matrices=False)[2].T if len(states) < states.shape[1] else np.eye(states.shape[1])
    )
    inside = states @ basis
    strength = _strength(inside, labels, seed)
    return Readout(strength, _path(inside, labels, (strength,))[0], basis)


def _strength(states: Floats, labels: Labels, seed: int) -> float:
    """The best of STRENGTHS by the mean log loss of left-out sentences; of equal ones the strongest regularisation."""
    from sklearn.model_selection import StratifiedKFold

    least = int(np.bincount(labels)[np.unique(labels)].min())
    if least < 2:
        return ALONE
    losses = np.zeros(len(STRENGTHS))
    folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed)
    for inside, outside in folds.split(states, labels):
        for place, model in enumerate(_path(states[inside], labels[inside], STRENGTHS)):
            losses[place] += _log_loss(model, states[outside], labels[outside])
    return STRENGTHS[int(losses.argmin())]


def _log_loss(model: Any, states: Floats, labels: Labels) -> float:
    """The sum of -log p(label), from logits: a probability of 0 would have no logarithm."""
    scores = model.decision_function(states)
    logits = np.stack([np.zeros(len(scores)), scores], axis=1) if scores.ndim == 1 else scores
    own = logits[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]
    return float((np.logaddexp.reduce(logits, axis=1) - own).sum())


def _path(states: Floats, labels: Labels, strengths: tuple[float, ...]) -> list[Any]:
    """A model for each strength, ascending, each from the solution before it."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(tol=REGRESSION_SETTLED, max_iter=5_000, warm_start=True)
    return [copy.copy(model.set_params(C=strength).fit(states, labels)) for strength in strengths]
