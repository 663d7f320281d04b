"""What estimators refuse: one sentence each, a UserError that is a ValueError too, and nothing half-fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from psitext.errors import UserError
from psitext.estimator import SentenceClassifier, SentenceRegressor, SentenceStateTransformer
from psitext.estimator.texts import EstimatorError
from psitext.model import Model

TEXTS, LABELS = ["good fine", "bad dull", "kind good", "grim vain"], ["up", "down", "up", "down"]
QUICK: dict[str, Any] = {"encoder": "vectors", "epochs": 1}

BAD_X = {
    "X is one string; an estimator takes a list of texts": "good fine",
    "X is a dict; give a list of texts": {"text": TEXTS},
    "X is a generator with 0 axes": (text for text in TEXTS),
    "X is a csr_matrix; give": scipy.sparse.csr_matrix(np.eye(4)),
    "X is a ndarray with 3 axes": np.zeros((4, 1, 1)),
    "X has no rows": [],
    "X has 3 columns; texts are one column": [["a", "b", "c"]] * 4,
    "the rows of X differ in length": [["a"], ["b", "c"], ["d"], ["e"]],
    "row 2 of X has no text (nan); leave such rows out": pd.Series(["a", "b", None, "d"], dtype="str"),
    "row 1 of X has no text (None)": ["a", None, "c", "d"],
    "row 1 of X has no text (<NA>)": pd.Series(["a", pd.NA, "c", "d"], dtype="object"),
    "row 0 of X is 1, of type int, and no text": [1, 2, 3, 4],
    "row 0 of X is 1.5, of type float": np.array([1.5, 2, 3, 4]),
    "row 3 of X is b'd', of type bytes": ["a", "b", "c", b"d"],
    "row 1 of X is no text: half of a surrogate pair": ["a", "\ud800", "c", "d"],
}


@pytest.mark.parametrize("sentence", BAD_X)
@pytest.mark.parametrize("kind", [SentenceClassifier, SentenceStateTransformer])
def test_known_what_is_no_text(kind: Any, sentence: str) -> None:
    model = kind(**QUICK) if kind is SentenceClassifier else kind("nowhere")
    with pytest.raises(EstimatorError) as caught:
        model.fit(BAD_X[sentence], LABELS)
    assert sentence in str(caught.value) and isinstance(caught.value, UserError | ValueError)
    assert not [name for name in vars(model) if name.endswith("_")]


BAD_Y = {
    "y has the one class 'up'; a classifier needs two": ["up"] * 4,
    "inconsistent numbers of samples: [4, 3]": LABELS[:3],
    "Input y contains NaN": [0.0, 1.0, np.nan, 1.0],
    "Unknown label type: continuous": [0.5, 0.1, 0.2, 0.3],
    "the target y is None": None,
}


@pytest.mark.parametrize("sentence", BAD_Y)
def test_known_what_are_no_classes(sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        SentenceClassifier(**QUICK).fit(TEXTS, BAD_Y[sentence])
    assert sentence in str(caught.value)


def test_known_what_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="a regression needs numbers"):
        SentenceRegressor(**QUICK).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="Input y contains infinity"):
        SentenceRegressor(**QUICK).fit(TEXTS, [1, 2, 3, np.inf])


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"encoder": "vectosr"}, "vectosr.*did you mean 'vectors'"),
        ({"encoder": 3}, "encoder is a int; it is the name or folder of a model"),
        ({"encoder": "hf:/nowhere/at/all"}, "/nowhere/at/all"),
        ({"head": "afine"}, "head.kind to 'afine'; did you mean 'affine'"),
        ({"epochs": -1}, "train.epochs to -1"),
        ({"lr": 0}, "train.optim.lr to 0"),
        ({"batch_size": 2.5}, "train.batch_sequences to 2.5"),
        ({"max_len": 4}, "max_len to 4"),
        ({"validation_fraction": 0.9}, "validation_fraction is 0.9; it is a share of the rows from 0 to 0.5"),
        ({"random_state": "0"}, "random_state is '0'"),
        ({"settings": ["train.steps=3"]}, "settings is a dictionary such as"),
        ({"settings": {"train.step": 3}}, "unknown key 'train.step'; did you mean 'steps'"),
        ({"settings": {"train.steps": None}}, "settings has no value for train.steps; leave it out"),
        ({"settings": {"train.optim": {"lr": object()}}}, "settings has a object for train.optim.lr"),
        ({"run_folder": str(Path(__file__))}, "cannot write|holds files"),
    ],
)
def test_known_parameters_that_are_none(params: dict[str, Any], sentence: str) -> None:
    model = SentenceClassifier(**QUICK | params)
    with pytest.raises(ValueError, match=sentence) as caught:
        model.fit(TEXTS, LABELS)
    assert isinstance(caught.value, UserError)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "model_")


def test_known_transformers_without_a_trained_encoder(tmp_path: Path) -> None:
    for encoder, sentence in (
        ("rac", "'rac' is a family, whose encoder would know nothing yet"),
        (3, "encoder is a int"),
        (str(tmp_path), "is not a model"),
    ):
        with pytest.raises(EstimatorError, match=sentence):
            SentenceStateTransformer(encoder).fit(TEXTS)  # type: ignore[arg-type]
    given = SentenceClassifier(**QUICK).fit(TEXTS, LABELS).model_
    assert isinstance(given, Model)
    with pytest.raises(EstimatorError, match="state is 'probability'; did you mean 'probabilities'"):
        SentenceStateTransformer(given, state="probability").fit(TEXTS)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "save"])
def test_known_before_a_fit(method: str, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        getattr(SentenceClassifier(), method)(tmp_path / "folder" if method == "save" else TEXTS)
    for model in (SentenceRegressor().predict, SentenceStateTransformer().transform):
        with pytest.raises(NotFittedError):
            model(TEXTS)


def test_law_empty_texts_are_texts() -> None:
    model = SentenceClassifier(**QUICK).fit([*TEXTS, ""], [*LABELS, "up"])
    assert model.predict(["", "  ", "never seen \U0001f600"]).shape == (3,)
