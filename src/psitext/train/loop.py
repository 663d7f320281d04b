"""One loop for pre-training and fine-tuning of every family.

A step takes one global batch of the epoch's plan, shares it over ranks and micro-steps, counts what each objective
will be divided by, and adds up gradients of ``sum / global count``. The plan, the masks and the dropout are
functions of (seed, epoch, sample) and (seed, step, micro-step, rank), so a run that is killed and goes on from a
checkpoint is the run that was never killed, bit for bit. accelerate wraps devices, DDP and FSDP2, and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim import Optimizer

from psitext.errors import UserError
from psitext.nn.numerics import autocast
from psitext.randomness import torch_seed
from psitext.score.losses import Score
from psitext.text.batches import Batch, Source, plan, shards
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
    """How a network is judged during training; ``headline`` names the value that should be high."""

    evaluate: Evaluate
    headline: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run. ``finished`` is False when it was stopped and can go on."""

    counters: Counters
    finished: bool
    loss: float  # of the last logged interval


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
    run = _Run(accelerator, model, optimizer, score, source, config, steps)
    last_loss = float("nan")
    with torch.random.fork_rng(devices=[]), Stop() as stop:
        clock = time.monotonic() - counters.seconds
        window = _Window(score)
        while counters.step < steps and not _gave_up(counters, config):
            for after, loss, rate in run.epoch(counters):
                # An evaluation may have noted a new best since the step before, which the epoch knows nothing of.
                counters = replace(
                    after,
                    seconds=time.monotonic() - clock,
                    best=counters.best,
                    best_step=counters.best_step,
                    stale=counters.stale,
                )
                window.add(loss)
                done = counters.step == steps
                pausing = done or counters.step % config.checkpoint_every == 0
                if counters.step % config.log_every == 0 or pausing:
                    last_loss = window.close(accelerator, counters, rate, hooks)
                if validation and (counters.step % config.evaluate_every == 0 or done):
                    counters = _validate(validation, model, bare, counters, saved, accelerator, hooks)
                stopping = stop.asked or _gave_up(counters, config)
                if pausing or stopping:
                    checkpoint.save(saved, bare, _inner(optimizer), counters, writer=accelerator.is_main_process)
                    _prune(saved, config.keep, accelerator)
                if stopping or done:
                    break
            if stop.asked:
                return Outcome(counters, finished=False, loss=last_loss)
    _take_best(bare, saved, counters)
    return Outcome(counters, finished=True, loss=last_loss)


