"""Queues of runs: a paper's table as one file that says which runs it needs, resumable and never done twice.

A queue (``recipes/papers/<paper>/<artefact>.toml``) lists variants; a variant is a way to fine-tune (or not to),
its tasks and its seeds. Every finished run appends one result line for each split; a run whose lines are there is
skipped, one that was stopped goes on from its last checkpoint.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from psitext.baselines import frozen
from psitext.baselines.discocat.settings import DiscocatConfig
from psitext.config import RECIPES, Config, build, read_toml, recipe_hash
from psitext.errors import UserError, near
from psitext.experiments import evaluation
from psitext.experiments.finetune import finetune_run, judged_on, limited, starting_model
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.score import metrics
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_split, load_task, read_split
from psitext.train.loop import Hook

SEEDED = ("finetune", "discocat")  # ways that answer differently under another seed
Show = Callable[[str], AbstractContextManager[Hook]]


class Variant(Config):
    """One row of a table: a way to answer tasks."""

    name: str
    how: Literal["finetune", "frozen", "baselines", "discocat"] = "finetune"
    recipe: str = "finetune"
    init: str | None = None  # a name that --init gives a model for ("minilm"), or a model as elsewhere
    tasks: tuple[str, ...]
    seeds: tuple[int, ...] = (1,)
    limit: int | None = None  # training examples
    set: tuple[str, ...] = ()  # a.b=c laid over the recipe
    discocat: DiscocatConfig = DiscocatConfig()  # settings of how = "discocat", which follows no recipe
    splits: tuple[str, ...] = ()  # to score on, but for fine-tuning; without any, the task's dev splits


class Queue(Config):
    """A table's runs and what its page says of them."""

    title: str
    note: str = ""
    command: str = ""  # what a reader types to make the lines
    runs: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a queue."""

    variant: Variant
    task: str
    seed: int

    @property
    def name(self) -> str:
        """Where its folder lies below the queue's: variant/task/seed."""
        return f"{self.variant.name}/{self.task}/seed-{self.seed}"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a queue works: its folders, its result lines, its data and the models that its names stand for."""

    out: Path
    results: Path
    data_dir: Path | None
    inits: Mapping[str, str]


def queue_names() -> dict[str, Path]:
    """The queues that ship with psitext, by paper/artefact."""
    folder = RECIPES / "papers"
    return {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.rglob("*.toml"))}


def read_queue(name: str) -> Queue:
    """A queue by paper/artefact, or a TOML file."""
    known = queue_names()
    if name not in known and not name.endswith(".toml"):
        raise UserError(
            f"nothing to reproduce is called {name!r}{near(name, known) or '; there is: ' + ', '.join(known)}"
        )
    path = known.get(name, Path(name))
    return build(Queue, read_toml(path), path.name)


def jobs(queue: Queue) -> Iterator[Job]:
    """Every run, in the order of the file."""
    for variant in queue.runs:
        for task in variant.tasks:
            for seed in variant.seeds if variant.how in SEEDED else (0,):
                yield Job(variant, task, seed)


def work(queue: Queue, bench: Bench, show: Show, only: Sequence[str] = ()) -> int:
    """Do what is missing; returns how many runs were done now. ``only`` keeps the variants and tasks that it names."""
    done = 0
    wanted = [job for job in jobs(queue) if not only or {job.variant.name, job.task} & set(only)]
    for job in wanted:
        _check_init(job, bench)  # of all of them before the first, which may take hours
    for job in wanted:
        if _is_done(job, bench):
            continue
        with show(job.name) as hook:
            for line in _WAYS[job.variant.how](job, bench, hook):
                lines.append(bench.results, line)
        done += 1
    return done


def recipe_of(job: Job, bench: Bench) -> FinetuneRecipe:
    """The complete recipe of a fine-tuning job."""
    variant = job.variant
    data = {"dir": str(bench.data_dir) if bench.data_dir else None, "limit": variant.limit}
    init = None if variant.init is None else bench.inits.get(variant.init, variant.init)
    given: dict[str, Any] = {"task": job.task, "data": data, "name": variant.name, "init": init}
    recipe = resolve_recipe("finetune", variant.recipe, [*variant.set, f"train.seed={job.seed}"], given)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def _check_init(job: Job, bench: Bench) -> None:
    """Refuse a run still to do whose model nobody has named: what its queue calls it is no place of a model."""
    init = job.variant.init
    named = init is None or init in bench.inits or init.startswith("hf:") or Path(init).exists()
    if not named and job.variant.how in ("finetune", "frozen") and not _is_done(job, bench):
        raise UserError(
            f"{job.variant.name!r} starts from a model that the queue calls {init!r}; say which one it is with "
            f"--init {init}=<a run, a model folder, or hf:...>"
        )


def _is_done(job: Job, bench: Bench) -> bool:
    if not bench.results.exists():
        return False
    key = (job.task, job.seed, _hash(job, bench))  # the recipe holds the variant's name
    return any((line.task, line.seed, line.recipe) == key for line in lines.read(bench.results))


def _hash(job: Job, bench: Bench) -> str:
    """The recipe's hash without what differs between machines: where data and models lie."""
    if job.variant.how == "discocat":
        return recipe_hash(job.variant.model_copy(update={"tasks": (job.task,), "seeds": (job.seed,)}))
    recipe = recipe_of(job, bench)
    data = recipe.data.model_copy(update={"dir": None})
    return recipe_hash(recipe.model_copy(update={"data": data, "init": job.variant.init}))


