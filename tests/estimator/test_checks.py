"""scikit-learn's own checks. They feed rows of numbers, so each row is spelled out as a text before it is read."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import validate_data

import toys
from psitext.estimator import SentenceClassifier, SentenceRegressor, SentenceStateTransformer
from psitext.experiments.runs import folder

EDGES = np.linspace(-1.5, 1.5, 7)
QUICK: dict[str, Any] = {
    "encoder": "vectors",
    "epochs": 8,
    "lr": 0.05,
    "batch_size": 40,
    "settings": {"encoder": {"dropout": 0.0, "word_dropout": 0.0}},
}


def spelled(rows: np.ndarray) -> list[str]:
    """A word for every number, which says in which of eight ranges it lies: [0.2, 9] is "a4 b7"."""
    return [
        " ".join(f"{chr(97 + at % 26)}{np.searchsorted(EDGES, value)}" for at, value in enumerate(row)) for row in rows
    ]


class Spelled:
    """In front of an estimator, so that the checks' numbers reach it as texts; everything else is the estimator's."""

    def _texts(self, X: object) -> tuple[list[str], None]:
        return spelled(validate_data(self, X)), None

    def _further(self, X: object) -> tuple[list[str], None]:
        return spelled(validate_data(self, X, reset=False)), None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        tags.input_tags.string = tags.input_tags.one_d_array = False
        return tags


class SpelledClassifier(Spelled, SentenceClassifier):
    pass


class SpelledRegressor(Spelled, SentenceRegressor):
    pass


class SpelledTransformer(Spelled, SentenceStateTransformer):
    pass


@cache
def encoder() -> str:
    """A model's folder, of words such as the checks spell."""
    rows = np.random.default_rng(0).normal(size=(60, 4))
    fitted = SpelledClassifier(**QUICK).fit(rows, (rows[:, 0] > 0).astype(int))
    return str(fitted.model_.save(toys.folder() / "spelled"))


class Later(SpelledTransformer):
    """Its encoder is trained when it is first asked for, not when tests are collected."""

    def _model(self) -> Any:
        return SpelledTransformer(encoder())._model()


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred runs in temporary folders need no flush to the disk, and git need not be asked each time."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(folder, "versions", dict)
    monkeypatch.setattr(folder, "commit", lambda: "unknown")


@parametrize_with_checks([SpelledClassifier(**QUICK), SpelledRegressor(**QUICK), Later()])
def test_parity_scikit_learn_s_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("cls", [SentenceClassifier, SentenceRegressor, SentenceStateTransformer])
@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_cloneable",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_do_not_raise_errors_in_init_or_set_params",
    ],
)
def test_parity_checks_that_need_no_data_as_they_are(cls: type, name: str) -> None:
    getattr(estimator_checks, name)(cls.__name__, cls())


def test_known_the_tags_say_texts() -> None:
    tags = get_tags(SentenceClassifier())
    assert (tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array) == (True, True, False)
    assert (tags.estimator_type, get_tags(SentenceRegressor()).estimator_type) == ("classifier", "regressor")
    assert tags.requires_fit and not tags.non_deterministic and tags.target_tags.required
    with pytest.warns(SkipTestWarning, match="requires input"):  # which is why the others are spelled
        assert len(list(estimator_checks_generator(SentenceClassifier()))) == 1
