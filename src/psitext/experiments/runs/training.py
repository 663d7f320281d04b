"""The part of a run that pre-training and fine-tuning share: settle the recipe, then fit."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from accelerate import Accelerator
from accelerate.utils import DistributedType, broadcast_object_list
from torch.optim import Optimizer

from psitext.experiments.runs import ranks
from psitext.experiments.runs.folder import R, RunFolder, Stopped
from psitext.nn.numerics import Precision, fastest
from psitext.score.losses import Score
from psitext.text.batches import Source
from psitext.train import checkpoint
from psitext.train.budget import resolve, seconds_a_step
from psitext.train.checkpoint import Counters
from psitext.train.loop import Event, Hook, Validation, fit
from psitext.train.network import Network
from psitext.train.optim import build_optimizer


def train(
    folder: RunFolder,
    recipe: R,
    network: Network,
    score: Score,
    source: Source,
    validation: Callable[[Precision], Validation] | None,
    hooks: Sequence[Hook],
) -> tuple[R, Counters]:
    """Settle the recipe's budget and precision, train; returns the settled recipe and how far the run came.

    ``network`` ends with the weights to keep, whole on every rank.
    Errors: Stopped, when the run was asked to stop.
    """
    accelerator = ranks.accelerator()
    if recipe.train.freeze:
        network.encoder.requires_grad_(False)
    # FSDP shards a network in place; then a copy is trained, and its weights are gathered into the network.
    sharded = accelerator.distributed_type == DistributedType.FSDP
    trained = copy.deepcopy(network) if sharded else network
    optimizer = build_optimizer(trained.encoder, trained.head, recipe.train.optim)
    recipe = _settled(folder, recipe, trained, optimizer, score, source, accelerator)
    if accelerator.is_main_process:
        step = folder.rewind()
        if damaged := folder.damaged_after(step):
            for hook in hooks:
                hook({"kind": "rewound", "step": step, "damaged": ", ".join(damaged)})
    accelerator.wait_for_everyone()

    def log(event: Event) -> None:
        folder.log(dict(event))

    assert recipe.train.steps is not None
    outcome = fit(
        trained,
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
    if not outcome.finished:
        raise Stopped(folder.path, outcome.counters.step)
    if sharded:
        checkpoint.load_tensors(network, checkpoint.tensors_of(trained), "the sharded network")
        network.to(accelerator.device)
    return recipe, outcome.counters


def _settled(
    folder: RunFolder,
    recipe: R,
    network: Network,
    optimizer: Optimizer,
    score: Score,
    source: Source,
    accelerator: Accelerator,
) -> R:
    """The recipe with everything worked out and written down; one that is settled comes back as it is."""
    settings, seconds = recipe.train, None
    if settings.precision == "auto":
        measured: list[Precision] = [fastest(accelerator.device)]
        broadcast_object_list(measured)  # the main process decides for all
        settings = settings.model_copy(update={"precision": measured[0]})
    if settings.minutes is not None:
        seconds = seconds_a_step(network, optimizer, score, source, settings, accelerator)
    settings = resolve(settings, source, seconds, accelerator.num_processes)
    settled = recipe.model_copy(update={"train": settings})
    if accelerator.is_main_process and settled != recipe:
        folder.settle(settled)
    return settled
