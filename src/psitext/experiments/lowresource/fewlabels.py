"""Scores over the number of labelled sentences: a classifier on the states of an encoder that stays as it is.

Sentences are encoded once; then hundreds of small fits cost seconds. A trial's labelled sentences depend on the
protocol alone, so scores of two encoders in one trial are a pair (``showing`` gives the differences).

Letters: S sentences, D numbers of a state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.experiments import evaluation
from psitext.experiments.finetune import starting_model
from psitext.experiments.lowresource import readout
from psitext.experiments.lowresource.draws import Sides, sides, trial
from psitext.experiments.lowresource.protocol import FewLabels
from psitext.experiments.lowresource.readout import Floats, Scale
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.model import Model
from psitext.score import metrics
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_task, read_split


@dataclass(frozen=True, slots=True)
class Finding:
    """What a result line says of one encoder: its scores, the rows behind them, and what a figure needs besides."""

    scores: dict[str, float]
    rows: dict[str, int]
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """One trial."""

    count: int  # labelled sentences of each class
    number: int  # of the trial
    value: float  # the task's headline metric on the test sentences
    strength: float | None = None  # inverse regularisation that cross-validation chose


def few_labels(recipe: FinetuneRecipe, few: FewLabels, data_dir: Path | None) -> Finding:
    """The scores of a classifier on the states of the recipe's encoder, which stays as it is."""
    task, both = read(recipe, few, data_dir)
    model = starting_model(frozen(recipe))
    inside, outside = states(model, both.pool), states(model, both.test)
    scale = Scale.of(inside)
    scores = list(_scores(task, both, scale.apply(inside), scale.apply(outside), few))
    return finding(task, both, scores, {"width": inside.shape[1]})


def frozen(recipe: FinetuneRecipe) -> FinetuneRecipe:
    """The recipe with an encoder that is not trained, for which some choices make no sense."""
    return recipe.model_copy(update={"train": recipe.train.model_copy(update={"freeze": True})})


def read(recipe: FinetuneRecipe, few: FewLabels, data_dir: Path | None) -> tuple[Task, Sides]:
    """The task of a recipe, and its sentences on both sides: from the training split, and from the first dev split."""
    assert recipe.task is not None
    task = load_task(recipe.task)
    train, dev = (read_split(task, name, data_dir).examples for name in ("train", task.dev_splits[0]))
    return task, sides(task, train, dev, few)


def states(model: Model, examples: Sequence[Example]) -> npt.NDArray[np.float32]:
    """(S, D) states of examples; of a sentence space the means of their posteriors."""
    pairs = None if examples[0].pair is None else [example.pair or "" for example in examples]
    return np.asarray(model.encode([example.text for example in examples], pairs).to_real().numpy())


def finding(task: Task, both: Sides, scores: Sequence[Score], notes: Mapping[str, Any]) -> Finding:
    """Means by count, with every trial in the notes: "trials" {count: [value, ...]}."""
    by_count: dict[int, list[Score]] = {}
    for one in sorted(scores, key=lambda one: (one.count, one.number)):
        by_count.setdefault(one.count, []).append(one)
    means = {
        f"{task.headline} at {count}": float(np.mean([one.value for one in some])) for count, some in by_count.items()
    }
    kept: dict[str, Any] = {
        "trials": {str(count): [round(one.value, 6) for one in by_count[count]] for count in by_count}
    }
    strengths = {str(count): [one.strength for one in by_count[count]] for count in by_count}
    if any(one.strength is not None for one in scores):
        kept["strengths"] = strengths
    rows = {"train": len(both.pool), "test": len(both.test), "in both, left out": both.shared}
    return Finding(means, rows, {"metric": task.headline, **kept, **notes})


def _scores(task: Task, both: Sides, inside: Floats, outside: Floats, few: FewLabels) -> Iterator[Score]:
    labels, gold = evaluation.gold(task, both.pool), evaluation.gold(task, both.test)
    names = [example.label for example in both.pool]
    for count, trials in zip(few.counts, few.trials, strict=True):
        for number in range(trials):
            chosen = trial(names, count, number, few)
            fitted = readout.fit(inside[chosen], labels[chosen], seed=number)
            value = metrics.evaluate((task.headline,), fitted.predict(outside), gold)[task.headline]
            yield Score(count, number, value, fitted.strength)
