"""Texts in, answers out: fit, predict, what a fit leaves behind, and how estimators come back from files and copies."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import psitext
import toys
from psitext.errors import UserError
from psitext.estimator import SentenceClassifier, SentenceRegressor, SentenceStateTransformer
from psitext.estimator.parameters import seed_of
from psitext.estimator.training import _recipe, held_out
from psitext.experiments.finetune import Labelled
from psitext.experiments.run import resume
from psitext.model import load
from psitext.model.model import PLAIN
from psitext.text.examples import Example
from psitext.train import loop

ROWS = toys.words_and_labels(48)
TEXTS, LABELS = [text for text, _ in ROWS], [label for _, label in ROWS]
NUMBERS = np.asarray([1000.0 + 10 * (label == "up") for label in LABELS])
QUICK: dict[str, Any] = {"encoder": "vectors", "epochs": 6, "lr": 0.05, "batch_size": 16}


@cache
def fitted() -> SentenceClassifier:
    return SentenceClassifier(**QUICK).fit(TEXTS, LABELS)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of its own for temporary files."""
    place = tmp_path / "room"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_law_a_classifier_answers_with_the_classes_of_y() -> None:
    model = fitted()
    assert model.classes_.tolist() == ["down", "up"]
    assert model.score(TEXTS, LABELS) == 1.0
    probs, odds = model.predict_proba(TEXTS), model.decision_function(TEXTS)
    assert probs.shape == (48, 2) and np.allclose(probs.sum(axis=1), 1)
    assert np.allclose(np.log(probs[:, 1] / probs[:, 0]), odds)
    assert np.allclose(np.exp(model.predict_log_proba(TEXTS)), probs)
    assert [answer.label for answer in model.model_.predict(TEXTS)] == model.predict(TEXTS).tolist()


@pytest.mark.parametrize(
    "kinds", [np.array([7, -1, 3]), np.array([True, False]), np.array([0.0, 2.0, 1.0]), np.array(["b", "", "a"])]
)
def test_law_classes_keep_their_type_and_order(kinds: np.ndarray) -> None:
    y = np.resize(kinds, len(TEXTS))
    model = SentenceClassifier(**QUICK | {"epochs": 1}).fit(TEXTS, y)
    assert model.classes_.dtype == y.dtype and (model.classes_ == np.unique(y)).all()
    assert model.predict(TEXTS).dtype == y.dtype
    assert model.decision_function(TEXTS).shape == ((48,) if len(kinds) == 2 else (48, 3))
    assert (model.classes_[model.predict_proba(TEXTS).argmax(axis=1)] == model.predict(TEXTS)).all()


def test_law_a_regressor_speaks_the_units_of_y() -> None:
    sure = QUICK | {"epochs": 12, "settings": {"encoder": {"dropout": 0.0, "word_dropout": 0.0}}}
    model = SentenceRegressor(**sure).fit(TEXTS, NUMBERS)
    assert model.score(TEXTS, NUMBERS) > 0.9
    near, far = model.predict(["bad dull"])[0], model.predict(["good fine"])[0]
    assert abs(near - 1000) < 3 and abs(far - 1010) < 3
    wider = SentenceRegressor(**sure).fit(TEXTS, 5 * NUMBERS - 2)
    assert np.allclose(wider.predict(TEXTS), 5 * model.predict(TEXTS) - 2)
    inner = np.asarray([answer.label for answer in model.model_.predict(TEXTS)])
    assert np.allclose(model.target_mean_ + model.target_scale_ * inner, model.predict(TEXTS))
    assert SentenceRegressor(**QUICK | {"epochs": 1}).fit(TEXTS, np.full(48, 3.0)).predict(["good fine"]).shape == (1,)


