"""What a queue is: names, scales, hashes that do not depend on the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from psitext.config import build
from psitext.experiments.queue.likelihood import Bound
from psitext.experiments.queue.plan import (
    Bench,
    Job,
    Queue,
    hash_of,
    jobs,
    queue_names,
    read_queue,
    recipe_of,
    with_own_models,
)
from psitext.experiments.runs.recipes import PretrainRecipe

BENCH = Bench(Path("out"), Path("lines"), None, {})


@pytest.mark.parametrize("name", queue_names())
def test_law_every_run_has_a_hash_of_its_own_wherever_it_is_run(name: str) -> None:
    found = list(jobs(read_queue(name)))
    keys = {(job.task, job.seed, hash_of(job)) for job in found}
    assert len(keys) == len(found)
    assert {(job.task, job.seed, hash_of(job)) for job in jobs(read_queue(name))} == keys


def test_law_a_pretraining_reads_the_data_folder() -> None:
    job = next(jobs(read_queue("qbert/figure-3")))
    bare, placed = recipe_of(job, BENCH), recipe_of(job, replace(BENCH, data_dir=Path("texts")))
    assert isinstance(bare, PretrainRecipe) and isinstance(placed, PretrainRecipe)
    assert {part.dir for part in bare.corpus} == {None}
    assert {part.dir for part in placed.corpus} == {"texts"}
    assert bare.tree() | {"corpus": ()} == placed.tree() | {"corpus": ()}


def test_law_a_run_of_the_queue_is_a_model_by_its_name() -> None:
    first = {"name": "first", "how": "space", "recipe": "gpt2-mini", "tasks": ["snli", "ptb"], "seeds": [3, 4]}
    again = {"name": "again", "how": "space", "init": "first", "tasks": ["ptb"], "seeds": [4, 5]}
    judged = {"name": "judged", "how": "reconstruction", "init": "again", "tasks": ["ptb"]}
    wanted = build(Queue, {"title": "Chain", "runs": [first, again, judged]}, "queue.toml")
    found = {job.name: with_own_models(BENCH, wanted, job).inits for job in jobs(wanted)}
    assert found["again/ptb/seed-4"] == {"first": "out/first/ptb/seed-4", "again": "out/again/ptb/seed-4"}
    assert found["again/ptb/seed-5"]["first"] == "out/first/ptb/seed-3", "without that seed, its first"
    assert found["judged/ptb/seed-0"]["again"] == "out/again/ptb/seed-4"
    told = with_own_models(replace(BENCH, inits={"first": "elsewhere"}), wanted, next(iter(jobs(wanted))))
    assert told.inits["first"] == "elsewhere"


def test_law_a_bound_that_is_not_the_usual_one_is_another_run() -> None:
    job = next(jobs(read_queue("optimus/table-1")))
    usual, fewer = (job.variant.model_copy(update={"bound": Bound(draws=draws)}) for draws in (100, 10))
    assert hash_of(Job(usual, job.task, job.seed)) == hash_of(job) != hash_of(Job(fewer, job.task, job.seed))


def test_law_a_shipped_model_keeps_its_name_beside_a_run_that_is_called_like_it() -> None:
    wanted = read_queue("bert/adaptation")
    bench = Bench(Path("runs"), Path("results.jsonl"), None, {})
    for job in jobs(wanted):
        inits = with_own_models(bench, wanted, job).inits
        assert "bert-tiny" not in inits and inits["reads the reviews"].startswith("runs/")
