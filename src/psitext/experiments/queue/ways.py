"""The ways of a queue: how a job is done, and the result lines that it leaves."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from psitext.baselines import bag_of_words, frozen
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.autoencode import autoencode_run
from psitext.experiments.control.table import row as control_row
from psitext.experiments.dialog.ways import row as dialog_row
from psitext.experiments.finetune import finetune_run, judged_on, limited, starting_model, texts_of
from psitext.experiments.lowresource import fewlabels, injection, plane, tuned
from psitext.experiments.lowresource.fewlabels import Finding
from psitext.experiments.pretrain import make_tokenizer, pretrain_run
from psitext.experiments.queue.lifting import lifts
from psitext.experiments.queue.likelihood import likely
from psitext.experiments.queue.plan import Bench, Job, hash_of, recipe_of
from psitext.experiments.queue.rewriting import rewritten
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs import ranks
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import (
    AutoencodeRecipe,
    FinetuneRecipe,
    PretrainRecipe,
    RespondRecipe,
)
from psitext.experiments.runs.validation import dev_curve
from psitext.experiments.shipping import judging
from psitext.experiments.states.bonds import bonds
from psitext.experiments.sweep.work import work as sweep_work
from psitext.experiments.tensors import comparing
from psitext.model import Model, load
from psitext.model.mps.reading import Metric
from psitext.score import metrics
from psitext.text.examples import Example, Task
from psitext.text.supervised import encode_examples
from psitext.text.tasks import load_split, load_task, read_split
from psitext.train.loop import Hook

METRICS: tuple[Metric, ...] = ("paper", "data")


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


def _space(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
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
    yield _line(job, "test", found.metrics, rows, seconds, notes)
    _forget(folder)


def _space_as_is(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A finished space or language model, judged likewise."""
    began, folder = time.monotonic(), bench.out / job.name / "bounds"
    found = likely(_given(job, bench), job.task, job.variant.bound, bench.data_dir, folder)
    yield _line(job, "test", found.metrics, found.rows, time.monotonic() - began, found.notes)