CONTAINERS: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "array": np.asarray,
    "objects": lambda texts: np.asarray(texts, dtype=object),
    "series": pd.Series,
    "column": lambda texts: np.asarray(texts, dtype=object)[:, None],
    "lists": lambda texts: [[text] for text in texts],
    "frame": lambda texts: pd.DataFrame({"review": texts}),
    "shuffled series": lambda texts: pd.Series(texts, index=range(100, 100 + len(texts))),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_law_containers_make_no_difference(name: str) -> None:
    given = CONTAINERS[name](TEXTS)
    assert np.array_equal(fitted().predict_proba(given), fitted().predict_proba(TEXTS))


def test_known_columns_are_counted_and_named() -> None:
    quick = QUICK | {"epochs": 1}
    frame = pd.DataFrame({"review": TEXTS})
    model = SentenceClassifier(**quick).fit(frame, LABELS)
    assert (model.n_features_in_, model.feature_names_in_.tolist()) == (1, ["review"])
    assert np.array_equal(model.predict(TEXTS), model.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"review": "other"}))
    assert not hasattr(model.fit(TEXTS, LABELS), "n_features_in_")
    pairs = SentenceClassifier(**quick).fit(list(zip(TEXTS, reversed(TEXTS), strict=True)), LABELS)
    assert pairs.n_features_in_ == 2 and pairs.model_.task.pair is not None
    assert pairs.predict(np.array([["good fine", "bad dull"]])).shape == (1,)
    with pytest.raises(ValueError, match="X holds single texts, and the estimator was fitted on pairs of texts"):
        pairs.predict(TEXTS)


