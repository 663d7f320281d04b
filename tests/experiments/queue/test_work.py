"""Queues: what is missing is run, what is done is never done again, what was stopped goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toys
from psitext.config import build, read_toml
from psitext.errors import UserError
from psitext.experiments import queue
from psitext.experiments.queue import Bench, Queue
from psitext.experiments.queue.ways import WAYS
from psitext.experiments.results import lines
from psitext.train.loop import Event

QUEUE = """
title = "A small table"
[[runs]]
name = "from nothing"
recipe = "tune.toml"
tasks = ["sentiment.toml", "scores.toml"]
seeds = [1, 2]
set = ["train.steps=4", "train.evaluate_every=4"]
limit = 50
[[runs]]
name = "frozen"
how = "frozen"
init = "small"
tasks = ["sentiment.toml", "scores.toml"]
[[runs]]
name = "baselines"
how = "baselines"
tasks = ["sentiment.toml"]
"""
SCORES = """
kind = "regression"
text = "text"
label = "label"
files.train = "scores.csv"
[carve]
dev = { of = "train", share = 0.2 }
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(tmp_path)
    toys.task_file(tmp_path, "sentiment")
    toys.table(tmp_path / "scores.csv", [("text", "label"), *toys.scored(80)])
    (tmp_path / "scores.toml").write_text(SCORES)
    (tmp_path / "tune.toml").write_text(toys.FINETUNE)
    (tmp_path / "queue.toml").write_text(QUEUE)
    return Bench(tmp_path / "runs", tmp_path / "results.jsonl", None, {"small": str(toys.pretrained())})


def small() -> Queue:
    return queue.read_queue("queue.toml")


def showing(names: list[str], hook: Callable[[Event], None] = lambda event: None) -> queue.Show:
    @contextmanager
    def show(name: str) -> Iterator[Callable[[Event], None]]:
        names.append(name)
        yield hook

    return show


def test_law_every_run_is_done_once(bench: Bench) -> None:
    names: list[str] = []
    assert queue.work(small(), bench, showing(names)) == 7
    assert len(set(names)) == len(names) == 7
    assert names[0] == "from nothing/sentiment.toml/seed-1"
    found = lines.read(bench.results)
    assert len(found) == 8  # the baselines are two
    assert {line.run for line in found} == {"from nothing", "frozen", "majority", "bag of words"}
    tuned = [line for line in found if line.run == "from nothing"]
    assert {(line.task, line.seed) for line in tuned} == {
        (task, seed) for task in ("sentiment.toml", "scores.toml") for seed in (1, 2)
    }
    assert all(line.rows["train"] == 50 and line.notes["steps"] == 4 for line in tuned)
    assert len({line.recipe for line in tuned}) == 4
    assert list(bench.out.rglob("checkpoints")) == [], "a queue of many runs would fill the disk"
    before = bench.results.read_bytes()
    assert queue.work(small(), bench, showing(names)) == 0
    assert bench.results.read_bytes() == before
    # The lines stand for the runs: without the folders nothing is done again, without a line its run is.
    kept = [line for line in before.splitlines(keepends=True) if b'"frozen"' not in line]
    bench.results.write_bytes(b"".join(kept))
    assert queue.work(small(), replace(bench, out=bench.out / "elsewhere"), showing(names)) == 2


def test_law_a_stopped_queue_goes_on(bench: Bench) -> None:
    seen: list[Event] = []

    class Enough(Exception):
        pass

    def hook(event: Event) -> None:
        seen.append(event)
        if len(seen) == 6:
            raise Enough

    with pytest.raises(Enough):
        queue.work(small(), bench, showing([], hook), ["from nothing"])
    done = len(lines.read(bench.results))
    assert done < 4
    assert queue.work(small(), bench, showing([]), ["from nothing"]) == 4 - done
    assert len(lines.read(bench.results)) == 4


