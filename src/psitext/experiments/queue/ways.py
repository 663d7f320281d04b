"""The ways of a queue: how a job is done, and the result lines that it leaves."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from psitext.baselines import frozen
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.finetune import finetune_run, judged_on, limited, starting_model
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.queue.plan import Bench, Job, hash_of, recipe_of
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, PretrainRecipe
from psitext.experiments.sweep.work import work as sweep_work
from psitext.score import metrics
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_split, load_task, read_split
from psitext.train.loop import Hook


def _pretrain(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
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
    yield _line(job, "dev", last, rows, result["counters"]["seconds"], notes)
    _forget(folder)


def dev_curve(events: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Losses on dev by what they are of, with the tokens trained on until then."""
    points, tokens = [], 0
    for event in events:
        tokens = event.get("tokens", tokens)
        if event["kind"] == "dev":
            losses = {key.replace("_", " "): event[key] for key in event if key.startswith("loss_")}
            points.append({"tokens": tokens, **losses})
    return points


def _finetune(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    recipe = _finetuning(job, bench)
    folder = RunFolder(bench.out / job.name)
    finetune_run(recipe, folder.path, [hook])
    result = folder.result()
    notes = {key: result[key] for key in ("parameters", "truncated", "notes") if result.get(key)}
    notes |= {"steps": result["counters"]["step"], "best step": result["counters"]["best_step"]}
    notes |= {key: value for key, value in result.get("calibration", {}).items() if key != "bins"}
    for split, scores in result["scores"].items():
        yield _line(job, split, scores, result["rows"], result["counters"]["seconds"], notes)
    _forget(folder)


def _frozen(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A matched head on the states of the encoder as it comes."""
    began = time.monotonic()
    recipe = _finetuning(job, bench)
    task, train, dev = _splits(job, bench)
    model = starting_model(recipe)
    inside = _vectors(model, train)
    for split, examples in dev.items():
        outside = _vectors(model, examples)
        if task.kind == "regression":
            predicted: np.ndarray[Any, Any] = frozen.regress(inside, evaluation.gold(task, train), outside)
        else:
            predicted = frozen.classify(inside, evaluation.gold(task, train), outside)
        scores = metrics.evaluate(task.metrics, predicted, evaluation.gold(task, examples))
        scores["collapsed"] = float(metrics.collapsed(predicted))
        rows = {"train": len(train), split: len(examples)}
        yield _line(job, split, scores, rows, time.monotonic() - began, {})


def _baselines(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Majority and bag of words."""
    began = time.monotonic()
    task, train, dev = _splits(job, bench)
    for row in evaluation.baseline_scores(task, train, dev):
        scores = {name: float(row[name]) for name in (*task.metrics, "collapsed")}
        rows = {"train": len(train), row["split"]: len(dev[row["split"]])}
        yield _line(job, row["split"], scores, rows, time.monotonic() - began, {}, run=row["baseline"])


def _discocat(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A DisCoCat, trained with CAdamW."""
    began = time.monotonic()
    task, train, dev = _splits(job, bench)
    found = evaluation.discocat_scores(task, train, dev, job.variant.discocat, job.seed, [hook])
    seconds = time.monotonic() - began
    for split, (scores, reach) in found.items():
        rows = {"train": len(train), split: len(dev[split])}
        yield _line(job, split, scores, rows, seconds, reach)


def _appendix_a(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Circuit against network, exactly and by counts."""
    from psitext.quantum.appendix_a import table  # needs qiskit

    began = time.monotonic()
    for row in table():
        found = {name.replace("_", " "): value for name, value in row.record().items() if value is not None}
        deviation, shots = found.pop("std"), found.pop("shots", None)
        how = "exactly" if shots is None else f"{shots:,} shots"
        scores = {name: float(str(value)) for name, value in found.items()}
        yield _line(job, "dev", scores, {}, time.monotonic() - began, {}, run=f"weights of {deviation:g}, {how}")


def _sweep(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A sweep, whose pieces leave their own lines."""
    assert job.variant.sweep is not None
    sweep_work(job.variant.sweep, bench.results, bench.data_dir, bench.jobs)
    yield from ()


WAYS: dict[str, Callable[[Job, Bench, Hook], Iterator[ResultLine]]] = {
    "finetune": _finetune,
    "frozen": _frozen,
    "baselines": _baselines,
    "discocat": _discocat,
    "pretrain": _pretrain,
    "appendix-a": _appendix_a,
    "sweep": _sweep,
}


def _finetuning(job: Job, bench: Bench) -> FinetuneRecipe:
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def _forget(folder: RunFolder) -> None:
    """Checkpoints of a model that is saved; of a queue of many runs they would fill the disk."""
    shutil.rmtree(folder.path / "checkpoints", ignore_errors=True)


def _splits(job: Job, bench: Bench) -> tuple[Task, list[Example], dict[str, list[Example]]]:
    task = load_task(job.task)
    train = limited(read_split(task, "train", bench.data_dir).examples, _finetuning(job, bench).data)
    names = job.variant.splits or judged_on(task)
    return task, train, {name: load_split(task, name, bench.data_dir) for name in names}


def _vectors(model: Any, examples: Sequence[Example]) -> np.ndarray[Any, Any]:
    pairs = None if examples[0].pair is None else [example.pair or "" for example in examples]
    vectors: np.ndarray[Any, Any] = model.encode([example.text for example in examples], pairs).to_real().numpy()
    return vectors


def _line(
    job: Job,
    split: str,
    scores: Mapping[str, float],
    rows: Mapping[str, int],
    seconds: float,
    notes: Mapping[str, Any],
    run: str | None = None,
) -> ResultLine:
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