def _finetune(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    recipe = recipe_of(job, bench)
    folder = RunFolder(bench.out / job.name)
    finetune_run(recipe, folder.path, [hook])
    result = folder.result()
    notes = {key: result[key] for key in ("parameters", "truncated", "notes") if result.get(key)}
    notes |= {"steps": result["counters"]["step"], "best step": result["counters"]["best_step"]}
    notes |= {key: value for key, value in result.get("calibration", {}).items() if key != "bins"}
    for split, scores in result["scores"].items():
        yield _line(job, bench, split, scores, result["rows"], result["counters"]["seconds"], notes)
    shutil.rmtree(
        folder.path / "checkpoints", ignore_errors=True
    )  # the model is saved; a queue of many runs would fill the disk


def _frozen(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A matched head on the states of the encoder as it comes."""
    began = time.monotonic()
    recipe = recipe_of(job, bench)
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
        yield _line(job, bench, split, scores, rows, time.monotonic() - began, {})


def _baselines(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Majority and bag of words."""
    began = time.monotonic()
    task, train, dev = _splits(job, bench)
    for row in evaluation.baseline_scores(task, train, dev):
        scores = {name: float(row[name]) for name in (*task.metrics, "collapsed")}
        rows = {"train": len(train), row["split"]: len(dev[row["split"]])}
        yield _line(job, bench, row["split"], scores, rows, time.monotonic() - began, {}, run=row["baseline"])


def _discocat(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A DisCoCat, trained with CAdamW."""
    began = time.monotonic()
    task, train, dev = _splits(job, bench)
    found = evaluation.discocat_scores(task, train, dev, job.variant.discocat, job.seed, [hook])
    seconds = time.monotonic() - began
    for split, (scores, reach) in found.items():
        rows = {"train": len(train), split: len(dev[split])}
        yield _line(job, bench, split, scores, rows, seconds, reach)


_WAYS: dict[str, Callable[[Job, Bench, Hook], Iterator[ResultLine]]] = {
    "finetune": _finetune,
    "frozen": _frozen,
    "baselines": _baselines,
    "discocat": _discocat,
}


def _splits(job: Job, bench: Bench) -> tuple[Task, list[Example], dict[str, list[Example]]]:
    task = load_task(job.task)
    train = limited(read_split(task, "train", bench.data_dir).examples, recipe_of(job, bench).data)
    names = job.variant.splits or judged_on(task)
    return task, train, {name: load_split(task, name, bench.data_dir) for name in names}


def _vectors(model: Any, examples: Sequence[Example]) -> np.ndarray[Any, Any]:
    pairs = None if examples[0].pair is None else [example.pair or "" for example in examples]
    vectors: np.ndarray[Any, Any] = model.encode([example.text for example in examples], pairs).to_real().numpy()
    return vectors


def _line(
    job: Job,
    bench: Bench,
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
        recipe=_hash(job, bench),
        seed=job.seed,
        rows=dict(rows),
        seconds=round(seconds, 1),
        threads=stamp.threads(),
        commit=stamp.commit(),
        versions=stamp.versions(),
        finished=lines.now(),
        notes=dict(notes),
    )