def _control(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Sentences written with a label, by a space's generator or a rival, judged."""
    how, space = job.variant.control, bench.inits.get(str(job.variant.init), str(job.variant.init))
    if how.judge is not None:
        how = how.model_copy(update={"judge": bench.inits.get(how.judge, how.judge)})
    found = control_row(how, job.task, space, bench.data_dir, job.seed, hook)
    yield _line(job, "dev", found.metrics, found.rows, found.seconds, found.notes)


def _respond(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Responses to dialogues, trained and tested."""
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, RespondRecipe)
    folder = RunFolder(bench.out / job.name)
    done = dialog_row(recipe, job.variant.dialog, folder.path, bench.inits, [hook])
    yield _line(job, "test", done.metrics, done.rows, done.seconds, done.notes)
    _forget(folder)


def _finetune(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    recipe = _finetuning(job, bench)
    folder = RunFolder(bench.out / job.name)
    model = finetune_run(recipe, folder.path, [hook])
    result = folder.result()
    notes = {key: result[key] for key in ("parameters", "truncated", "notes") if result.get(key)}
    notes |= {"steps": result["counters"]["step"], "best step": result["counters"]["best_step"]}
    notes |= {key: value for key, value in result.get("calibration", {}).items() if key != "bins"}
    scores, rows = dict(result["scores"]), dict(result["rows"])
    more = [split for split in job.variant.splits if split not in scores]
    for split, examples in _read(job, bench, more).items():
        scores[split], rows[split] = model.evaluate(examples), len(examples)
    for split, found in scores.items():
        yield _line(job, split, found, rows, result["counters"]["seconds"], notes)
    _forget(folder)


def _compress(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A circuit, smaller ones that are made of it in both metrics, and some that are trained at those sizes."""
    recipe = _finetuning(job, bench)
    assert recipe.encoder is not None
    bonds = [recipe.encoder.tree()["bond"], *job.variant.sizes]
    models, seconds = [], []
    for bond in bonds:
        began, folder = time.monotonic(), RunFolder(bench.out / job.name / f"chi-{bond}")
        encoder = recipe.encoder.model_copy(update={"bond": bond})
        models.append(finetune_run(recipe.model_copy(update={"encoder": encoder}), folder.path, [hook]))
        seconds.append(time.monotonic() - began)
        _forget(folder)
    splits = _read(job, bench, job.variant.splits or judged_on(load_task(job.task)))
    trained = {f"trained, chi = {bond}": model for bond, model in zip(job.variant.sizes, models[1:], strict=True)}
    spent = dict(zip((job.variant.name, *trained), seconds, strict=True))
    for size, metric in itertools.product(job.variant.sizes, METRICS):
        began, smaller = time.monotonic(), models[0].compress(size, metric=metric)
        name = f"compressed to {smaller.bond}, {metric} metric"
        table = comparing.rows(models[0], smaller, splits, trained)
        spent[name] = time.monotonic() - began
        for row, run in zip(table, (job.variant.name, name, *trained), strict=True):
            for split in splits if run in spent else ():
                yield _line(job, split, _of_split(row, split), {}, spent[run], {}, run=run)
            spent.pop(run, None)
        trained = {}


def _of_split(row: Mapping[str, Any], split: str) -> dict[str, float]:
    """The numbers in a row of a comparison that are of no split or of this one, its score first."""
    own = {key.removeprefix(f"{split}: "): value for key, value in row.items() if key.startswith(f"{split}: ")}
    other = {key: value for key, value in row.items() if ":" not in key and key != "model"}
    return {key: float(value) for key, value in {**dict(reversed(own.items())), **other}.items() if value != ""}


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


def _bag_of_words(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Logistic regression on the very words that the recipe's model reads; then on pairs of neighbours, too."""
    recipe = _finetuning(job, bench)
    task, train, others = _splits(job, bench)
    tokenizer = make_tokenizer(recipe.tokenizer, lambda: texts_of(train))
    text = recipe.text
    if recipe.encoder is not None:
        text = text.model_copy(update={"max_len": min(text.max_len, recipe.encoder.max_len)})

    def read(examples: Sequence[Example]) -> list[Example]:
        source = encode_examples(examples, task, tokenizer, text)
        parts = (source.ids[first + 1 : last - 1] for first, last in pairwise(source.offsets.tolist()))
        return [
            replace(example, text=" ".join(tokenizer.tokens(part)))
            for example, part in zip(examples, parts, strict=True)
        ]

    inside, outside = read(train), {split: read(examples) for split, examples in others.items()}
    for longest, name in ((1, job.variant.name), (2, f"{job.variant.name}, and pairs")):
        began = time.monotonic()
        fitted = bag_of_words.fit(inside, task.labels or None, cut=str.split, longest=longest)
        for split, examples in outside.items():
            predicted = evaluation.numbers(task, fitted.predict(examples))
            scores = metrics.evaluate(task.metrics, predicted, evaluation.gold(task, examples))
            rows = {"train": len(train), split: len(examples)}
            notes = {"strength": fitted.strength}
            yield _line(job, split, scores, rows, time.monotonic() - began, notes, run=name)


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


def _few_labels(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A classifier on few states of an encoder that stays as it is, over the number of labels."""
    began = time.monotonic()
    found = fewlabels.few_labels(_finetuning(job, bench), job.variant.few, bench.data_dir)
    yield _found(job, "test", found, began)


def _few_labels_tuned(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """An encoder fine-tuned whole on few labels."""
    began = time.monotonic()
    out = bench.out / job.name
    found = tuned.few_labels_tuned(_finetuning(job, bench), job.variant.few, bench.data_dir, out, hook)
    yield _found(job, "test", found, began)


def _plane(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A picture of states, and how well labels are told apart."""
    began = time.monotonic()
    found = plane.plane(_finetuning(job, bench), job.variant.plane, bench.data_dir)
    yield _found(job, job.variant.plane.split, found, began)


def _reconstruction(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Sentences written again by a finished space."""
    began = time.monotonic()
    found = rewritten(_given(job, bench), job.task, job.variant.rewriting, bench.data_dir)
    yield _line(job, "test", found.metrics, found.rows, time.monotonic() - began, found.notes)


def _lift(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A real BERT beside both complex encoders that compute its function."""
    began = time.monotonic()
    for row in lifts(_given(job, bench), load_task(job.task), job.variant.lifting, bench.data_dir):
        yield _line(job, "dev", row.metrics, row.rows, time.monotonic() - began, row.notes, run=row.name)
        began = time.monotonic()


def _kets(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Kets of a model before and after it is fine-tuned, and what matrix-product states of them keep."""
    began, folder = time.monotonic(), RunFolder(bench.out / job.name)
    found = bonds(_finetuning(job, bench), job.variant.kets, folder.path, bench.data_dir, [hook])
    yield _found(job, next(iter(found.rows)), found, began)
    _forget(folder)


def _judged(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A finished model, as it is, on a task or on sentences."""
    began, model = time.monotonic(), None if job.variant.init is None else _given(job, bench)
    way = judging.WAYS[job.variant.how]
    for one in way(model, job.task, job.variant.splits, job.variant.judging, bench.data_dir):
        yield _line(job, one.split, one.scores, one.rows, time.monotonic() - began, one.notes, run=one.run)


def _given(job: Job, bench: Bench) -> Model:
    """The model that a job starts from, as it is."""
    return load(bench.inits.get(str(job.variant.init), str(job.variant.init)))


def _found(job: Job, split: str, found: Finding, began: float) -> ResultLine:
    return _line(job, split, found.scores, found.rows, time.monotonic() - began, found.notes)


WAYS: dict[str, Callable[[Job, Bench, Hook], Iterator[ResultLine]]] = {
    "finetune": _finetune,
    "frozen": _frozen,
    "baselines": _baselines,
    "bag-of-words": _bag_of_words,
    "compress": _compress,
    "discocat": _discocat,
    "pretrain": _pretrain,
    "space": _space,
    "space-as-is": _space_as_is,
    "control": _control,
    "respond": _respond,
    "appendix-a": _appendix_a,
    "sweep": _sweep,
    "few-labels": _few_labels,
    "few-labels-tuned": _few_labels_tuned,
    "plane": _plane,
    "reconstruction": _reconstruction,
    "lift": _lift,
    "kets": _kets,
    **dict.fromkeys(judging.WAYS, _judged),
}


def _finetuning(job: Job, bench: Bench) -> FinetuneRecipe:
    recipe = recipe_of(job, bench)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def _forget(folder: RunFolder) -> None:
    """Checkpoints of a model that is saved; of a queue of many runs they would fill the disk."""
    ranks.wait()  # until no process reads them
    shutil.rmtree(folder.path / "checkpoints", ignore_errors=True)


def _splits(job: Job, bench: Bench) -> tuple[Task, list[Example], dict[str, list[Example]]]:
    task = load_task(job.task)
    train = limited(read_split(task, "train", bench.data_dir).examples, _finetuning(job, bench).data)
    return task, train, _read(job, bench, job.variant.splits or judged_on(task))


def _read(job: Job, bench: Bench, splits: Sequence[str]) -> dict[str, list[Example]]:
    task = load_task(job.task)
    return {name: load_split(task, name, bench.data_dir) for name in splits}


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