@dataclass(frozen=True, slots=True)
class _Run:
    """The parts of a run that no step changes by assignment."""

    accelerator: Accelerator
    model: nn.Module
    optimizer: Optimizer
    score: Score
    source: Source
    config: TrainConfig
    steps: int

    def epoch(self, counters: Counters) -> Iterator[tuple[Counters, dict[str, Tensor], float]]:
        """Do the steps that are left of one epoch; yields the counters after each, its losses and its learning rate."""
        lengths = self.source.lengths(counters.epoch)
        ranks, micro = self.accelerator.num_processes, self.config.accumulation
        batches = plan(
            lengths,
            seed=self.config.seed,
            epoch=counters.epoch,
            sequences=self.config.batch_sequences,
            tokens=self.config.batch_tokens,
            pool=self.config.pool,
            parts=ranks * micro,
        )
        for index in range(counters.batch, len(batches)):
            samples = batches[index]
            scale = factor(counters.step, self.steps, self.config.optim)
            losses = self._step(shards(samples, ranks * micro), counters, scale)
            ended = index + 1 == len(batches)
            counters = replace(
                counters,
                step=counters.step + 1,
                epoch=counters.epoch + ended,
                batch=0 if ended else index + 1,
                tokens=counters.tokens + int(lengths[samples].sum()),
            )
            yield counters, losses, scale * self.config.optim.lr

    def _step(self, parts: list, counters: Counters, scale: float) -> dict[str, Tensor]:  # type: ignore[type-arg]
        """One optimiser step; returns this rank's share of each objective's mean."""
        config, device = self.config, self.accelerator.device
        mine = parts[self.accelerator.process_index :: self.accelerator.num_processes]
        batches = [self.source.build(samples, counters.epoch).to(device) for samples in mine]
        counts = self._counts(batches)
        losses = {name: torch.zeros((), device=device) for name in self.score}
        self.model.train()
        for micro, batch in enumerate(batches):
            torch.manual_seed(torch_seed(config.seed, "dropout", counters.step, micro, self.accelerator.process_index))
            last = micro + 1 == len(batches)
            with nullcontext() if last else self.accelerator.no_sync(self.model):
                with autocast(device, config.settled):
                    predicted, state = self.model(batch)
                shares = {
                    name: objective.total(predicted, batch, state) / counts[name]
                    for name, objective in self.score.items()
                }
                total = torch.stack([self.score[name].weight * share for name, share in shares.items()]).sum()
                if not torch.isfinite(total):
                    raise UserError(
                        f"the loss is {float(total)} at step {counters.step + 1} "
                        f"(samples {batch.samples[:4].tolist()} ...); "
                        "the checkpoint before it is kept; a lower train.optim.lr or train.precision = fp32 often helps"
                    )
                # DDP and FSDP average gradients over ranks; the counts are global already, so undo that division.
                self.accelerator.backward(total * self.accelerator.num_processes)
            losses = {name: losses[name] + share.detach() for name, share in shares.items()}
        if config.optim.clip:
            self.accelerator.clip_grad_norm_(self.model.parameters(), config.optim.clip)
        set_rate(self.optimizer, scale)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return losses

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
    """Losses since the last log line."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.shares: list[dict[str, Tensor]] = []

    def add(self, losses: dict[str, Tensor]) -> None:
        self.shares.append(losses)

    def close(self, accelerator: Accelerator, counters: Counters, rate: float, hooks: Sequence[Hook]) -> float:
        """Average over steps, add up over ranks, tell the hooks; returns the weighted total."""
        local = torch.stack([torch.stack([share[name] for share in self.shares]).mean() for name in self.score])
        values: list[float] = accelerator.reduce(local, "sum").tolist()
        parts = dict(zip(self.score, values, strict=True))
        total = sum(self.score[name].weight * value for name, value in parts.items())
        self.shares = []
        losses = {f"loss_{name}": value for name, value in parts.items()}
        seconds = round(counters.seconds, 3)
        event = {
            "kind": "train",
            "step": counters.step,
            "epoch": counters.epoch,
            "loss": total,
            **losses,
            "lr": rate,
        }
        _tell(accelerator, hooks, {**event, "tokens": counters.tokens, "seconds": seconds})
        return total


def _validate(
    validation: Validation,
    model: nn.Module,
    bare: nn.Module,
    counters: Counters,
    saved: Path,
    accelerator: Accelerator,
    hooks: Sequence[Hook],
) -> Counters:
    """Judge the network as it is now; a new best is kept in ``best``."""
    model.eval()
    values = dict(validation.evaluate(model))
    value = values[validation.headline]
    better = counters.best is None or value > counters.best
    if better:
        checkpoint.save_best(saved, bare, counters.step, writer=accelerator.is_main_process)
        counters = replace(counters, best=value, best_step=counters.step, stale=0)
    else:
        counters = replace(counters, stale=counters.stale + 1)
    _tell(accelerator, hooks, {"kind": "dev", "step": counters.step, **values})
    return counters


def _gave_up(counters: Counters, config: TrainConfig) -> bool:
    return 0 < config.patience <= counters.stale


def _take_best(bare: nn.Module, saved: Path, counters: Counters) -> None:
    if counters.best is not None:
        checkpoint.load_best(saved, bare)


def _prune(saved: Path, keep: int, accelerator: Accelerator) -> None:
    if accelerator.is_main_process:
        checkpoint.prune(saved, keep)


def _tell(accelerator: Accelerator, hooks: Sequence[Hook], event: Event) -> None:
    if accelerator.is_main_process:
        for hook in hooks:
            hook(event)


def _inner(optimizer: Optimizer) -> Optimizer:
    return getattr(optimizer, "optimizer", optimizer)
