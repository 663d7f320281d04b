"""Fusion: a response is written from its context, from itself and from between; both lie near each other, and each set
lies apart.

    L = L_s2s + L_ae + L_between + w_pull pull(z_S2S, z_AE) - w_push (spread(z_S2S) + spread(z_AE))

Distances are Euclidean over sqrt(P), so that no weight depends on the width of the space; reconstructions are in nats
per sentence. With sentences of a style, their latents join both terms, and the soft loss of the line from a response to
a style's sentence is added.

Departures from the original code of Optimus. Its spread takes the least distance of every latent to all of its set,
itself included, which is 0: nothing was pushed. Here a latent is never compared with itself. And a cap, which is
SpaceFusion's: without one, a push that outweighs the pull is met by blowing up the space.

Source: Gao et al. 2019a (SpaceFusion), section 3; Gao et al. 2019b (StyleFusion), section 3; Li et al. 2020 (Optimus),
section 4.2. Letters: B samples, M predicted tokens, P latent numbers, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from psitext.config import Config
from psitext.heads.decoding import asked, wanted
from psitext.heads.fusion import PATHS
from psitext.nn.numerics import float32_scores
from psitext.score.elbo import sentences
from psitext.score.losses import Objective, Predicted, Score, word_surprise_sum
from psitext.state import Posterior, State
from psitext.text.batches import Batch


class FusionConfig(Config):
    """What a fused space is trained for.

    ``spread``: "pairs", the mean distance of all pairs of a set, and of the sets the sum (SpaceFusion); "nearest", the
    mean distance to the nearest other, and of the sets the smallest (StyleFusion, Optimus).
    """

    kind: Literal["fusion"] = "fusion"
    s2s: float = Field(default=1.0, ge=0)  # weights of the paths, of their nats per sentence; the original code: 5
    ae: float = Field(default=1.0, ge=0)
    between: float = Field(default=1.0, ge=0)
    style: float = Field(default=1.0, ge=0)  # of the soft loss
    sigma: float = Field(default=0.1, ge=0)  # of the noise on what lies between
    pull: float = Field(default=30.0, ge=0)  # nats per unit of distance
    push: float = Field(default=30.0, ge=0)
    spread: Literal["pairs", "nearest"] = "pairs"
    # A pair that is farther apart is pushed no more. A space of unit variance has pairs at 1.4; SpaceFusion's 0.3 is
    # for the states of a GRU.
    cap: float | None = Field(default=1.0, gt=0)


def fusion(config: FusionConfig, with_style: bool = False) -> Score:
    """The terms of FusionHead's prediction and a Posterior of two groups, or of three with a style."""

    def path(name: str) -> Callable[[Predicted, Batch, State], Tensor]:
        return lambda predicted, batch, state: word_surprise_sum(predicted[name], wanted(batch))

    def pull(predicted: Predicted, batch: Batch, state: State) -> Tensor:
        context, response, *style = groups(state, batch)
        apart = paired(context, response)
        return len(context) * (apart if not style else 0.5 * (apart + to_nearest(context, style[0])))

    def push(predicted: Predicted, batch: Batch, state: State) -> Tensor:
        each = [SPREADS[config.spread](one, config.cap) for one in groups(state, batch)]
        every = torch.stack(each)
        return len(batch.samples) * (every.sum() if config.spread == "pairs" else every.min())

    weights = {"s2s": config.s2s, "ae": config.ae, "between": config.between}
    score: dict[str, Objective] = {name: Objective(path(name), sentences, weights[name]) for name in PATHS}
    if with_style:
        score["style"] = Objective(soft, sentences, config.style)
    return score | {
        "pull": Objective(pull, sentences, config.pull),
        "push": Objective(push, sentences, -config.push),
    }


def groups(state: State, batch: Batch) -> tuple[Tensor, ...]:
    """(B, P) latents of contexts, of responses, and of a style's sentences where there are any; float32 at least."""
    assert isinstance(state, Posterior)
    found: tuple[Tensor, ...] = float32_scores(state.vector).split(len(batch.samples))
    return found


def paired(first: Tensor, second: Tensor) -> Tensor:
    """() mean distance of (B, P) latents from those of the same sample, over sqrt(P)."""
    apart: Tensor = torch.linalg.vector_norm(first - second, dim=-1)
    return apart.mean() / math.sqrt(first.shape[-1])


def spread_of_pairs(latents: Tensor, cap: float | None = None) -> Tensor:
    """() mean distance over all pairs of different (B, P) latents, over sqrt(P), each at most ``cap``; 0 of a single
    one.
    """
    return _others(_capped(distances(latents, latents), cap)).mean() if len(latents) > 1 else latents.sum() * 0


def spread_of_nearest(latents: Tensor, cap: float | None = None) -> Tensor:
    """() mean over (B, P) latents of the distance to the nearest other one, over sqrt(P), each at most ``cap``."""
    if len(latents) < 2:
        return latents.sum() * 0
    return _capped(_others(distances(latents, latents)).amin(-1), cap).mean()


SPREADS: dict[str, Callable[[Tensor, float | None], Tensor]] = {"pairs": spread_of_pairs, "nearest": spread_of_nearest}


def to_nearest(first: Tensor, second: Tensor) -> Tensor:
    """() mean distance of each of (B, P) latents to the nearest of (C, P) others and the other way round, over sqrt(P):
    of two sets without pairs (StyleFusion).
    """
    apart = distances(first, second)
    return 0.5 * (apart.amin(1).mean() + apart.amin(0).mean())


def distances(first: Tensor, second: Tensor) -> Tensor:
    """(B, C) Euclidean distances of (B, P) from (C, P) latents, over sqrt(P); the gradient at 0 is 0."""
    apart: Tensor = torch.linalg.vector_norm(first[:, None] - second[None], dim=-1)
    return apart / math.sqrt(first.shape[-1])


def soft(predicted: Predicted, batch: Batch, state: State) -> Tensor:
    """() the sum over samples of tau times the nats of the style's sentence plus 1 - tau times those of the response,
    both written from z'_tau = tau z_Style + (1 - tau) z_AE.

    The paper prints -tau log p(x | z_Style) - (1 - tau) log p(x | z_AE), of one x; of x there are two, and nothing else
    could teach what lies between them, so this is StyleFusion's L_smooth,style.
    """
    share = predicted["share"]
    of_style = _each(predicted["style"], batch.targets["style"], batch.targets["style_length"])
    of_response = _each(predicted["response"], batch.targets["written"], batch.targets["written_length"])
    return (share * of_style + (1 - share) * of_response).sum()


def _each(scores: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """(B,) nats of every row, from the (M, V) scores of its tokens."""
    at = asked(rows, lengths)
    surprise = F.cross_entropy(float32_scores(scores), rows[:, 1:][at], reduction="none")
    return surprise.new_zeros(at.shape).masked_scatter(at, surprise).sum(1)


def _others(apart: Tensor) -> Tensor:
    """(B, B - 1) of (B, B) numbers those that are off the diagonal."""
    count = len(apart)
    return apart.flatten()[1:].view(count - 1, count + 1)[:, :-1].reshape(count, count - 1)


def _capped(apart: Tensor, cap: float | None) -> Tensor:
    return apart if cap is None else apart.clamp_max(cap)
