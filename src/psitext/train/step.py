"""One step of a run: a global batch over ranks and micro-steps, its gradients, one update.

A step takes one global batch of the epoch's plan, shares it over ranks and micro-steps, counts what each objective
will be divided by, and adds up gradients of ``weight * sum / global count``. The plan, the masks and the dropout are
functions of (seed, epoch, sample) and (seed, step, micro-step, rank), the weights, the learning rate and the part of
the network that rests functions of (step, steps of the run): nothing that a step does depends on an earlier one but
by the weights and moments that it left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim import Optimizer

from psitext.errors import UserError
from psitext.nn.numerics import autocast
from psitext.randomness import torch_seed
from psitext.score.losses import Score
from psitext.text.batches import Batch, Ints, Source, plan, shards
from psitext.train.checkpoint import Counters
from psitext.train.optim import factor, set_rate, turn
from psitext.train.settings import TrainConfig


@dataclass(frozen=True, slots=True)
class Took:
    """What one step did: how far the run has come (fields of Counters), this rank's losses, the weights and the
    learning rate that were in force.
    """

    place: dict[str, Any]
    losses: dict[str, Tensor]
    weights: dict[str, float]
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
            batches = planned(self.config, lengths, epoch, self.accelerator.num_processes)
            for samples in batches[batch:]:
                if step == self.total:
                    return
                scale = factor(step, self.total, self.config.optim)
                weights = {name: term.weight_at(step, self.total) for name, term in self.score.items()}
                losses = self._step(samples, epoch, step, scale, weights)
                step, batch, tokens = step + 1, batch + 1, tokens + int(lengths[samples].sum())
                ended = batch == len(batches)
                place = {"step": step, "epoch": epoch + ended, "batch": 0 if ended else batch, "tokens": tokens}
                yield Took(place, losses, weights, scale * self.config.optim.lr)
            batch = 0

    def _step(self, samples: Ints, epoch: int, step: int, scale: float, weights: dict[str, float]) -> dict[str, Tensor]:
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
                shares = self._backward(batch, counts, weights, step)
            losses = {name: losses[name] + share.detach() for name, share in shares.items()}
        self._let_rest(step)
        norm = accelerator.clip_grad_norm_(self.model.parameters(), config.optim.clip or math.inf)
        if norm is not None and not math.isfinite(float(norm)):
            raise UserError(_not_finite("gradient's norm", float(norm), step, samples))
        set_rate(self.optimizer, scale)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return losses

    def _backward(
        self, batch: Batch, counts: dict[str, Tensor], weights: dict[str, float], step: int
    ) -> dict[str, Tensor]:
        """Add one micro-batch to the gradients; returns its share of each objective's mean."""
        device = self.accelerator.device
        with autocast(device, self.config.settled):
            predicted, state = self.model(batch)
        shares = {name: term.total(predicted, batch, state) / counts[name] for name, term in self.score.items()}
        total = torch.stack([weights[name] * share for name, share in shares.items()]).sum()
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
        return dict(zip(self.score, torch.where(total > 0, total, 1.0), strict=True))

    def _let_rest(self, step: int) -> None:
        """Drop the gradients of the part whose turn it is not. What has none counts neither for the norm nor for the
        optimiser: weights, moments, their step count and decay stay as they are.
        """
        whose = turn(step, self.total, self.config.optim)
        if whose == "both":
            return
        network = self.accelerator.unwrap_model(self.model)
        moving = []
        for name, parameter in network.named_parameters():  # a shared one comes once, as the encoder's
            if name.startswith("encoder.") == (whose == "encoder"):
                moving.append(parameter)
            else:
                parameter.grad = None
        if not any(parameter.requires_grad for parameter in moving):
            raise UserError(
                f"train.optim.aggressive = {self.config.optim.aggressive:g} updates encoder and decoder in turns, but "
                f"no weight of the {'encoder' if whose == 'encoder' else 'decoder'} is trained; set it to 0"
            )


def planned(config: TrainConfig, lengths: Ints, epoch: int, ranks: int) -> list[Ints]:
    """The global batches of an epoch in order, as the samples of each; ``lengths`` (S,) tokens of every sample."""
    return plan(
        lengths,
        seed=config.seed,
        epoch=epoch,
        sequences=config.batch_sequences,
        tokens=config.batch_tokens,
        pool=config.pool,
        parts=ranks * config.accumulation,
    )


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