def test_law_a_run_of_several_lines_is_done_whole_or_not_at_all(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WAYS["baselines"]

    def halfway(*given: Any) -> Iterator[lines.ResultLine]:
        yield next(iter(whole(*given)))
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setitem(WAYS, "baselines", halfway)
        with pytest.raises(KeyboardInterrupt):
            queue.work(small(), bench, showing([]), ["baselines"])
    assert not bench.results.exists()
    assert queue.work(small(), bench, showing([]), ["baselines"]) == 1
    assert [line.run for line in lines.read(bench.results)] == ["majority", "bag of words"]


def test_known_only_some(bench: Bench) -> None:
    names: list[str] = []
    assert queue.work(small(), bench, showing(names), ["frozen", "scores.toml"]) == 1
    assert names == ["frozen/scores.toml/seed-0"], "of a row and a task what both name"
    assert queue.work(small(), bench, showing(names), ["frozen", "baselines"]) == 2
    assert queue.work(small(), bench, showing(names), ["scores.toml"]) == 2
    assert {name.split("/")[0] for name in names} == {"from nothing", "frozen", "baselines"}


def test_known_a_changed_recipe_is_another_run(bench: Bench) -> None:
    assert queue.work(small(), bench, showing([]), ["frozen"]) == 2
    tree = read_toml(Path("queue.toml"))
    tree["runs"][1]["limit"] = 30
    changed = build(Queue, tree, "queue.toml")
    assert queue.work(changed, bench, showing([]), ["frozen"]) == 2
    found = lines.read(bench.results)
    assert sorted(line.rows["train"] for line in found if line.task == "sentiment.toml")[0] == 30
    # Where the data and the models lie is no part of what a run is.
    moved = replace(bench, data_dir=Path.cwd(), inits={"small": str(toys.pretrained() / "model")})
    assert queue.work(changed, moved, showing([]), ["frozen"]) == 0


def test_law_scores_are_those_of_the_states(bench: Bench) -> None:
    queue.work(small(), bench, showing([]), ["frozen", "baselines"])
    found = {(line.run, line.task): line for line in lines.read(bench.results)}
    majority = found["majority", "sentiment.toml"]
    assert majority.collapsed and majority.metrics["accuracy"] < 0.7
    assert found["frozen", "scores.toml"].metrics["pearson"] > 0.3
    assert not found["frozen", "sentiment.toml"].collapsed


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('title = "t"\nspeed = 3\nruns = []', "queue.toml line 2 has an unknown key 'speed'"),
        ('title = "t"\n[[runs]]\nname = "x"\ntasks = ["cola"]\nhow = "fine"', "queue.toml sets runs.0.how to 'fine'"),
        ("runs = []", "queue.toml lacks 'title'"),
    ],
)
def test_known_files_that_are_no_queue(
    content: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queue.toml").write_text(content)
    with pytest.raises(UserError, match=sentence):
        small()
    with pytest.raises(UserError, match="nothing to reproduce is called 'bert/glu'"):
        queue.read_queue("bert/glu")


def test_known_a_model_that_nobody_named(bench: Bench) -> None:
    bare = replace(bench, inits={})
    sentence = r"'frozen' needs a model that the queue calls 'small'; say which one it is with --init small="
    with pytest.raises(UserError, match=sentence):
        queue.work(small(), bare, showing([]))
    assert not bench.out.exists() and not bench.results.exists(), "before the runs that need none"
    assert queue.work(small(), bare, showing([]), ["baselines"]) == 1
    assert queue.work(small(), bench, showing([]), ["frozen"]) == 2
    assert queue.work(small(), bare, showing([]), ["frozen"]) == 0, "what is done needs no model"


def test_known_a_judge_is_a_model_to_name_too(bench: Bench) -> None:
    """Before hours of training, after which it is needed."""
    run = {"name": "answers", "how": "respond", "init": "small", "tasks": ["said"], "dialog": {"judge": "reader"}}
    wanted = build(Queue, {"title": "Styles", "runs": [run]}, "queue.toml")
    assert wanted.runs[0].models == ("small", "reader")
    with pytest.raises(UserError, match=r"'answers' needs a model that the queue calls 'reader'; .* --init reader="):
        queue.work(wanted, bench, showing([]))
