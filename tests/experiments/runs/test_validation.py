"""How a network is judged while it trains."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import toys
from psitext.experiments.finetune import read_labelled
from psitext.experiments.runs import validation
from psitext.experiments.runs.folder import RunFolder
from psitext.model import load
from psitext.score.losses import pretraining
from psitext.text.pretraining.source import split
from psitext.text.pretraining.store import Store
from psitext.text.tasks import load_task


def test_parity_losses_of_held_out_text_are_means_over_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(toys.pretrained())
    model, recipe, score = load(run.path), run.recipe(), pretraining()
    store = Store.open(run.path / "tokens", model.tokenizer)
    _, held_out = split(store, model.tokenizer, recipe.samples)  # type: ignore[union-attr]
    assert held_out is not None
    found = validation.pretraining_losses(held_out, score, "fp32")
    values = found.evaluate(model.network)
    batch = held_out.build(np.arange(len(held_out.lengths(0))), 0)
    with torch.no_grad():
        predicted, state = model.network.eval()(batch)
    for name, term in score.items():
        mean = float(term.total(predicted, batch, state)) / float(term.count(batch))
        assert values[f"loss_{name}"] == pytest.approx(mean, rel=1e-4)
    right = predicted["words"].argmax(-1) == batch.targets["token_label"]
    assert values["accuracy_words"] == pytest.approx(float(right.float().mean()), abs=1e-6)
    assert (found.headline, found.low_is_good) == ("loss_words", True)
    monkeypatch.setattr(validation, "MOST_TOKENS", 1)  # a part of it is enough where there is much
    assert validation.pretraining_losses(held_out, score, "fp32").evaluate(model.network)["loss_words"] > 0


def test_law_a_part_of_the_held_out_text_is_like_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.r_[np.full(900, 10), np.full(100, 128)]  # a tenth is long
    monkeypatch.setattr(validation, "MOST_TOKENS", 4_000)
    part = validation.part_of(lengths)
    assert 4_000 <= lengths[part].sum() < 4_000 + 128
    assert len(set(part.tolist())) == len(part)
    assert 0.05 < (lengths[part] == 128).mean() < 0.2
    assert np.array_equal(part, validation.part_of(lengths))
    assert np.array_equal(validation.part_of(np.array([3, 5])), [0, 1])  # all of what there is


def test_known_the_first_split_decides() -> None:
    model = load(toys.trained("words"))
    data = read_labelled(RunFolder(toys.trained("words")).recipe())  # type: ignore[arg-type]
    source = model.source(data.train, labelled=True)
    found = validation.task_metrics({"dev": source, "other": source}, model.asked())
    values = found.evaluate(model.network)
    assert set(values) == {"accuracy", "macro_f1", "collapsed", "other_accuracy", "other_macro_f1", "other_collapsed"}
    assert values["accuracy"] == values["other_accuracy"] == model.evaluate(data.train)["accuracy"]
    assert found.headline == "accuracy" and not found.low_is_good


def test_known_an_error_is_good_when_it_is_low() -> None:
    task = load_task("stsb").model_copy(update={"metrics": ("rmse",), "headline": "rmse"})
    assert validation.task_metrics({}, task).low_is_good


def test_known_curve() -> None:
    events = [
        {"kind": "train", "step": 3, "tokens": 90, "loss": 5.0},
        {"kind": "dev", "step": 4, "loss_words": 4.0, "loss_next": 0.7, "accuracy_next": 0.5},
        {"kind": "train", "step": 6, "tokens": 200, "loss": 4.0},
        {"kind": "dev", "step": 8, "loss_words": 3.0, "loss_next": 0.6, "accuracy_next": 0.5},
    ]
    assert validation.dev_curve(events) == [
        {"tokens": 90, "loss words": 4.0, "loss next": 0.7},
        {"tokens": 200, "loss words": 3.0, "loss next": 0.6},
    ]
