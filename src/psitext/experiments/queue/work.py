"""Work on a queue: do what is missing, never what is done.

Every finished run appends one result line for each split; a run whose lines are there is skipped, one that was
stopped goes on from its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from psitext.errors import UserError
from psitext.experiments.queue.plan import Bench, Job, Queue, hash_of, jobs, with_own_models
from psitext.experiments.queue.ways import WAYS
from psitext.experiments.results import lines
from psitext.experiments.runs import ranks
from psitext.experiments.sweep.work import missing
from psitext.model.shipped import located
from psitext.train.loop import Hook

# Ways that start from a model.
STARTED = (
    "finetune", "frozen", "space", "control", "respond", "few-labels", "few-labels-tuned", "plane", "reconstruction",
    "lift", "kets", "bag-of-words", "as-is", "sentences", "space-as-is",
)  # fmt: skip
SHARED = ("pretrain", "finetune", "space", "respond")  # ways in which several processes train one model
Show = Callable[[str], AbstractContextManager[Hook]]


def work(queue: Queue, bench: Bench, show: Show, only: Sequence[str] = ()) -> int:
    """Do what is missing; returns how many runs were done now. ``only`` keeps the variants that it names, where
    it names one, and likewise the tasks.

    Several processes (under ``torchrun`` or ``accelerate launch``) do the runs that they can share, and leave the rest.
    """
    done = 0
    wanted = _wanted(queue, only)
    for job in wanted:
        _check_init(job, with_own_models(bench, queue, job))  # of all of them before the first, which may take hours
    together = ranks.place()[1] > 1
    for job in wanted:
        if ranks.agreed(_is_done(job, bench)) or (together and job.variant.how not in SHARED):
            continue
        with show(job.name) as hook:
            found = list(WAYS[job.variant.how](job, with_own_models(bench, queue, job), hook))
        if found and ranks.is_main():
            lines.append(bench.results, *found)  # at once: a run of which some lines are there counts as done
        done += 1
    return done


def left(queue: Queue, bench: Bench, only: Sequence[str] = ()) -> list[Job]:
    """What is not done: after ``work`` by several processes, the runs that are work for one."""
    return [job for job in _wanted(queue, only) if not _is_done(job, bench)]


def _wanted(queue: Queue, only: Sequence[str]) -> list[Job]:
    """The jobs of the variants that are named, or of all, on the tasks that are named, or on all."""
    every = list(jobs(queue))
    variants, tasks = {job.variant.name for job in every}, {job.task for job in every}
    variants, tasks = variants & set(only) or variants, tasks & set(only) or tasks
    return [job for job in every if job.variant.name in variants and job.task in tasks]


def _check_init(job: Job, bench: Bench) -> None:
    """Refuse a run still to do whose model nobody has named: what its queue calls it is no place of a model."""
    for init in job.variant.models:
        named = init in bench.inits or init.startswith("hf:") or located(init).exists()
        if named or job.variant.how not in STARTED or _is_done(job, bench):
            continue
        raise UserError(
            f"{job.variant.name!r} needs a model that the queue calls {init!r}; say which one it is with "
            f"--init {init}=<a run, a model folder, or hf:...>"
        )


def _is_done(job: Job, bench: Bench) -> bool:
    if job.variant.sweep is not None:
        return not missing(job.variant.sweep, bench.results)
    if not bench.results.exists():
        return False
    key = (job.task, job.seed, hash_of(job))  # the recipe holds the variant's name
    return any((line.task, line.seed, line.recipe) == key for line in lines.read(bench.results))
