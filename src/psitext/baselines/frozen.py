"""A matched head on frozen states: what an encoder's vectors hold before any fine-tuning.

Logistic regression for classes, ridge for scores, on standardised vectors; the strength of its regularisation is
chosen by cross-validation inside the training split. S samples, D width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

STRENGTHS = tuple(10.0**power for power in range(-4, 3))  # inverse regularisation of the logistic regression
FOLDS = 5


def classify(
    train: npt.NDArray[Any], labels: npt.NDArray[np.int64], dev: npt.NDArray[Any], seed: int = 0
) -> npt.NDArray[np.int64]:
    """Class ids for (S, D) dev vectors from (S, D) training vectors and their class ids."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    least = int(np.bincount(labels)[np.unique(labels)].min())
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000, C=1e-2))
    if least >= 2:
        folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed)
        model = GridSearchCV(model, {"logisticregression__C": STRENGTHS}, cv=folds)
    return np.asarray(model.fit(train, labels).predict(dev), dtype=np.int64)


def regress(train: npt.NDArray[Any], scores: npt.NDArray[Any], dev: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Scores for (S, D) dev vectors; the penalty is chosen by leave-one-out, which ridge has in closed form."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-2, 5, 15)))
    return np.asarray(model.fit(train, scores).predict(dev), dtype=np.float64)
