"""Estimators inside scikit-learn's own machinery."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

import toys
from psitext.estimator import SentenceClassifier, SentenceRegressor, SentenceStateTransformer

ROWS = toys.words_and_labels(48)
TEXTS, LABELS = [text for text, _ in ROWS], [label for _, label in ROWS]
QUICK: dict[str, Any] = {"encoder": "vectors", "epochs": 6, "lr": 0.05, "batch_size": 16}

SURE = {"encoder": {"dropout": 0.0, "word_dropout": 0.0}}  # no chance in learning so little by heart


@cache
def encoder() -> str:
    fitted = SentenceClassifier(**QUICK).fit(TEXTS, LABELS)
    return str(fitted.model_.save(toys.folder() / "together"))


def test_smoke_a_pipeline_of_states_and_their_union_with_word_counts() -> None:
    states = SentenceStateTransformer(encoder())
    assert make_pipeline(states, StandardScaler(), LogisticRegression()).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0
    both = FeatureUnion([("words", CountVectorizer()), ("states", clone(states))])
    assert make_pipeline(both, LogisticRegression()).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0


def test_smoke_cross_validation_of_lists_arrays_and_series() -> None:
    scores = [
        cross_val_score(SentenceClassifier(**QUICK), X, LABELS, cv=2)
        for X in (TEXTS, pd.Series(TEXTS, index=range(48, 0, -1)))
    ]
    assert np.array_equal(*scores) and scores[0].min() > 0.9


def test_law_a_search_in_other_processes_finds_what_a_fit_gives() -> None:
    grid = {"lr": [1e-9, 0.05], "settings": [SURE]}
    search = GridSearchCV(SentenceClassifier(**QUICK), grid, cv=2, n_jobs=2, error_score="raise")
    search.fit(TEXTS, LABELS)
    assert search.best_params_ == {"lr": 0.05, "settings": SURE}
    alone = SentenceClassifier(**QUICK | search.best_params_).fit(TEXTS, LABELS)
    assert np.array_equal(search.predict_proba(TEXTS), alone.predict_proba(TEXTS))


def test_smoke_columns_of_a_frame() -> None:
    frame = pd.DataFrame({"title": TEXTS, "review": TEXTS[::-1], "stars": np.arange(48.0)})
    parts = ColumnTransformer(
        [
            ("title", SentenceStateTransformer(encoder()), "title"),
            ("review", SentenceStateTransformer(encoder(), state="probabilities"), ["review"]),
            ("both", SentenceStateTransformer(encoder()), ["title", "review"]),
            ("stars", "passthrough", ["stars"]),
        ]
    )
    found = parts.fit_transform(frame)
    assert found.shape == (48, 97)
    names = parts.get_feature_names_out()
    assert (names[0], names[32], names[64], names[96]) == (
        "title__state0",
        "review__p0",
        "both__state0",
        "stars__stars",
    )
    assert make_pipeline(parts, LogisticRegression(max_iter=1000)).fit(frame, LABELS).score(frame, LABELS) > 0.9


def test_smoke_stacked_and_calibrated() -> None:
    stack = StackingClassifier(
        [("states", SentenceClassifier(**QUICK)), ("words", make_pipeline(CountVectorizer(), LogisticRegression()))],
        cv=2,
    )
    assert stack.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.9
    calibrated = CalibratedClassifierCV(SentenceClassifier(**QUICK, validation_fraction=0), cv=2, ensemble=False)
    assert calibrated.fit(TEXTS, LABELS).predict_proba(TEXTS).shape == (48, 2)


def test_smoke_a_transformed_target() -> None:
    sizes = np.exp([3.0 * (label == "up") for label in LABELS])
    model = TransformedTargetRegressor(
        SentenceRegressor(**QUICK | {"epochs": 12}, settings=SURE), func=np.log, inverse_func=np.exp
    )
    assert model.fit(TEXTS, sizes).score(TEXTS, sizes) > 0.9


def test_law_real_reviews_are_told_apart(data_dir: Path) -> None:
    import gzip

    halves = [
        gzip.decompress((data_dir / "rt_polarity" / f"rt-polarity.{name}.gz").read_bytes()).decode().splitlines()[:600]
        for name in ("neg", "pos")
    ]
    texts, labels = [*halves[0], *halves[1]], np.repeat([0, 1], 600)
    model = SentenceClassifier("vectors", epochs=20, max_len=40)
    assert model.fit(texts[::2], labels[::2]).score(texts[1::2], labels[1::2]) > 0.6
