"""The objectives of a sentence space: reconstruction, and the Kullback-Leibler term under its weight and its floor.

    loss = rec + beta * kl,    rec = -E_q(z|x) log p(x | z),    kl = KL(q(z|x) || N(0, 1))          (eqs. 3 to 6)

One config spans the plain autoencoder (beta = 0, no noise), the VAE (beta = 1), the beta-VAE and all their schedules;
a language model, whose space has no dimension, is ``rec`` alone. Everything is in nats and in float32 at least.

The weight must be known beside the reduction: ``rec`` grows with the length of a sentence, ``kl`` does not, so one over
tokens beside the other over sentences is another beta. The reduction has a name, and the default sums over a sentence.

Source: Li et al. 2020 (Optimus), section 3; free bits: Kingma et al. 2016, Li et al. 2019.
Letters: B sentences, S held-out sentences, M predicted tokens, P latent numbers.
"""

from __future__ import annotations

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from psitext.config import Config
from psitext.heads.decoding import wanted
from psitext.nn.numerics import float32_scores
from psitext.score.annealing import CYCLES, Cycle, Schedule, beta, exact
from psitext.score.losses import Objective, Predicted, Score, word_surprise_sum
from psitext.state import Posterior, State
from psitext.text.batches import Batch

FreeBits = Literal["none", "dimension", "total", "batch"]
Reduction = Literal["sentence", "token", "mixed"]


class ObjectiveConfig(Config):
    """What a sentence space is trained for.

    ``free_bits``: where the floor of ``free_nats`` (the paper's lambda) holds: for each dimension of each sentence
    (eq. 9); for each sentence's total, P ``free_nats``; for each dimension's mean over the batch (Li et al. 2019). It
    has an effect only while beta > 0, as in the paper: what beta = 0 multiplies moves nothing.

    ``reduction``: "sentence", both terms in nats per sentence. "token", both over the predicted tokens: the same
    optimum, a loss smaller by the mean length. "mixed", ``rec`` per token beside ``kl`` per sentence, as the original
    code's option that weights by length: beta counts as many times more as a sentence has tokens. For comparison only.
    """

    beta: float = Field(default=1.0, ge=0)  # at the end of the schedule; 0 is an autoencoder
    schedule: Schedule = "constant"
    cycles: int = Field(default=1, gt=0)  # of the cyclical ones; the paper: 10 in pre-training, 1 in fine-tuning
    zero: float | None = Field(default=None, ge=0, le=1)  # share of a cycle at 0; None = the schedule's own
    rise: float | None = Field(default=None, ge=0, le=1)  # share of a cycle in which beta rises; None likewise
    free_bits: FreeBits = "dimension"
    free_nats: float = Field(default=0.0, ge=0)  # lambda, nats per dimension whatever the kind; 0 is no floor
    noise: bool = True  # train on draws from the posterior; without, on its mean: a plain autoencoder
    reduction: Reduction = "sentence"

    @model_validator(mode="after")
    def _fits_the_schedule(self) -> Self:
        cyclical = self.schedule in ("cyclical", "cyclical-zero")
        if self.cycles > 1 and not cyclical:
            raise ValueError(
                f"a {self.schedule} schedule has no cycles; cycles = {self.cycles} goes with a cyclical one"
            )
        if self.zero is not None and self.schedule != "cyclical-zero":
            raise ValueError(f"zero = {self.zero:g} goes with schedule = 'cyclical-zero', not with {self.schedule!r}")
        if self.rise is not None and self.schedule == "constant":
            raise ValueError(f"rise = {self.rise:g} goes with a schedule that rises, not with 'constant'")
        if self.beta and not self.noise:
            raise ValueError(
                f"an autoencoder without noise has no posterior to hold to the prior; with noise = false, beta is 0, "
                f"not {self.beta:g}"
            )
        _ = self.cycle  # refuses what is more than one
        return self

    @property
    def cycle(self) -> Cycle:
        """The shares of a cycle."""
        own = CYCLES[self.schedule]
        return Cycle(
            own.zero if self.zero is None else exact(self.zero), own.rise if self.rise is None else exact(self.rise)
        )

    def beta_at(self, step: int, total: int) -> float:
        """Beta at ``step`` (0-based) of a run of ``total`` steps."""
        return float(beta(step, total, self.cycle, self.cycles) * exact(self.beta))


