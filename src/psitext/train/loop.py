"""One loop for pre-training and fine-tuning of every family.

A step takes one global batch of the epoch's plan, shares it over ranks and micro-steps, counts what each objective
will be divided by, and adds up gradients of ``sum / global count``. The plan, the masks and the dropout are
functions of (seed, epoch, sample) and (seed, step, micro-step, rank), so a run that is killed and goes on from a
checkpoint is the run that was never killed, bit for bit. accelerate wraps devices, DDP and FSDP2, and nothing else.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from torch.optim import Optimizer

from psitext.errors import UserError
from psitext.nn.numerics import autocast
from psitext.randomness import torch_seed
from psitext.score.losses import Score
from psitext.text.batches import Batch, Ints, Source, plan, shards
from psitext.train import checkpoint
from psitext.train.checkpoint import Counters
from psitext.train.optim import factor, set_rate
from psitext.train.settings import TrainConfig
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
            window.add(took.losses)
            counters = replace(counters, **took.place, seconds=time.monotonic() - clock)
            done = counters.step == steps
            pausing = done or counters.step % config.checkpoint_every == 0
            if counters.step % config.log_every == 0 or pausing:
                counters = window.close(counters, took.rate, hooks)
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


@dataclass(frozen=True, slots=True)
class Took:
    """What one step did: how far the run has come (fields of Counters), this rank's losses, the learning rate."""

    place: dict[str, Any]
    losses: dict[str, Tensor]
    rate: float


@dataclass(frozen=True, slots=True)
class Stepper:
    """Does the steps of a run; holds the parts of it that no step changes by assignment."""

    accelerator: Accelerator
    model: nn.Module
    optimizer: Optimizer
    score: Score
    source: Source
    config: TrainConfig
    total: int  # steps of the whole run

    def steps(self, counters: Counters) -> Iterator[Took]:
        """Do what is left of the run from where the counters stand, one step at a time, epoch after epoch."""
        step, batch, tokens = counters.step, counters.batch, counters.tokens
        for epoch in itertools.count(counters.epoch):
            lengths = self.source.lengths(epoch)
            batches = self._batches(lengths, epoch)
            for samples in batches[batch:]:
                if step == self.total:
                    return
                scale = factor(step, self.total, self.config.optim)
                losses = self._step(samples, epoch, step, scale)
                step, batch, tokens = step + 1, batch + 1, tokens + int(lengths[samples].sum())
                ended = batch == len(batches)
                place = {"step": step, "epoch": epoch + ended, "batch": 0 if ended else batch, "tokens": tokens}
                yield Took(place, losses, scale * self.config.optim.lr)
            batch = 0

    def _batches(self, lengths: Ints, epoch: int) -> list[Ints]:
        return plan(
            lengths,
            seed=self.config.seed,
            epoch=epoch,
            sequences=self.config.batch_sequences,
            tokens=self.config.batch_tokens,
            pool=self.config.pool,
            parts=self.accelerator.num_processes * self.config.accumulation,
        )

    def _step(self, samples: Ints, epoch: int, step: int, scale: float) -> dict[str, Tensor]:
        """One optimiser step on a global batch; returns this rank's share of each objective's mean."""
        config, accelerator = self.config, self.accelerator
        parts = shards(samples, accelerator.num_processes * config.accumulation)
        mine = parts[accelerator.process_index :: accelerator.num_processes]
        batches = [self.source.build(part, epoch).to(accelerator.device) for part in mine]
        counts = self._counts(batches)
        losses = {name: torch.zeros((), device=accelerator.device) for name in self.score}
        self.model.train()
        for micro, batch in enumerate(batches):
            _seed(accelerator.device, torch_seed(config.seed, "dropout", step, micro, accelerator.process_index))
            last = micro + 1 == len(batches)
            with nullcontext() if last else accelerator.no_sync(self.model):
                shares = self._backward(batch, counts, step)
            losses = {name: losses[name] + share.detach() for name, share in shares.items()}
        norm = accelerator.clip_grad_norm_(self.model.parameters(), config.optim.clip or math.inf)
        if norm is not None and not math.isfinite(float(norm)):
            raise UserError(_not_finite("gradient's norm", float(norm), step, samples))
        set_rate(self.optimizer, scale)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return losses

    def _backward(self, batch: Batch, counts: dict[str, Tensor], step: int) -> dict[str, Tensor]:
        """Add one micro-batch to the gradients; returns its share of each objective's mean."""
        device = self.accelerator.device
        with autocast(device, self.config.settled):
            predicted, state = self.model(batch)
        shares = {name: term.total(predicted, batch, state) / counts[name] for name, term in self.score.items()}
        total = torch.stack([self.score[name].weight * share for name, share in shares.items()]).sum()
        if not torch.isfinite(total):
            raise UserError(_not_finite("loss", total.item(), step, batch.samples))
        # DDP and FSDP average gradients over ranks; the counts are global already, so undo that division.
        self.accelerator.backward(total * self.accelerator.num_processes)
        return shares

    def _counts(self, batches: list[Batch]) -> dict[str, Tensor]:
        """Each objective's global count; a count of zero becomes one, so that an empty sum gives a loss of zero."""
        local = torch.stack(
            [
                torch.stack([objective.count(batch).to(self.accelerator.device).float() for batch in batches]).sum()
                for objective in self.score.values()
            ]
        )
        total = self.accelerator.reduce(local, "sum")
        return dict(zip(self.score, total.clamp_min(torch.finfo(torch.float32).tiny), strict=True))