def test_law_the_same_call_gives_the_same_model_and_leaves_nothing(
    room: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate(), torch.get_num_threads())
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    one, again = (SentenceClassifier(**QUICK, random_state=3).fit(TEXTS, LABELS) for _ in range(2))
    other = SentenceClassifier(**QUICK, random_state=4).fit(TEXTS, LABELS)
    assert np.array_equal(one.predict_proba(TEXTS), again.predict_proba(TEXTS))
    assert not np.array_equal(one.predict_proba(TEXTS), other.predict_proba(TEXTS))
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()
    assert before[2:] == (random.getstate(), torch.get_num_threads())
    assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert list(room.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    SentenceClassifier(**QUICK | {"epochs": 1}, validation_fraction=0.1, verbose=True).fit(TEXTS, LABELS)
    assert "[SentenceClassifier] dev: step 3, accuracy" in capfd.readouterr().out


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_law_an_error_in_training_leaves_nothing(error: type, room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(loop.Stepper, "steps", fails)
    with pytest.raises(error):
        SentenceClassifier(**QUICK).fit(TEXTS, LABELS)
    assert list(room.iterdir()) == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C in the fourth step."""
    taken, count = loop.Stepper._step, iter(range(1, 1000))

    def step(self: Any, *given: Any) -> Any:
        if next(count) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return taken(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(loop.Stepper, "_step", step)
        yield


def test_law_ctrl_c_ends_a_search_and_leaves_nothing(room: Path, impatient: None) -> None:
    with pytest.raises(KeyboardInterrupt, match=r"^stopped after step 4$"):
        SentenceClassifier(**QUICK).fit(TEXTS, LABELS)
    assert list(room.iterdir()) == []


def test_law_a_run_that_is_kept_goes_on_to_the_same_model(
    tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    run = tmp_path / "run"
    model = SentenceClassifier(**QUICK, run_folder=run)
    whole = SentenceClassifier(**QUICK, run_folder=tmp_path / "whole").fit(TEXTS, LABELS)
    with monkeypatch.context():
        request.getfixturevalue("impatient")
        with pytest.raises(KeyboardInterrupt, match="fit again with run_folder="):
            model.fit(TEXTS, LABELS)
    monkeypatch.undo()
    with pytest.raises(UserError, match=r"were in memory when it began.* with the same run_folder"):
        resume(run)
    with pytest.raises(ValueError, match=r"rows are not those that the run in .* began with"):
        model.fit(TEXTS[::-1], LABELS)
    assert np.array_equal(model.fit(TEXTS, LABELS).predict_proba(TEXTS), whole.predict_proba(TEXTS))
    assert np.array_equal(model.fit(TEXTS, LABELS).predict_proba(TEXTS), whole.predict_proba(TEXTS)), "and stays so"
    with pytest.raises(ValueError, match=r"holds a run of another recipe; name another one as run_folder$"):
        model.set_params(epochs=2).fit(TEXTS, LABELS)


def test_law_files_bring_the_estimator_back(tmp_path: Path) -> None:
    for model in (fitted(), SentenceRegressor(**QUICK | {"epochs": 1}).fit(pd.DataFrame({"a": TEXTS}), NUMBERS)):
        folder = model.save(tmp_path / type(model).__name__)
        again = type(model).load(folder)
        assert again.get_params() == model.get_params()
        assert np.array_equal(again.predict(TEXTS), model.predict(TEXTS))
        assert {name for name in vars(again) if name.endswith("_")} == {
            name for name in vars(model) if name.endswith("_")
        }
        assert [file.name for file in sorted(folder.iterdir())] == ["checksums.json", "estimator.json", "model"]
        assert psitext.load(folder).predict(TEXTS[:2]) == model.model_.predict(TEXTS[:2])
        model.save(folder)  # an older one is replaced
    assert SentenceClassifier.load(tmp_path / "SentenceClassifier").classes_.dtype == fitted().classes_.dtype


def test_law_an_encoder_that_is_a_model_is_saved_too(tmp_path: Path) -> None:
    model = SentenceClassifier(fitted().model_, epochs=1).fit(TEXTS, LABELS)
    again = SentenceClassifier.load(model.save(tmp_path / "one"))
    assert np.array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert np.array_equal(again.fit(TEXTS, LABELS).predict_proba(TEXTS), model.predict_proba(TEXTS))
    with pytest.raises(ValueError, match="save the Model, and give its folder"):
        model.set_params(run_folder=tmp_path / "run").fit(TEXTS, LABELS)


def test_known_models_are_no_estimators(tmp_path: Path) -> None:
    run = tmp_path / "run"
    SentenceClassifier(**QUICK | {"epochs": 1}, run_folder=run).fit(TEXTS, LABELS)
    for place in (run, run / "model", "bert-tiny"):
        with pytest.raises(ValueError, match=r"is a model and no estimator: psitext.load reads it"):
            SentenceClassifier.load(place)
    for method in (fitted().save, SentenceClassifier.load):
        for wrong, sentence in ((None, "the path of a folder, not a NoneType"), ("", "and this one is empty")):
            with pytest.raises(UserError, match=sentence):
                method(wrong)  # type: ignore[operator]
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "estimator.json").write_text("{}")
    with pytest.raises(UserError, match="lacks files"):
        SentenceClassifier.load(tmp_path / "given")


def test_known_files_that_are_no_estimator(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        SentenceClassifier().save(tmp_path / "one")
    folder = fitted().save(tmp_path / "one")
    with pytest.raises(UserError, match=r"holds a SentenceClassifier; load it as that, not as a SentenceRegressor"):
        SentenceRegressor.load(folder)
    with pytest.raises(UserError, match=r"there is no estimator at .*; save\(\) writes one"):
        SentenceClassifier.load(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(UserError, match="holds something else than an estimator"):
        fitted().save(tmp_path / "other")
    settings = folder / "estimator.json"
    tree = json.loads(settings.read_text())
    settings.write_text(json.dumps({**tree, "format": 2}))
    with pytest.raises(UserError, match=r"estimator.json is damaged: its checksum"):
        SentenceClassifier.load(folder)
    weights = fitted().save(tmp_path / "two") / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    with pytest.raises(UserError, match=r"model.safetensors is damaged"):
        SentenceClassifier.load(tmp_path / "two")
    with pytest.raises(UserError, match="random_state is a RandomState, which a file of parameters cannot hold"):
        clone(fitted()).set_params(random_state=np.random.RandomState(0)).fit(TEXTS, LABELS).save(tmp_path / "three")


def test_law_copies_answer_alike_and_hold_no_torch_pickle(room: Path) -> None:
    content = pickle.dumps(fitted())
    assert b"torch" not in content, "weights travel as the bytes of a model folder"
    for again in (pickle.loads(content), copy.deepcopy(fitted())):
        assert np.array_equal(again.predict_proba(TEXTS), fitted().predict_proba(TEXTS))
    with_model = pickle.loads(pickle.dumps(SentenceStateTransformer(fitted().model_))).fit(TEXTS)
    assert with_model.transform(TEXTS[:2]).shape == (2, 32)
    assert list(room.iterdir()) == []


def test_law_what_is_held_out_is_spread_over_classes_and_leaves_one_of_each() -> None:
    y = np.repeat(np.arange(4), [50, 30, 20, 1])
    mask = held_out(y, 0.1, seed=0)
    assert np.bincount(y[mask], minlength=4).tolist() in ([5, 3, 2, 0], [5, 3, 1, 0])
    assert not np.array_equal(mask, held_out(y, 0.1, seed=1))
    assert held_out(np.arange(3), 0.5, 0).sum() == 0 and held_out(np.zeros(4, int), 0.1, 0).sum() == 0
    scores = np.linspace(0, 1, 100)
    assert abs(scores[held_out(scores, 0.2, 0)].mean() - 0.5) < 0.02
    for size in range(2, 12):
        both = np.arange(size) % 2
        assert set(both[~held_out(both, 0.5, size)]) == {0, 1}


def test_known_seeds() -> None:
    assert seed_of(np.int64(7)) == 7
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1))
    assert seed_of(np.random.default_rng(1)) != seed_of(np.random.default_rng(2))
    assert seed_of(None) != seed_of(None)
    for wrong in (True, "3", 1.5, -1):
        with pytest.raises(ValueError, match="random_state is"):
            seed_of(wrong)


def test_law_without_held_out_rows_all_are_learnt_from() -> None:
    model = fitted()
    assert model.model_.facts["rows"] == {"train": 48} and model.model_.facts["scores"] == {}
    assert model.model_.facts["best step"] == model.model_.facts["steps"] == 18
    assert model.model_.temperature == 1.0 and model.score(TEXTS, LABELS) == 1.0
    held = SentenceClassifier(**QUICK, validation_fraction=0.1).fit(TEXTS, LABELS)
    assert held.model_.facts["rows"] == {"train": 43, "held out": 5}


def test_known_the_default_classifier_learns_its_own_rows() -> None:
    """Labels that follow from nothing are learnt by heart; six rows held out would choose an epoch by luck."""
    draw = np.random.default_rng(0)
    words = "the a film book good bad dull fine plot song is was very not one".split()
    texts = [" ".join(draw.choice(words, 8)) for _ in range(60)]
    labels = draw.permutation(np.arange(60) % 2)
    assert SentenceClassifier().fit(texts, labels).score(texts, labels) == 1.0


def test_known_parameters_reach_the_recipe(tmp_path: Path) -> None:
    model = SentenceClassifier(
        "bert",
        head="measurement",
        pool="mean",
        lr=2e-3,
        batch_size=24,
        max_len=24,
        random_state=5,
        settings={"encoder": {"layers": 1, "width": 16, "hidden": np.int64(16)}, "train.steps": 2},
        run_folder=tmp_path / "run",
    ).fit(TEXTS, LABELS)
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())["recipe"]
    encoder, train = recipe["encoder"], recipe["train"]
    assert (encoder["layers"], encoder["width"], encoder["hidden"], encoder["max_len"]) == (1, 16, 16, 24)
    assert (train["steps"], train["epochs"], train["seed"], train["precision"]) == (2, None, 5, "fp32")
    assert (train["optim"]["lr"], train["batch_sequences"], recipe["text"]["max_len"]) == (2e-3, 24, 24)
    assert (recipe["head"]["kind"], model.model_.encoder.config.pool) == ("measurement", "mean")


@pytest.mark.parametrize(("rows", "epochs"), [(40, 400 * 128 / 40), (20_000, 7.0)])
def test_law_few_rows_are_read_more_often(rows: int, epochs: float) -> None:
    data = Labelled(PLAIN, [Example("a")] * rows, {})
    assert _recipe(SentenceClassifier("rac"), "rac", 0, data).train.epochs == pytest.approx(epochs)
    assert _recipe(SentenceClassifier("rac", epochs=2), "rac", 0, data).train.epochs == 2
    fixed = SentenceClassifier("rac", settings={"train.steps": 5})
    assert (_recipe(fixed, "rac", 0, data).train.epochs, _recipe(fixed, "rac", 0, data).train.steps) == (None, 5)


def test_law_a_trained_encoder_reads_as_it_did() -> None:
    given = fitted().model_
    assert (given.text.keep, given.text.unknown) == ("last", "drop")
    again = SentenceClassifier(given, epochs=1).fit(TEXTS, LABELS).model_
    assert (again.text.keep, again.text.unknown) == ("last", "drop")
    other = SentenceClassifier(given, epochs=1, settings={"text.keep": "first"}).fit(TEXTS, LABELS).model_
    assert other.text.keep == "first"


@pytest.mark.parametrize("state", ["real", "ket", "probabilities"])
@pytest.mark.parametrize("family", ["vectors", "qcls"])
def test_law_states_as_numbers(family: str, state: str, tmp_path: Path) -> None:
    small = {} if family == "vectors" else {"encoder.width": 8}
    given = SentenceClassifier(**QUICK | {"encoder": family, "epochs": 1}, settings=small).fit(TEXTS, LABELS).model_
    reader = SentenceStateTransformer(given, state=state).fit(TEXTS)
    found = reader.transform(TEXTS)
    width, whole = given.encoder.config.width, given.encode(TEXTS).vector.numpy()
    assert found.dtype == np.float32 and reader.get_feature_names_out().shape == found.shape[1:]
    split = np.concatenate([whole.real, whole.imag], axis=1) if family == "qcls" else whole
    norm = np.linalg.norm(split, axis=1, keepdims=True)
    expected = {"real": split, "ket": split / norm, "probabilities": np.abs(whole / norm) ** 2}[state]
    assert found.shape == (48, width if state == "probabilities" or family == "vectors" else 2 * width)
    assert np.allclose(found, expected, atol=1e-6)
    first = {"probabilities": "p0"}.get(state, "re0" if family == "qcls" else "state0")
    assert reader.get_feature_names_out()[0] == first
    frame = reader.set_output(transform="pandas").transform(pd.Series(TEXTS, index=range(5, 53)))
    assert (frame.columns[0], frame.index[0]) == (first, 5)
    again = SentenceStateTransformer.load(reader.save(tmp_path / "reader"))
    assert np.array_equal(again.transform(TEXTS), found)


def test_known_a_shipped_name_a_run_and_hugging_face_s_layout(minilm: Path) -> None:
    states = SentenceStateTransformer(f"hf:{minilm}", pool="mean").fit(TEXTS).transform(TEXTS[:2])
    assert np.allclose(states, load(f"hf:{minilm}", pool="mean").encode(TEXTS[:2]).numpy())
    run = toys.pretrained()
    model = SentenceClassifier(run, epochs=1).fit(TEXTS, LABELS)
    assert model.model_.encoder.config.width == 32


def test_law_no_warning_is_needed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SentenceRegressor(**QUICK | {"epochs": 1}).fit(TEXTS[:6], NUMBERS[:6])
