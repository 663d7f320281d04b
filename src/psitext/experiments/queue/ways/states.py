"""States looked at: with few labels, in a plane, lifted, as kets, as circuits, and models as they are."""

from __future__ import annotations

import time
from collections.abc import Iterator

from psitext.experiments.lowresource import fewlabels, plane, tuned
from psitext.experiments.queue.lifting import lifts
from psitext.experiments.queue.plan import Bench, Job
from psitext.experiments.queue.ways.sharing import finding, finetuning, forget, given, line
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.shipping import judging
from psitext.experiments.states.bonds import bonds
from psitext.text.tasks import load_task
from psitext.train.loop import Hook


def few_labels(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A classifier on few states of an encoder that stays as it is, over the number of labels."""
    began = time.monotonic()
    found = fewlabels.few_labels(finetuning(job, bench), job.variant.few, bench.data_dir)
    yield finding(job, "test", found, began)


def few_labels_tuned(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """An encoder fine-tuned whole on few labels."""
    began = time.monotonic()
    out = bench.out / job.name
    found = tuned.few_labels_tuned(finetuning(job, bench), job.variant.few, bench.data_dir, out, hook)
    yield finding(job, "test", found, began)


def in_a_plane(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A picture of states, and how well labels are told apart."""
    began = time.monotonic()
    found = plane.plane(finetuning(job, bench), job.variant.plane, bench.data_dir)
    yield finding(job, job.variant.plane.split, found, began)


def lifted(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A real BERT beside both complex encoders that compute its function."""
    began = time.monotonic()
    for row in lifts(given(job, bench), load_task(job.task), job.variant.lifting, bench.data_dir):
        yield line(job, "dev", row.metrics, row.rows, time.monotonic() - began, row.notes, run=row.name)
        began = time.monotonic()


def kets(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Kets of a model before and after it is fine-tuned, and what matrix-product states of them keep."""
    began, folder = time.monotonic(), RunFolder(bench.out / job.name)
    found = bonds(finetuning(job, bench), job.variant.kets, folder.path, bench.data_dir, [hook])
    yield finding(job, next(iter(found.rows)), found, began)
    forget(folder)


def appendix_a(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Circuit against network, exactly and by counts."""
    from psitext.quantum.appendix_a import table  # needs qiskit

    began = time.monotonic()
    for row in table():
        found = {name.replace("_", " "): value for name, value in row.record().items() if value is not None}
        deviation, shots = found.pop("std"), found.pop("shots", None)
        how = "exactly" if shots is None else f"{shots:,} shots"
        scores = {name: float(str(value)) for name, value in found.items()}
        yield line(job, "dev", scores, {}, time.monotonic() - began, {}, run=f"weights of {deviation:g}, {how}")


def as_is(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A finished model, as it is, on a task or on sentences."""
    began, model = time.monotonic(), None if job.variant.init is None else given(job, bench)
    way = judging.WAYS[job.variant.how]
    for one in way(model, job.task, job.variant.splits, job.variant.judging, bench.data_dir):
        yield line(job, one.split, one.scores, one.rows, time.monotonic() - began, one.notes, run=one.run)