def elbo(config: ObjectiveConfig, latent: int) -> Score:
    """``rec`` and ``kl`` of a DecodingHead's prediction and a Posterior of ``latent`` (P) numbers; of P = 0 ``rec``."""
    rec = Objective(
        total=lambda predicted, batch, state: word_surprise_sum(predicted["written"], wanted(batch)),
        count=sentences if config.reduction == "sentence" else tokens,
    )
    if latent == 0:
        return {"rec": rec}

    def total(predicted: Predicted, batch: Batch, state: State) -> Tensor:
        assert isinstance(state, Posterior)
        kl = kl_per_dimension(state.vector, state.log_var)
        return free_bits(kl, config.free_bits, config.free_nats)

    kl = Objective(total=total, count=tokens if config.reduction == "token" else sentences, weight=config.beta_at)
    return {"rec": rec, "kl": kl}


def sentences(batch: Batch) -> Tensor:
    """() sentences of a batch."""
    return torch.tensor(len(batch.targets["written_length"]))


def tokens(batch: Batch) -> Tensor:
    """() predicted tokens of a batch: the end of each sentence counts, its beginning does not."""
    return (batch.targets["written_length"] - 1).sum()


def kl_per_dimension(mean: Tensor, log_var: Tensor) -> Tensor:
    """(B, P) nats, KL(N(mean, exp(log_var)) || N(0, 1)) of every number; float32 at least."""
    mean, log_var = float32_scores(mean), float32_scores(log_var)
    # exp(v) - 1 - v of a small v: what cancels, cancels once.
    return 0.5 * (mean.square() + (log_var.expm1() - log_var))


def free_bits(kl: Tensor, kind: FreeBits, nats: float) -> Tensor:
    """The sum over sentences of the KL term above its floor, from (B, P) ``kl``: what is below the floor counts as it.

    "dimension": sum_i max(nats, kl_i), eq. 9. "total": max(P nats, sum_i kl_i). "batch": sum_i max(nats, mean kl_i)
    for every sentence, the mean over the B sentences at hand; under accumulation or on several ranks those of a part
    of the batch, so this kind alone depends on how a batch is cut.
    """
    part, floor = _beside_the_floor(kl, kind, nats)
    return torch.where(part <= floor, floor, part).sum()  # what is no number stays none


def masked(kl: Tensor, kind: FreeBits, nats: float) -> Tensor:
    """The same with 0 in place of the floor, as the original code reports it: another value, the same gradient."""
    part, floor = _beside_the_floor(kl, kind, nats)
    return torch.where(part <= floor, 0.0, part).sum()


def _beside_the_floor(kl: Tensor, kind: FreeBits, nats: float) -> tuple[Tensor, float]:
    """What is compared with its floor, and the floor."""
    if kind == "total":
        return kl.sum(-1), nats * kl.shape[-1]
    if kind == "batch":
        return kl.sum(0), nats * len(kl)
    return kl, nats if kind == "dimension" else -torch.inf


def loss_of(config: ObjectiveConfig, rec: float, kl: Tensor, written: int) -> float:
    """The loss at the end of the schedule on S sentences: the sum ``rec`` over them, their (S, P) ``kl``, ``written``
    predicted tokens.
    """
    floored = float(free_bits(kl, config.free_bits, config.free_nats))
    per_token, per_sentence = 1 / written, 1 / len(kl)
    rec_share = per_sentence if config.reduction == "sentence" else per_token
    kl_share = per_token if config.reduction == "token" else per_sentence
    return rec * rec_share + config.beta * floored * kl_share
