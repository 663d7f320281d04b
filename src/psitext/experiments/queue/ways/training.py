"""Models that are trained, judged, and left in the run's folder: pre-trained, fine-tuned, and circuits made smaller."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any

from psitext.errors import UserError
from psitext.experiments.finetune import finetune_run, judged_on
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.queue.plan import Bench, Job, recipe_of
from psitext.experiments.queue.ways.sharing import finetuning, forget, line, read
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import PretrainRecipe
from psitext.experiments.runs.validation import dev_curve
from psitext.experiments.sweep.work import work as sweep_work
from psitext.experiments.tensors import comparing
from psitext.model.mps.reading import Metric
from psitext.text.tasks import load_task
from psitext.train.loop import Hook

METRICS: tuple[Metric, ...] = ("paper", "data")


def pretrained(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A pre-training, with its curve of losses on held-out text; the model stays in the run's folder."""
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, PretrainRecipe)
    folder = RunFolder(bench.out / job.name)
    pretrain_run(recipe, folder.path, [hook])
    result = folder.result()
    curve = dev_curve(folder.events())
    if not curve:
        raise UserError(f"{job.name} has held no text out, so there is nothing to compare; its corpus is too small")
    notes = {"curve": curve, "parameters": result["facts"]["parameters"], "steps": result["counters"]["step"]}
    last = {name: value for name, value in curve[-1].items() if name.startswith("loss ")}
    rows = {"train": int(result["counters"]["tokens"])}
    yield line(job, "dev", last, rows, result["counters"]["seconds"], notes)
    forget(folder)


def finetuned(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A model fine-tuned on a task, with its scores on dev and on what the variant names besides."""
    recipe = finetuning(job, bench)
    folder = RunFolder(bench.out / job.name)
    model = finetune_run(recipe, folder.path, [hook])
    result = folder.result()
    notes = {key: result[key] for key in ("parameters", "truncated", "notes") if result.get(key)}
    notes |= {"steps": result["counters"]["step"], "best step": result["counters"]["best_step"]}
    notes |= {key: value for key, value in result.get("calibration", {}).items() if key != "bins"}
    scores, rows = dict(result["scores"]), dict(result["rows"])
    more = [split for split in job.variant.splits if split not in scores]
    for split, examples in read(job, bench, more).items():
        scores[split], rows[split] = model.evaluate(examples), len(examples)
    for split, found in scores.items():
        yield line(job, split, found, rows, result["counters"]["seconds"], notes)
    forget(folder)


def compressed(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A circuit, smaller ones that are made of it in both metrics, and some that are trained at those sizes."""
    recipe = finetuning(job, bench)
    assert recipe.encoder is not None
    bonds = [recipe.encoder.tree()["bond"], *job.variant.sizes]
    models, seconds = [], []
    for bond in bonds:
        began, folder = time.monotonic(), RunFolder(bench.out / job.name / f"chi-{bond}")
        encoder = recipe.encoder.model_copy(update={"bond": bond})
        models.append(finetune_run(recipe.model_copy(update={"encoder": encoder}), folder.path, [hook]))
        seconds.append(time.monotonic() - began)
        forget(folder)
    splits = read(job, bench, job.variant.splits or judged_on(load_task(job.task)))
    trained = {f"trained, chi = {bond}": model for bond, model in zip(job.variant.sizes, models[1:], strict=True)}
    smaller, names = [], []
    for size, metric in itertools.product(job.variant.sizes, METRICS):
        began = time.monotonic()
        smaller.append(models[0].compress(size, metric=metric))
        names.append(f"compressed to {smaller[-1].bond}, {metric} metric")
        seconds.insert(len(names), time.monotonic() - began)
    table = comparing.rows(models[0], smaller, splits, trained)
    for row, run, spent in zip(table, (job.variant.name, *names, *trained), seconds, strict=True):
        for split in splits:
            yield line(job, split, _of_split(row, split), {}, spent, {}, run=run)


def _of_split(row: Mapping[str, Any], split: str) -> dict[str, float]:
    """The numbers in a row of a comparison that are of no split or of this one, its score first."""
    own = {key.removeprefix(f"{split}: "): value for key, value in row.items() if key.startswith(f"{split}: ")}
    other = {key: value for key, value in row.items() if ":" not in key and key != "model"}
    return {key: float(value) for key, value in {**dict(reversed(own.items())), **other}.items() if value != ""}


def swept(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A sweep, whose pieces leave their own lines."""
    assert job.variant.sweep is not None
    sweep_work(job.variant.sweep, bench.results, bench.data_dir, bench.jobs)
    yield from ()
