"""How long a contender is trained: as its recipe says, or as long as its share of the time allows.

A few steps are tried first. The number of steps is then fixed for all seeds of a contender and written down, so that
its seeds differ in nothing else, and a comparison that goes on later trains what it would have trained.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from psitext.errors import UserError
from psitext.experiments.compare.settings import Contender
from psitext.experiments.finetune import finetune_run
from psitext.experiments.runs.folder import Stopped
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.files import write_atomic
from psitext.train.loop import Event

PLAN = "plan.json"
TRIAL = 10  # steps that are tried
RESERVE = 0.1  # of a share, for what the few steps do not show


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps to train, those that the recipe asks for, and the seconds that one training was expected to take."""

    steps: int
    wanted: int
    seconds: float

    @property
    def cut(self) -> bool:
        """Whether the time allows fewer steps than the recipe asks for."""
        return self.steps < self.wanted


def wanted_steps(one: Contender, recipe: FinetuneRecipe, rows: int) -> int:
    """Steps of a recipe's epochs over so many rows, or more where rows are few."""
    train = recipe.train
    if train.steps is not None:
        return train.steps
    if train.epochs is None or train.batch_sequences is None:
        raise UserError(f"contender {one.name!r}: a comparison takes train.epochs or train.steps, and batch_sequences")
    return max(one.least_steps, math.ceil(train.epochs * math.ceil(rows / train.batch_sequences)))


def planned(folder: Path, one: Contender, recipe: FinetuneRecipe, rows: int, seconds: float, least: int) -> Plan | None:
    """The plan of a contender whose trainings may take ``seconds`` each; None where fewer steps than ``least`` fit.

    One that was made before stays as it is.
    """
    if (made := made_plan(folder)) is not None:
        return made
    wanted = wanted_steps(one, recipe, rows)
    a_step, besides = _tried(recipe, min(TRIAL, wanted))
    fits = a_step == 0 or besides + wanted * a_step <= seconds
    steps = wanted if fits else math.floor((seconds * (1 - RESERVE) - besides) / a_step)
    if steps < min(least, wanted):
        return None
    plan = Plan(steps, wanted, round(besides + steps * a_step, 3))
    write_atomic(folder / PLAN, json.dumps(asdict(plan)))
    return plan


def with_steps(recipe: FinetuneRecipe, steps: int) -> FinetuneRecipe:
    """The recipe under a budget of steps."""
    return recipe.model_copy(update={"train": recipe.train.with_budget(steps=steps)})


def _tried(recipe: FinetuneRecipe, steps: int) -> tuple[float, float]:
    """Seconds that one step takes, and those that a training takes besides: to read, to judge, to save."""
    stamps: list[float] = []

    def hook(event: Event) -> None:
        if event["kind"] == "train":
            stamps.append(time.monotonic())

    short = with_steps(recipe, steps)
    short = short.model_copy(update={"train": short.train.model_copy(update={"log_every": 1})})
    with TemporaryDirectory(prefix="psitext-trial-") as folder:
        began = time.monotonic()
        try:
            finetune_run(short, Path(folder) / "trial", [hook])
        except Stopped:  # the trial's folder goes; what can be gone on with is the comparison
            raise KeyboardInterrupt from None
        whole = time.monotonic() - began
    a_step = _median_gap(stamps)
    return a_step, max(whole - len(stamps) * a_step, 0.0)


def _median_gap(stamps: Sequence[float]) -> float:
    """The median, because the first step warms up and the last one writes a checkpoint."""
    gaps = sorted(later - earlier for earlier, later in pairwise(stamps))
    return gaps[len(gaps) // 2] if gaps else 0.0


def made_plan(folder: Path) -> Plan | None:
    """The plan that was made in a contender's folder. Errors: one that is damaged."""
    path = folder / PLAN
    if not path.is_file():
        return None
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return Plan(int(tree["steps"]), int(tree["wanted"]), float(tree["seconds"]))
    except (OSError, ValueError, LookupError, TypeError):
        raise UserError(f"{path} is damaged; delete it, and the steps are worked out again") from None
