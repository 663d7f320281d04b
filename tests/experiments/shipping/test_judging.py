"""Finished models on what they were not trained for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tellers
import toys
import vaes
from psitext.config import build
from psitext.errors import UserError
from psitext.experiments import queue
from psitext.experiments.finetune import finetune_run
from psitext.experiments.queue import Bench, Queue
from psitext.experiments.results import lines
from psitext.experiments.shipping import judging
from psitext.experiments.shipping.judging import Judging, on_sentences, on_task, unread
from psitext.model import load
from psitext.text import toy
from psitext.text.tasks import load_split, load_task
from psitext.train.loop import Hook

FEW = Judging(sentences=12, draws=2, known=300, max_words=30, limit=80)


@contextmanager
def quiet(name: str) -> Iterator[Hook]:
    yield lambda event: None


@pytest.fixture(scope="module")
def circuit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("circuit")
    recipe = toys.finetuning(["train.steps=4"], task=str(toys.task_file(folder, "sentiment")))
    finetune_run(recipe, folder / "run")
    return folder / "run"


def test_law_a_model_on_another_task_is_its_evaluation(circuit: Path) -> None:
    model, task = load(circuit), load_task("toy-sentiment")
    (found,) = on_task(model, "toy-sentiment", ["test"], FEW, None)
    assert found.scores == model.evaluate(load_split(task, "test", None, limit=80))
    assert (found.run, found.split, found.rows) == (None, "test", {"test": 80})
    with pytest.raises(UserError, match="the model answers"):
        list(on_task(model, "toy-nsp", [], FEW, None))


def test_known_words_that_are_learnt_elsewhere() -> None:
    how = FEW.model_copy(update={"learnt_from": "toy-sentiment"})
    found = list(on_task(None, "toy-sentiment", ["test", "dev"], how, None))
    assert [(one.run, one.split) for one in found] == [
        (f"{name}, learnt from toy-sentiment", split) for split in ("test", "dev")
        for name in ("majority", "bag of words")
    ]  # fmt: skip
    assert all(one.rows["train"] > 5_000 for one in found)
    with pytest.raises(UserError, match="have not the same labels"):
        list(on_task(None, "toy-nsp", [], how, None))
    with pytest.raises(UserError, match="either init or"):
        list(on_task(None, "toy-sentiment", [], FEW, None))


def test_law_unread_sentences_were_not_read() -> None:
    found = unread(FEW)
    assert len(found) > FEW.sentences
    assert not set(found) & {one for story in toy.stories(FEW.known) for one in story}


def test_law_a_space_is_judged_on_what_it_has_not_read() -> None:
    (found,) = on_sentences(load(vaes.space()), "generated", [], FEW, None)
    assert found.split == "test" and found.rows["test"] == 12
    assert {"exact_match", "token_accuracy_greedy", "ppl_word", "active_units", "rec", "kl"} <= found.scores.keys()
    assert found.scores["neg_elbo"] == pytest.approx(found.scores["rec"] + found.scores["kl"])


def test_known_a_space_that_knows_its_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "unread", lambda how: tellers.SENTENCES)
    how = FEW.model_copy(update={"sentences": len(tellers.SENTENCES)})
    (found,) = on_sentences(tellers.space(), "generated", [], how, None)
    assert found.scores["exact_match"] == 1.0 and found.scores["token_accuracy_greedy"] == 1.0
    with pytest.raises(UserError, match="no two sentences of at most 1 words"):
        list(on_sentences(tellers.space(), "generated", [], how.model_copy(update={"max_words": 1}), None))
    with pytest.raises(UserError, match="which space"):
        list(on_sentences(None, "generated", [], how, None))


def test_smoke_a_queue_of_both_ways(circuit: Path, tmp_path: Path) -> None:
    few = {"sentences": 4, "draws": 2, "known": 100, "max_words": 30, "limit": 20}
    runs = [
        {"name": "model", "how": "as-is", "init": "it", "tasks": ["toy-sentiment"], "judging": few},
        {
            "name": "words",
            "how": "as-is",
            "tasks": ["toy-sentiment"],
            "judging": few | {"learnt_from": "toy-sentiment"},
        },
        {"name": "space", "how": "sentences", "init": "other", "tasks": ["generated"], "judging": few},
    ]
    wanted = build(Queue, {"title": "Both", "runs": runs}, "queue.toml")
    bench = Bench(tmp_path / "runs", tmp_path / "lines.jsonl", None, {"it": str(circuit), "other": str(vaes.space())})
    assert queue.work(wanted, bench, quiet) == 3
    assert queue.work(wanted, bench, quiet) == 0
    found = {line.run: line for line in lines.read(bench.results)}
    assert found.keys() == {
        "model", "majority, learnt from toy-sentiment", "bag of words, learnt from toy-sentiment", "space",
    }  # fmt: skip
    assert found["model"].rows == {"dev": 20} and found["space"].rows["test"] == 4
