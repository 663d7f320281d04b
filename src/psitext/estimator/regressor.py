"""A regression on texts with scikit-learn's manners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite

from psitext.estimator.base import SentencePredictor
from psitext.estimator.texts import EstimatorError, targets
from psitext.text.examples import Task


class SentenceRegressor(RegressorMixin, SentencePredictor):  # type: ignore[misc]
    """Texts, or pairs of texts, to numbers; parameters are those of SentenceClassifier.

    Training is on y less its mean, over its deviation, and ``model_`` speaks these units; ``predict`` speaks those of
    y, by ``target_mean_`` and ``target_scale_``. With ``validation_fraction`` the best epoch is that of the least error
    on the rows that are left out.
    """

    target_mean_: float
    target_scale_: float

    def fit(self, X: object, y: object) -> Self:
        """Train on n texts X and their numbers y (n,). Errors: EstimatorError, a UserError and a ValueError."""
        given = targets(self, y)
        try:
            scores = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise EstimatorError(f"{_no_number(given)}; a regression needs numbers") from None
        assert_all_finite(scores, input_name="y")
        mean, deviation = (float(scores.mean()), float(scores.std()) or 1.0) if len(scores) else (0.0, 1.0)
        task = Task(
            name="own texts",
            kind="regression",
            text="text",
            label="label",
            metrics=("rmse", "pearson"),
            headline="rmse",
        )
        standard = (scores - mean) / deviation
        model = self._fitted(X, standard, task, standard.tolist())
        units = f"deviations of {deviation:.6g} from {mean:.6g}"
        self.model_ = replace(model, facts={**model.facts, "units": units})
        self.target_mean_, self.target_scale_ = mean, deviation
        return self

    def predict(self, X: object) -> npt.NDArray[np.float64]:
        """(n,) numbers in the units of y."""
        standard = self._scores(X)[:, 0]
        return self.target_mean_ + self.target_scale_ * standard


def _no_number(given: npt.NDArray[Any]) -> str:
    """Where the first value is that is none."""
    for row, value in enumerate(given.tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"row {row} of y is {value!r:.40}"
    return f"y holds {given.dtype} values"
