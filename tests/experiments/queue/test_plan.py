"""What a queue is: names, scales, hashes that do not depend on the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.experiments.queue.plan import Bench, at_scale, hash_of, jobs, queue_names, read_queue, recipe_of
from psitext.experiments.runs.recipes import PretrainRecipe

BENCH = Bench(Path("out"), Path("lines"), None, {})


def test_known_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {name: Path(name) for name in ("rac/figure-4", "rac/figure-4-full", "rac/rt")}
    monkeypatch.setattr("psitext.experiments.queue.plan.queue_names", lambda: there)
    assert at_scale("rac/figure-4", "mini") == "rac/figure-4"
    assert at_scale("rac/figure-4", "full") == "rac/figure-4-full"
    assert at_scale("own.toml", "full") == "own.toml"
    with pytest.raises(UserError, match=r"rac/rt has one scale only; .* are there for: rac/figure-4"):
        at_scale("rac/rt", "full")


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
