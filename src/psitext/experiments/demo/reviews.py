"""The reviews that the demo's classifiers share, and their fine-tuning on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.experiments.demo.plan import SAME_WORDS, Plan, Show, called, row
from psitext.experiments.evaluation import baseline_scores
from psitext.experiments.finetune import finetune_run, read_labelled
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.model import Model
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_split
from psitext.train.network import parameter_count

TEST = "test"  # the split that nothing was chosen by


@dataclass(frozen=True, slots=True)
class Reviews:
    """A task of two classes with the rows to train on and those to judge by."""

    task: Task
    train: list[Example]
    test: list[Example]

    def baselines(self) -> list[dict[str, Any]]:
        """Rows of majority and bag of words."""
        found = baseline_scores(self.task, self.train, {TEST: self.test})
        return [row(one["baseline"], {name: one[name] for name in self.task.metrics}) for one in found]


@dataclass(frozen=True, slots=True)
class Trained:
    """A fine-tuned model, its scores on the rows to judge by, its losses, and what it took."""

    model: Model
    scores: dict[str, float]
    losses: list[tuple[float, float]]  # (step, loss)
    seconds: float
    recipe: FinetuneRecipe

    def row(self, name: str) -> dict[str, Any]:
        """Its row of the table of all."""
        return row(name, self.scores, parameter_count(self.model.network), self.seconds)


def read(plan: Plan) -> Reviews:
    """The rows of the recipe demo-bert."""
    data = read_labelled(_recipe(plan, "demo-bert", plan.bert, fresh=False))
    return Reviews(data.task, data.train, load_split(data.task, TEST, limit=plan.judged))


def trained(
    plan: Plan, name: str, init: str, reviews: Reviews, out: Path, show: Show, *, fresh: bool = False
) -> Trained:
    """The recipe ``name`` from ``init`` (with ``fresh``, from new weights of its shape), or what ``out`` has of it."""
    recipe = _recipe(plan, name, init, fresh)
    with show(f"{called(init)}, {'from nothing' if fresh else 'fine-tuned'}") as hook:
        model = finetune_run(recipe, out, [hook])
    folder = RunFolder(out)
    losses = [(float(one["step"]), float(one["loss"])) for one in folder.events() if one["kind"] == "train"]
    return Trained(model, model.evaluate(reviews.test), losses, float(folder.result()["seconds"]), recipe)


def positive(model: Model, reviews: Reviews) -> list[float]:
    """The probability of the last label (positive) of both sentences of the same words."""
    label = reviews.task.labels[-1]
    return [answer.probabilities[label] for answer in model.predict(list(SAME_WORDS))]


def _recipe(plan: Plan, name: str, init: str, fresh: bool) -> FinetuneRecipe:
    given = {"init": init, "fresh": fresh, "data": {"limit": plan.rows}}
    recipe = resolve_recipe("finetune", name, plan.settings, given)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe
