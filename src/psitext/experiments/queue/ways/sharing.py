"""What the ways of a queue share: a job's recipe, model and rows, and the result line that it leaves."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from typing import Any

from psitext.experiments.finetune import judged_on, limited
from psitext.experiments.lowresource.fewlabels import Finding
from psitext.experiments.queue.plan import Bench, Job, hash_of, recipe_of
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs import ranks
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.model import Model, load
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_split, load_task, read_split


def finetuning(job: Job, bench: Bench) -> FinetuneRecipe:
    """The complete recipe of a job that answers a task."""
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def given(job: Job, bench: Bench) -> Model:
    """The model that a job starts from, as it is."""
    return load(bench.inits.get(str(job.variant.init), str(job.variant.init)))


def splits(job: Job, bench: Bench) -> tuple[Task, list[Example], dict[str, list[Example]]]:
    """A job's task, the rows that it trains on, and those that judge it."""
    task = load_task(job.task)
    train = limited(read_split(task, "train", bench.data_dir).examples, finetuning(job, bench).data)
    return task, train, read(job, bench, job.variant.splits or judged_on(task))


def read(job: Job, bench: Bench, splits: Sequence[str]) -> dict[str, list[Example]]:
    """Splits of a job's task by name."""
    task = load_task(job.task)
    return {name: load_split(task, name, bench.data_dir) for name in splits}


def forget(folder: RunFolder) -> None:
    """Checkpoints of a model that is saved; of a queue of many runs they would fill the disk."""
    ranks.wait()  # until no process reads them
    shutil.rmtree(folder.path / "checkpoints", ignore_errors=True)


def line(
    job: Job,
    split: str,
    scores: Mapping[str, float],
    rows: Mapping[str, int],
    seconds: float,
    notes: Mapping[str, Any],
    run: str | None = None,
) -> ResultLine:
    """The result line of a job on a split; ``run`` names it where the variant does not."""
    return ResultLine(
        run=run or job.variant.name,
        task=job.task,
        split=split,
        metrics={name: value for name, value in scores.items() if name != "collapsed"},
        collapsed=bool(scores.get("collapsed")),
        recipe=hash_of(job),
        seed=job.seed,
        rows=dict(rows),
        seconds=round(seconds, 1),
        threads=stamp.threads(),
        commit=stamp.commit(),
        versions=stamp.versions(),
        finished=lines.now(),
        notes=dict(notes),
    )


def finding(job: Job, split: str, found: Finding, began: float) -> ResultLine:
    """The result line of a finding."""
    return line(job, split, found.scores, found.rows, time.monotonic() - began, found.notes)
