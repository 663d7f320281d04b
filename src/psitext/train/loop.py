"""One loop for pre-training and fine-tuning of every family.

The loop does steps (``step.py``), tells hooks, judges the network, and writes checkpoints. Whatever a step does is a
function of its number, the seed and what the last one left, so a run that is killed and goes on from a checkpoint is
the run that was never killed, bit for bit. accelerate wraps devices, DDP and FSDP2, and nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from torch.optim import Optimizer

from psitext.score.losses import Score
from psitext.text.batches import Source
from psitext.train import checkpoint
from psitext.train.checkpoint import Counters
from psitext.train.settings import TrainConfig
from psitext.train.step import Stepper, Took
from psitext.train.stopping import Stop

Event = Mapping[str, float | int | str]
Hook = Callable[[Event], None]
Evaluate = Callable[[nn.Module], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Validation:
    """How a network is judged during training; ``headline`` names the value that should be high, or low."""

    evaluate: Evaluate
    headline: str
    low_is_good: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run. ``finished`` is False when it was stopped and can go on."""

    counters: Counters
    finished: bool


def fit(
    network: nn.Module,
    optimizer: Optimizer,
    score: Score,
    source: Source,
    config: TrainConfig,
    *,
    steps: int,
    folder: Path,
    validation: Validation | None = None,
    hooks: Sequence[Hook] = (),
    accelerator: Accelerator | None = None,
) -> Outcome:
    """Train for ``steps`` steps in all, going on from the newest good checkpoint in ``folder/checkpoints``.

    ``network`` maps a Batch to (prediction, state). It ends with its last weights, or with the best ones where a
    validation says which they are. Errors: a non-finite loss stops the run, naming step and samples; the checkpoint
    before it stays.
    """
    accelerator = accelerator or Accelerator()
    saved = folder / "checkpoints"
    model, optimizer = accelerator.prepare(network, optimizer)
    bare = accelerator.unwrap_model(model)
    found = checkpoint.latest(saved)
    counters = checkpoint.restore(found, bare, _inner(optimizer)) if found else Counters()
    last_saved = time.monotonic()
    clock = last_saved - counters.seconds
    window = _Window(accelerator, score, counters)
    stepper = Stepper(accelerator, model, optimizer, score, source, config, steps)
    ahead = iter(()) if _gave_up(counters, config) else stepper.steps(counters)
    with torch.random.fork_rng(devices=[]), Stop() as stop:
        for took in ahead:
            window.add(took)
            counters = replace(counters, **took.place, seconds=time.monotonic() - clock)
            done = counters.step == steps
            pausing = done or counters.step % config.checkpoint_every == 0
            if counters.step % config.log_every == 0 or pausing:
                counters = window.close(counters, took, hooks)
            if validation and (counters.step % config.evaluate_every == 0 or done):
                counters = _validate(validation, model, bare, counters, saved, accelerator, hooks)
            due = time.monotonic() - last_saved > config.checkpoint_minutes * 60
            asked, due = _agreed(accelerator, stop.asked, due)
            gave_up = _gave_up(counters, config)
            if pausing or due or asked or gave_up:
                counters = window.kept(counters)
                path = checkpoint.save(saved, bare, _inner(optimizer), counters, writer=accelerator.is_main_process)
                _prune(saved, path, config.keep, accelerator)
                last_saved = time.monotonic()
            if asked:
                return Outcome(counters, finished=False)
            if gave_up:
                break
    accelerator.wait_for_everyone()  # until the best weights are written
    if counters.best is not None:
        checkpoint.load_best(saved, bare, counters.best_step)
    return Outcome(counters, finished=True)


