"""From a budget to steps: a run's length is settled before it starts, so that its schedule is exact."""

from __future__ import annotations

import copy
import itertools
import math
import time

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn
from torch.optim import Optimizer

from psitext.errors import UserError
from psitext.score.losses import Score
from psitext.text.batches import Source
from psitext.train.checkpoint import Counters
from psitext.train.settings import TrainConfig
from psitext.train.step import Stepper, planned

WARM_STEPS, TIMED_STEPS = 2, 8
MOST_EPOCHS = 1_000_000  # as TrainConfig.epochs
RESERVE = 0.04  # of a time budget goes to evaluation, checkpoints and reading; measured runs spend less


def resolve(config: TrainConfig, source: Source, seconds_a_step: float | None = None, ranks: int = 1) -> TrainConfig:
    """``config`` with ``steps``, ``evaluate_every`` and ``checkpoint_every`` worked out for this source."""
    samples, parts = len(source.lengths(0)), ranks * config.accumulation
    if samples < parts:
        raise UserError(
            f"{samples} samples cannot be cut into {parts} parts, {config.accumulation} micro-steps for each process; "
            "lower train.accumulation or give more data"
        )
    first = planned(config, source.lengths(0), 0, ranks)
    steps = _steps(config, source, len(first), seconds_a_step, ranks)
    once_an_epoch = min(len(first), steps)
    return config.with_budget(steps=steps).model_copy(
        update={
            "evaluate_every": config.evaluate_every or once_an_epoch,
            "checkpoint_every": config.checkpoint_every or once_an_epoch,
        }
    )


def _steps(config: TrainConfig, source: Source, an_epoch: int, seconds_a_step: float | None, ranks: int) -> int:
    if config.steps is not None:
        return config.steps
    if config.minutes is not None:
        if seconds_a_step is None:
            raise ValueError("a time budget needs a measured step")
        return max(1, round(config.minutes * 60 * (1 - RESERVE) / seconds_a_step))
    if config.epochs is not None:
        whole = math.floor(config.epochs)
        batches = sum(len(planned(config, source.lengths(epoch), epoch, ranks)) for epoch in range(1, whole))
        return max(1, (an_epoch if whole else 0) + batches + round((config.epochs - whole) * an_epoch))
    assert config.tokens is not None
    once = int(source.lengths(0).sum())
    if config.tokens > MOST_EPOCHS * once:  # counting its steps would take longer than anyone waits
        raise UserError(
            f"train.tokens = {config.tokens:,} is more than {MOST_EPOCHS:,} times the {once:,} tokens that there are"
        )
    spent = 0
    for epoch in itertools.count():
        lengths = source.lengths(epoch)
        for done, samples in enumerate(planned(config, lengths, epoch, ranks), start=1):
            spent += int(lengths[samples].sum())
            if spent >= config.tokens:
                return an_epoch * epoch + done
    raise AssertionError("unreachable")


def seconds_a_step(
    network: nn.Module,
    optimizer: Optimizer,
    score: Score,
    source: Source,
    config: TrainConfig,
    accelerator: Accelerator,
) -> float:
    """Measure steps on copies of the network and the optimiser; the originals stay untouched. Equal on every rank."""
    # Copied together, so that the optimiser's groups hold the copied parameters.
    trial, moments = accelerator.prepare(*copy.deepcopy((network, optimizer)))
    stepper = Stepper(accelerator, trial, moments, score, source, config, WARM_STEPS + TIMED_STEPS)
    with torch.random.fork_rng(devices=[]):
        stamps = [time.monotonic() for _ in stepper.steps(Counters())]
    accelerator.free_memory()  # it would hold the copies as long as the run
    measured = [(stamps[-1] - stamps[WARM_STEPS - 1]) / TIMED_STEPS]
    broadcast_object_list(measured)
    return measured[0]
