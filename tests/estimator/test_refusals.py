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
    "row 2 of y is missing (nan); leave such rows out": [0.0, 1.0, np.nan, 1.0],
    "row 1 of y is missing (nan)": ["up", float("nan"), "down", "up"],
    "row 3 of y is missing (None)": ["up", "down", "up", None],
    "row 0 of y is missing (nan)": pd.Series([None, "down", "up", "up"], dtype="str"),
    "row 0 of y is missing (None)": pd.Series([None, "down", "up", "up"], dtype="object"),
    "row 2 of y is missing (<NA>)": pd.Series(["up", "down", pd.NA, "up"], dtype="object"),
    "row 1 of y is missing (None)": pd.DataFrame({"y": pd.Series(["up", None, "up", "up"], dtype="object")}),
    "y mixes int and str, which have no order": pd.Series(["up", 1, "up", 1], dtype="object"),
    "row 0 of y is a list; it is one class": [["up"], ["up", "down"], ["down"], []],
    "should be a 1d array, got an array of shape (4, 2)": [["up", "down"]] * 4,
    "should be a 1d array, got an array of shape ()": np.nan,
    "Unknown label type: continuous": [0.5, 0.1, 0.2, 0.3],
    "the target y is None": None,
}


@pytest.mark.parametrize("sentence", BAD_Y)
def test_known_what_are_no_classes(sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        SentenceClassifier(**QUICK).fit(TEXTS, BAD_Y[sentence])
    assert sentence in str(caught.value)


def test_known_what_are_no_numbers() -> None:
    for y, sentence in (
        (LABELS, "^row 0 of y is 'up'; a regression needs numbers$"),
        ([1.0, 2.0, "x", 3.0], "^row 2 of y is 'x'; a regression needs numbers$"),
        ([1.0, None, 2.0, 3.0], r"^row 1 of y is missing \(None\)"),
    ):
        with pytest.raises(EstimatorError, match=sentence):
            SentenceRegressor(**QUICK).fit(TEXTS, y)
    with pytest.raises(ValueError, match="Input y contains infinity"):
        SentenceRegressor(**QUICK).fit(TEXTS, [1, 2, 3, np.inf])


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"encoder": "vectosr"}, "vectosr.*did you mean 'vectors'"),
        ({"encoder": 3}, "encoder is a int; it is the name or folder of a model"),
        ({"encoder": "hf:/nowhere/at/all"}, "/nowhere/at/all"),
        ({"head": "afine"}, "^head is 'afine'; did you mean 'affine'"),
        ({"head": "x"}, "^head is 'x'; it is one of affine, measurement, modulus, or None$"),
        ({"pool": 3}, "^pool is 3; it is one of cls, mean, pooled, or None$"),
        ({"pool": "mean"}, "^pool is 'mean', which is no sentence vector of vectors; leave it out"),
        ({"encoder": "qbert-tiny", "pool": "pooled"}, "vector of qbert-tiny; it is 'cls' or 'mean' there$"),
        ({"epochs": -1}, "^epochs is -1; it is a number above 0, up to 1,000,000, or None$"),
        ({"epochs": "3"}, "^epochs is '3'; it is a number"),
        ({"epochs": True}, "^epochs is True; it is a number"),
        ({"lr": 0}, "^lr is 0; it is a number above 0"),
        ({"lr": float("nan")}, "^lr is nan; it is a number above 0"),
        ({"batch_size": 0}, "^batch_size is 0; it is a whole number of texts, 1 or more, or None$"),
        ({"batch_size": 2.5}, "^batch_size is 2.5; it is a whole number of texts"),
        ({"max_len": 4}, "^max_len is 4; it is a whole number of tokens, 8 or more, or None$"),
        ({"encoder": "bert-tiny", "max_len": 129}, "^max_len is 129, and bert-tiny reads 128 tokens at most"),
        ({"encoder": "bert-tiny", "settings": {"text": {"max_len": 1_000}}}, "bert-tiny reads 128 tokens at most"),
        ({"validation_fraction": 0.9}, "validation_fraction is 0.9; it is a share of the rows from 0 to 0.5"),
        ({"random_state": "0"}, "random_state is '0'"),
        ({"settings": ["train.steps=3"]}, "settings is a dictionary such as"),
        ({"settings": {"train.step": 3}}, "^settings has an unknown key 'train.step'; did you mean 'steps'"),
        ({"settings": {"train.optim.lr": 0}}, "^settings sets train.optim.lr to 0"),
        ({"settings": {"train.epochs": 3}}, "^epochs is 1 and settings has 'train.epochs', which say the same thing"),
        ({"settings": {"train": {"steps": 3}}}, "^epochs is 1 and settings has 'train.steps'"),
        ({"batch_size": 2, "settings": {"train.batch_tokens": 64}}, "^batch_size is 2 and settings has"),
        ({"settings": {"data.limit": 2}}, "^settings has 'data.limit', .* here X and y are the rows$"),
        ({"settings": {"task": "sst2"}}, "^settings has 'task', .* here X and y are the rows$"),
        ({"settings": {"train.seed": 2}}, "^settings has 'train.seed', which is what random_state says"),
        ({"settings": {"train.patience": 2}}, "^settings has 'train.patience', .* set validation_fraction above 0"),
        ({"settings": {"a=b": 2}}, "^settings has the key 'a=b'; keys are names with dots"),
        ({"settings": {"train.steps": None}}, "settings has no value for train.steps; leave it out"),
        ({"settings": {"train.optim": {"lr": object()}}}, "settings has a object for train.optim.lr"),
        ({"run_folder": str(Path(__file__))}, "^run_folder is .*, which is a file; name a folder$"),
        ({"run_folder": Path(__file__).parent}, "holds files that are no run's; name another one as run_folder$"),
        ({"run_folder": 5}, "^run_folder takes the path of a folder, not a int$"),
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
    with pytest.raises(EstimatorError, match=r"^pool is 'maen'; did you mean 'mean'"):
        SentenceStateTransformer(given, pool="maen").fit(TEXTS)


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


def test_known_a_run_folder_of_other_rows_or_another_recipe(tmp_path: Path) -> None:
    """The command line's advice, --out, is none here."""
    given = QUICK | {"run_folder": tmp_path / "run"}
    SentenceClassifier(**given).fit(TEXTS, LABELS)
    for changed, labels, what in (
        (given, LABELS[::-1], "the train rows are not those that the run in .* began with"),
        (given | {"lr": 0.5}, LABELS, ".* holds a run of another recipe"),
    ):
        with pytest.raises(EstimatorError, match=rf"^{what}[^;]*; name another one as run_folder$"):
            SentenceClassifier(**changed).fit(TEXTS, labels)


def test_known_names_near_a_model_or_a_family() -> None:
    with pytest.raises(EstimatorError, match=r"^there is no model at bert-tny; did you mean 'bert-tiny', .* or 'bert'"):
        SentenceClassifier("bert-tny").fit(TEXTS, LABELS)