class _Window:
    """Losses since the last log line; a checkpoint between two lines keeps their sums, so that no line changes.

    The mean of ``weight * loss`` is not the mean weight times the mean loss: of an objective whose weight has a
    schedule both are summed.
    """

    def __init__(self, accelerator: Accelerator, score: Score, counters: Counters) -> None:
        self.accelerator, self.score = accelerator, score
        self.scheduled = [name for name, term in score.items() if callable(term.weight)]
        self.names = [*score, *map(_weighted, self.scheduled)]
        self.shares: list[Tensor] = []  # (names,) of every step
        self.steps = counters.unlogged
        # The checkpoint's sums are over all ranks, so one of them carries them on.
        sums = [counters.sums.get(name, 0.0) if accelerator.is_main_process else 0.0 for name in self.names]
        self.sums = torch.tensor(sums, dtype=torch.float64)

    def add(self, took: Took) -> None:
        weighted = [took.weights[name] * took.losses[name] for name in self.scheduled]
        self.shares.append(torch.stack([*took.losses.values(), *weighted]))
        self.steps += 1

    def kept(self, counters: Counters) -> Counters:
        """Counters that hold the open window, to be written; every rank must call this."""
        return replace(counters, unlogged=self.steps, sums=self._add_up())

    def close(self, counters: Counters, took: Took, hooks: Sequence[Hook]) -> Counters:
        """Average over steps and tell the hooks; the counters take note of the weighted total. Learning rate and
        scheduled weights are those of the last step.
        """
        means = {name: value / self.steps for name, value in self._add_up().items()}
        total = sum(
            means[_weighted(name)] if name in self.scheduled else took.weights[name] * means[name]
            for name in self.score
        )
        self.steps, self.sums = 0, torch.zeros_like(self.sums)
        counters = replace(counters, loss=total, unlogged=0, sums={})
        event = {
            "kind": "train",
            "step": counters.step,
            "epoch": counters.epoch,
            "loss": total,
            **{f"loss_{name}": means[name] for name in self.score},
            **{f"weight_{name}": took.weights[name] for name in self.scheduled},
            "lr": took.rate,
            "tokens": counters.tokens,
            "seconds": round(counters.seconds, 3),
        }
        _tell(self.accelerator, hooks, event)
        return counters

    def _add_up(self) -> dict[str, float]:
        """Sums over the window's steps and over all ranks."""
        if self.shares:
            self.sums = self.sums + torch.stack(self.shares).cpu().double().sum(0)
            self.shares = []
        total = self.sums
        if self.accelerator.num_processes > 1:
            total = self.accelerator.reduce(total.to(self.accelerator.device), "sum")
        return dict(zip(self.names, total.tolist(), strict=True))


def _weighted(name: str) -> str:
    """What the sum of an objective's weighted losses is called."""
    return f"weighted {name}"


def _validate(
    validation: Validation,
    model: nn.Module,
    bare: nn.Module,
    counters: Counters,
    saved: Path,
    accelerator: Accelerator,
    hooks: Sequence[Hook],
) -> Counters:
    """Judge the network as it is now; the weights of a new best are kept."""
    model.eval()
    judged = [dict(validation.evaluate(model))]
    broadcast_object_list(judged)  # ranks that disagree in the last digit must not part ways
    value = judged[0][validation.headline]
    if _better(value, counters.best, validation.low_is_good):
        checkpoint.save_best(saved, bare, counters.step, writer=accelerator.is_main_process)
        counters = replace(counters, best=value, best_step=counters.step, stale=0)
    else:
        counters = replace(counters, stale=counters.stale + 1)
    _tell(accelerator, hooks, {"kind": "dev", "step": counters.step, **judged[0]})
    return counters


def _better(value: float, best: float | None, low_is_good: bool) -> bool:
    """A value that is no number (nan) is better than nothing only."""
    if best is None or math.isnan(best):
        return True
    return value < best if low_is_good else value > best


def _gave_up(counters: Counters, config: TrainConfig) -> bool:
    return 0 < config.patience <= counters.stale


def _agreed(accelerator: Accelerator, *wishes: bool) -> list[bool]:
    """True on every rank once one of them wishes it."""
    if accelerator.num_processes == 1:
        return list(wishes)
    votes = torch.tensor([float(wish) for wish in wishes], device=accelerator.device)
    return [vote > 0 for vote in accelerator.reduce(votes, "sum").tolist()]


def _prune(saved: Path, newest: Path, keep: int, accelerator: Accelerator) -> None:
    if accelerator.is_main_process:
        checkpoint.prune(saved, newest, keep)


def _tell(accelerator: Accelerator, hooks: Sequence[Hook], event: Event) -> None:
    if accelerator.is_main_process:
        for hook in hooks:
            hook(event)


def _inner(optimizer: Optimizer) -> Optimizer:
    return getattr(optimizer, "optimizer", optimizer)
