"""The part of a run that pre-training and fine-tuning share: freeze the recipe, then fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from accelerate import Accelerator

from psitext.errors import UserError
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, PretrainRecipe
from psitext.nn.numerics import Precision, fastest
from psitext.score.losses import Score
from psitext.text.batches import Source
from psitext.train.budget import resolve, seconds_a_step
from psitext.train.loop import Event, Hook, Outcome, Validation, fit
from psitext.train.network import Network
from psitext.train.optim import adamw

R = TypeVar("R", PretrainRecipe, FinetuneRecipe)


class Stopped(UserError):
    """A run that was asked to stop and saved itself."""

    def __init__(self, folder: Path, step: int) -> None:
        super().__init__(f"stopped after step {step}; `psitext resume {folder}` goes on from there")


def train(
    folder: RunFolder,
    recipe: R,
    network: Network,
    score: Score,
    source: Source,
    validation: Callable[[Precision], Validation] | None,
    hooks: Sequence[Hook],
    *,
    resumed: bool,
) -> tuple[R, Outcome]:
    """Work out the budget, freeze the recipe into the folder, train. Returns the frozen recipe and what came of it."""
    accelerator = Accelerator()
    if recipe.train.freeze:
        for parameter in network.encoder.parameters():
            parameter.requires_grad_(False)
    optimizer = adamw(network.encoder, network.head, recipe.train.optim)
    if not resumed:
        if recipe.train.precision == "auto":
            settled = recipe.train.model_copy(update={"precision": fastest(accelerator.device)})
            recipe = recipe.model_copy(update={"train": settled})
        seconds = None
        if recipe.train.minutes is not None:
            seconds = seconds_a_step(network, optimizer, score, source, recipe.train, accelerator)
        settings = resolve(recipe.train, source, seconds, accelerator.num_processes)
        recipe = recipe.model_copy(update={"train": settings})
        if accelerator.is_main_process:
            folder.start(recipe)
    if accelerator.is_main_process:
        folder.rewind()
    accelerator.wait_for_everyone()

    def log(event: Event) -> None:
        folder.log(dict(event))

    assert recipe.train.steps is not None
    outcome = fit(
        network,
        optimizer,
        score,
        source,
        recipe.train,
        steps=recipe.train.steps,
        folder=folder.path,
        validation=validation(recipe.train.settled) if validation else None,
        hooks=[log, *hooks],
        accelerator=accelerator,
    )
    return recipe, outcome
