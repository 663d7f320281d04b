"""How a contender answers: trained on the same rows, asked about the same rows, under one seed.

N rows to judge by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from psitext.baselines import bag_of_words, frozen
from psitext.baselines.majority import majority
from psitext.experiments import evaluation
from psitext.experiments.compare.rows import Rows
from psitext.experiments.compare.settings import Contender
from psitext.experiments.finetune import finetune_run, limited, starting_model
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, LabelledConfig
from psitext.files import remove
from psitext.model import Model
from psitext.text.examples import Example
from psitext.train.loop import Hook
from psitext.train.network import parameter_count

WARM = 8  # rows that are answered before the clock runs

Answers = list[str] | list[float]


@dataclass(frozen=True, slots=True)
class Job:
    """One contender under one seed; ``recipe`` is that of what has an encoder."""

    contender: Contender
    seed: int
    rows: Rows
    folder: Path
    recipe: FinetuneRecipe | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it. Seconds are wall clock: of training, and of answering all N rows."""

    answers: Answers  # N labels, or N scores
    parameters: int
    train_seconds: float
    predict_seconds: float
    train_rows: int
    steps: int = 0
    truncated: int = 0  # training texts that were longer than what is read
    notes: Mapping[str, Any] = field(default_factory=dict)


def try_out(job: Job, hook: Hook) -> Tried:
    """Train a contender and ask it."""
    return _WAYS[job.contender.how](job, hook)


def _majority(job: Job, hook: Hook) -> Tried:
    began = time.monotonic()
    answers = majority(job.rows.train, job.rows.dev)
    spent = time.monotonic() - began
    return Tried(answers, 1, spent, 0.0, len(job.rows.train))


def _bag_of_words(job: Job, hook: Hook) -> Tried:
    import sklearn.linear_model  # noqa: F401 - before the clock runs

    train = _limited(job)
    began = time.monotonic()
    fitted = bag_of_words.fit(train, job.rows.task.labels or None, job.seed)
    spent = time.monotonic() - began
    answers, seconds = _timed(fitted.predict, job.rows.dev)
    size = sum(np.size(getattr(fitted.model, name, ())) for name in ("coef_", "intercept_"))
    return Tried(answers, size, spent, seconds, len(train), notes={"strength": fitted.strength})


def _frozen(job: Job, hook: Hook) -> Tried:
    import sklearn.model_selection  # noqa: F401 - before the clock runs

    assert job.recipe is not None
    task, train = job.rows.task, _limited(job)
    model = starting_model(job.recipe)
    model = Model(model.network, model.tokenizers, job.recipe.text, model.head)
    began = time.monotonic()
    inside = _states(model, train)
    spent = time.monotonic() - began
    outside, seconds = _timed(lambda some: _states(model, some), job.rows.dev)
    began = time.monotonic()
    answers: Answers
    if task.kind == "regression":
        answers = frozen.regress(inside, evaluation.gold(task, train), outside).tolist()
    else:
        ids = frozen.classify(inside, evaluation.gold(task, train), outside, job.seed)
        answers = [task.labels[index] for index in ids]
    outputs = 1 if len(task.labels) <= 2 else len(task.labels)
    size = parameter_count(model.encoder) + outputs * (inside.shape[1] + 1)
    return Tried(answers, size, spent + time.monotonic() - began, seconds, len(train))


def _finetune(job: Job, hook: Hook) -> Tried:
    assert job.recipe is not None
    model = finetune_run(job.recipe, job.folder, [hook])
    result = RunFolder(job.folder).result()
    remove(job.folder / "checkpoints")  # of a model that is saved
    answers, seconds = _timed(lambda some: [one.label for one in model.predict(some)], job.rows.dev)
    counters = result["counters"]
    return Tried(
        answers, result["parameters"], counters["seconds"], seconds, result["rows"]["train"], counters["step"],
        result["truncated"],
    )  # fmt: skip


_WAYS: dict[str, Callable[[Job, Hook], Tried]] = {
    "majority": _majority,
    "bag-of-words": _bag_of_words,
    "frozen": _frozen,
    "finetune": _finetune,
}


def _limited(job: Job) -> list[Example]:
    return limited(job.rows.train, LabelledConfig(limit=job.contender.most_rows))


def _states(model: Model, some: Sequence[Example]) -> np.ndarray[Any, Any]:
    """(N, D) states as real numbers."""
    pairs = None if some[0].pair is None else [one.pair or "" for one in some]
    found: np.ndarray[Any, Any] = model.encode([one.text for one in some], pairs).to_real().numpy()
    return found


def _timed(answer: Callable[[Sequence[Example]], Any], rows: Sequence[Example]) -> tuple[Any, float]:
    """The answers to all rows and the seconds that they took, after a few to warm up."""
    answer(rows[:WARM])
    began = time.monotonic()
    found = answer(rows)
    return found, time.monotonic() - began