class _Window:
    """Losses since the last log line; a checkpoint between two lines keeps their sums, so that no line changes."""

    def __init__(self, accelerator: Accelerator, score: Score, counters: Counters) -> None:
        self.accelerator, self.score = accelerator, score
        self.shares: list[Tensor] = []  # (objectives,) of every step
        self.steps = counters.unlogged
        # The checkpoint's sums are over all ranks, so one of them carries them on.
        sums = [counters.sums.get(name, 0.0) if accelerator.is_main_process else 0.0 for name in score]
        self.sums = torch.tensor(sums, dtype=torch.float64)

    def add(self, losses: dict[str, Tensor]) -> None:
        self.shares.append(torch.stack(list(losses.values())))
        self.steps += 1

    def kept(self, counters: Counters) -> Counters:
        """Counters that hold the open window, to be written; every rank must call this."""
        return replace(counters, unlogged=self.steps, sums=self._add_up())

    def close(self, counters: Counters, rate: float, hooks: Sequence[Hook]) -> Counters:
        """Average over steps and tell the hooks; the counters take note of the weighted total."""
        means = {name: value / self.steps for name, value in self._add_up().items()}
        total = sum(self.score[name].weight * value for name, value in means.items())
        self.steps, self.sums = 0, torch.zeros_like(self.sums)
        counters = replace(counters, loss=total, unlogged=0, sums={})
        event = {
            "kind": "train",
            "step": counters.step,
            "epoch": counters.epoch,
            "loss": total,
            **{f"loss_{name}": value for name, value in means.items()},
            "lr": rate,
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
        return dict(zip(self.score, total.tolist(), strict=True))


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


def _seed(device: torch.device, seed: int) -> None:
    """Seed the processor's generator and the device's; ``torch.manual_seed`` seeds every kind of device there might
    be, which takes milliseconds.
    """
    torch.default_generator.manual_seed(seed)
    if device.type != "cpu":
        torch.get_device_module(device).manual_seed(seed)


def _not_finite(what: str, value: float, step: int, samples: Ints) -> str:
    kept = "the checkpoint before it is kept; " if step else ""  # there is none before the first step
    return (
        f"the {what} is {value} at step {step + 1} (samples {samples[:4].tolist()} ...); "
        f"{kept}a lower train.optim.lr or train.precision = fp32 often helps"
    )


def _prune(saved: Path, newest: Path, keep: int, accelerator: Accelerator) -> None:
    if accelerator.is_main_process:
        checkpoint.prune(saved, newest, keep)


def _tell(accelerator: Accelerator, hooks: Sequence[Hook], event: Event) -> None:
    if accelerator.is_main_process:
        for hook in hooks:
            hook(event)


def _inner(optimizer: Optimizer) -> Optimizer:
    return getattr(optimizer, "optimizer", optimizer)
