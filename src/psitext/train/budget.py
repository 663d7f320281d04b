"""From a budget to steps: a run's length is settled before it starts, so that its schedule is exact."""

from __future__ import annotations

import copy
import itertools
import math
import tempfile
import time
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn
from torch.optim import Optimizer

from psitext.score.losses import Score
from psitext.text.batches import Source, plan
from psitext.train.settings import TrainConfig

WARM_STEPS, TIMED_STEPS = 2, 8
RESERVE = 0.04  # of a time budget goes to evaluation, checkpoints and reading; measured runs spend less


def resolve(config: TrainConfig, source: Source, seconds_a_step: float | None = None, ranks: int = 1) -> TrainConfig:
    """``config`` with ``steps``, ``evaluate_every`` and ``checkpoint_every`` worked out for this source."""
    first = _plan(config, source, 0, ranks)
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
        batches = sum(len(_plan(config, source, epoch, ranks)) for epoch in range(1, whole))
        return max(1, (an_epoch if whole else 0) + batches + round((config.epochs - whole) * an_epoch))
    assert config.tokens is not None
    spent = 0
    for epoch in itertools.count():
        lengths = source.lengths(epoch)
        for done, samples in enumerate(_plan(config, source, epoch, ranks), start=1):
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
    from psitext.train.loop import fit  # the loop itself is what is timed

    # Copied together, so that the optimiser's groups hold the copied parameters.
    trial, moments = copy.deepcopy((network, optimizer))
    stamps: list[float] = []
    settings = config.with_budget(steps=WARM_STEPS + TIMED_STEPS).model_copy(
        update={"log_every": 1, "checkpoint_every": 10**9, "evaluate_every": 10**9, "patience": 0}
    )
    with tempfile.TemporaryDirectory() as folder:
        fit(
            trial,
            moments,
            score,
            source,
            settings,
            steps=WARM_STEPS + TIMED_STEPS,
            folder=Path(folder),
            hooks=[lambda event: stamps.append(time.monotonic())],
            accelerator=accelerator,
        )
    gaps = sorted(b - a for a, b in itertools.pairwise(stamps[WARM_STEPS - 1 :]))
    measured = [sum(gaps) / len(gaps)] if gaps else [0.0]
    broadcast_object_list(measured)
    return measured[0]


def _plan(config: TrainConfig, source: Source, epoch: int, ranks: int) -> list[Any]:
    return plan(
        source.lengths(epoch),
        seed=config.seed,
        epoch=epoch,
        sequences=config.batch_sequences,
        tokens=config.batch_tokens,
        pool=config.pool,
        parts=ranks * config.accumulation,
    )
