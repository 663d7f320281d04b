"""Curves over the number of labels, the encoder as it is and fine-tuned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import toys
import vaes
from psitext.errors import UserError
from psitext.experiments.lowresource import fewlabels, tuned
from psitext.experiments.lowresource.fewlabels import few_labels
from psitext.experiments.lowresource.protocol import FewLabels
from psitext.experiments.lowresource.tuned import few_labels_tuned
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.model import Model, load
from psitext.randomness import generator
from psitext.text.examples import Example

FEW = FewLabels(counts=(1, 4, 16), trials=(4, 3, 1), test=20, pool=100)


def recipe(folder: Path, init: Path, *settings: str) -> FinetuneRecipe:
    given = {"task": str(toys.task_file(folder, "sentiment")), "init": str(init)}
    found = toys.finetuning(list(settings), **given, encoder=None)
    return found.model_copy(update={"name": "few"})


def test_smoke_scores_over_labels(tmp_path: Path) -> None:
    found = few_labels(recipe(tmp_path, vaes.space()), FEW, None)
    assert list(found.scores) == ["accuracy at 1", "accuracy at 4", "accuracy at 16"]
    assert {count: len(values) for count, values in found.notes["trials"].items()} == {"1": 4, "4": 3, "16": 1}
    for count, values in found.notes["trials"].items():
        assert found.scores[f"accuracy at {count}"] == pytest.approx(np.mean(values), abs=1e-6)
    assert found.notes["width"] == vaes.LATENT
    assert found.notes["strengths"]["1"] == [1e-2] * 4
    assert found.rows["test"] == 40
    assert found == few_labels(recipe(tmp_path, vaes.space()), FEW, None), "the same again"


def test_law_a_space_s_own_encoder_is_another_feature(tmp_path: Path) -> None:
    """``pool`` reads what the posterior is made from, and an encoder may be cut to its first layers."""
    hidden = few_labels(recipe(tmp_path, vaes.space(), "pool=mean"), FEW, None)
    assert hidden.notes["width"] == 16
    cut = few_labels(recipe(tmp_path, vaes.space(), "pool=mean", "encoder_layers=2"), FEW, None)
    assert cut.notes["trials"] == hidden.notes["trials"], "all of its layers"
    with pytest.raises(UserError, match="encoder_layers is for a BERT"):
        few_labels(recipe(tmp_path, vaes.space(), "encoder_layers=1"), FEW, None)
    with pytest.raises(UserError, match="encoder_layers is 9, and the encoder has 2"):
        few_labels(recipe(tmp_path, vaes.space(), "pool=cls", "encoder_layers=9"), FEW, None)
    with pytest.raises(UserError, match="has no pooler"):
        few_labels(recipe(tmp_path, vaes.space(), "pool=pooled"), FEW, None)


def test_known_states_that_hold_the_label_need_few_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And states that do not are no better than a coin, however many labels there are."""
    names = ("negative", "positive")

    def told(model: Model, examples: Sequence[Example]) -> npt.NDArray[np.float32]:
        random = generator(0, "told", len(examples))
        labels = np.asarray([names.index(str(one.label)) for one in examples])
        return (random.standard_normal((len(examples), 5)) + 8 * labels[:, None]).astype(np.float32)

    monkeypatch.setattr(fewlabels, "states", told)
    found = few_labels(recipe(tmp_path, vaes.space()), FEW, None)
    assert found.scores["accuracy at 4"] == 1.0
    monkeypatch.setattr(
        fewlabels, "states", lambda model, some: generator(1, len(some)).standard_normal((len(some), 5)).astype("f4")
    )
    assert few_labels(recipe(tmp_path, vaes.space()), FEW, None).scores["accuracy at 16"] < 0.75


def test_smoke_fine_tuned_and_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = FewLabels(counts=(4, 8), trials=(2, 1), test=20, pool=100)
    wanted = recipe(tmp_path, vaes.space(), "train.steps=3", "train.accumulation=1")
    events: list[object] = []
    found = few_labels_tuned(wanted, few, None, tmp_path / "out", events.append)
    assert events
    assert {count: len(values) for count, values in found.notes["trials"].items()} == {"4": 2, "8": 1}
    kept = tmp_path / "out" / tuned.DONE
    lines = kept.read_text().splitlines()
    assert len(lines) == 3
    kept.write_text("\n".join(lines[:2]) + "\n")
    calls: list[int] = []
    trained = tuned._tuned
    monkeypatch.setattr(tuned, "_tuned", lambda *args: calls.append(1) or trained(*args))
    assert few_labels_tuned(wanted, few, None, tmp_path / "out") == found, "the last trial is done anew, and the same"
    assert len(calls) == 1
    other = recipe(tmp_path, vaes.space(), "train.steps=4", "train.accumulation=1")
    few_labels_tuned(other, few, None, tmp_path / "out")
    assert len(calls) == 4, "lines of another recipe are not its own"


def test_law_an_encoder_reads_the_same_from_few_labels_as_from_its_model(tmp_path: Path) -> None:
    space = load(vaes.space())
    states = space.encode(["a fine story", "a dull day"]).vector
    again = load(vaes.space(), pool="mean").encode(["a fine story", "a dull day"]).vector
    weight = space.network.encoder.get_submodule("posterior").weight
    assert (again @ weight.T)[:, : vaes.LATENT].detach().numpy() == pytest.approx(states.numpy(), abs=1e-5)
