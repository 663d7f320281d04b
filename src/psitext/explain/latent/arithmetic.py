"""Sums and differences of latents: analogies, and walks along one direction.

Analogy: z_D = z_C + degree (z_B - z_A), A is to B as C is to D (Li et al. 2020, table 2; the degree as in their
code). A and B may be sets of sentences, whose means stand for what each has in common; the noise of single sentences
falls as one over the root of their number. Letters: N latents, P their numbers, K directions, S steps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from psitext.nn.numerics import norm


def direction(a: Tensor, b: Tensor) -> Tensor:
    """(P,) from the mean of the latents (N, P) of one set to that of another, in double."""
    return b.double().mean(0) - a.double().mean(0)


def analogy(a: Tensor, b: Tensor, c: Tensor, degree: float = 1.0) -> Tensor:
    """(N, P) each latent of ``c`` (N, P), moved ``degree`` times from the mean of ``a`` to that of ``b``."""
    return (c.double() + degree * direction(a, b)).to(c.dtype)


def active(mean: Tensor) -> Tensor:
    """(P,) variance over sentences of the posterior means (N, P), in double: what "active units" compares with 0.01.

    It is the unbiased estimate, and 0 of one sentence.
    """
    wide = mean.double()
    return wide.var(0) if len(wide) > 1 else torch.zeros_like(wide[0])


def spread(mean: Tensor, log_var: Tensor, directions: Tensor) -> Tensor:
    """(K,) standard deviation of the aggregate posterior along directions (K, P), which need no unit norm.

    The aggregate is the mean of all sentences' Gaussians (N, P); its variance is the variance of their means and the
    mean of their variances.
    """
    unit = _units(directions)
    centred = mean.double() - mean.double().mean(0)
    between = (centred @ unit.mT).square().mean(0)
    within = log_var.double().exp().mean(0) @ unit.square().mT
    return (between + within).sqrt()


def traversal(latent: Tensor, directions: Tensor, deviations: Tensor, steps: Tensor) -> Tensor:
    """(K, S, P) a latent (P,) moved along each of (K, P) directions by ``steps`` (S,) of its ``deviations`` (K,)."""
    moves = deviations.double()[:, None, None] * steps.double()[:, None] * _units(directions)[:, None]
    return (latent.double() + moves).to(latent.dtype)


def _units(directions: Tensor) -> Tensor:
    """Directions as unit vectors in double. Errors: one that is 0."""
    wide = directions.double()
    sizes = norm(wide)
    if not bool((sizes > 0).all()):
        raise ValueError("a direction of length 0 leads nowhere")
    return wide / sizes
