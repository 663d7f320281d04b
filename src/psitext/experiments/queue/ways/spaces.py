"""Sentence spaces: how likely they make a text, what comes back, what can be written from them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from psitext.experiments.autoencode import autoencode_run
from psitext.experiments.control.table import row as control_row
from psitext.experiments.dialog.ways import row as dialog_row
from psitext.experiments.lowresource import injection
from psitext.experiments.queue.likelihood import likely
from psitext.experiments.queue.plan import Bench, Job, recipe_of
from psitext.experiments.queue.rewriting import rewritten
from psitext.experiments.queue.ways.sharing import forget, given, line
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import AutoencodeRecipe, RespondRecipe
from psitext.train.loop import Hook


def space(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A sentence space or language model, trained on a corpus and judged on its test text."""
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, AutoencodeRecipe)
    folder = RunFolder(bench.out / job.name)
    model = autoencode_run(recipe, folder.path, [hook])
    result, began = folder.result(), time.monotonic()
    limits = recipe.sentences.model_copy(update={"limit": None})
    found = likely(model, job.task, job.variant.bound, bench.data_dir, folder.path / "bounds", limits)
    notes = {**found.notes, "steps": result["counters"]["step"], "curve": injection.curve(folder.events())}
    rows = {"train": int(result["facts"]["sentences"]["kept"]), **found.rows}
    seconds = result["counters"]["seconds"] + time.monotonic() - began
    yield line(job, "test", found.metrics, rows, seconds, notes)
    forget(folder)


def space_as_is(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A finished space or language model, judged likewise."""
    began, folder = time.monotonic(), bench.out / job.name / "bounds"
    found = likely(given(job, bench), job.task, job.variant.bound, bench.data_dir, folder)
    yield line(job, "test", found.metrics, found.rows, time.monotonic() - began, found.notes)


def reconstruction(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Sentences written again by a finished space."""
    began = time.monotonic()
    found = rewritten(given(job, bench), job.task, job.variant.rewriting, bench.data_dir)
    yield line(job, "test", found.metrics, found.rows, time.monotonic() - began, found.notes)


def controlled(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Sentences written with a label, by a space's generator or a rival, judged."""
    how, space = job.variant.control, bench.inits.get(str(job.variant.init), str(job.variant.init))
    if how.judge is not None:
        how = how.model_copy(update={"judge": bench.inits.get(how.judge, how.judge)})
    found = control_row(how, job.task, space, bench.data_dir, job.seed, hook)
    yield line(job, "dev", found.metrics, found.rows, found.seconds, found.notes)


def responses(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Responses to dialogues, trained and tested."""
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, RespondRecipe)
    folder = RunFolder(bench.out / job.name)
    done = dialog_row(recipe, job.variant.dialog, folder.path, bench.inits, [hook])
    yield line(job, "test", done.metrics, done.rows, done.seconds, done.notes)
    forget(folder)
