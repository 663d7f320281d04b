"""What a sentence space holds: mutual information beside its ceiling, active units, importance weights of a bound.

Pure functions in double and in nats. A posterior q(z|x) is a Gaussian with a diagonal, the prior p(z) the standard one.
Letters: N sentences, P latent numbers, K draws.

Sources: Hoffman and Johnson 2016 (the KL term as I + KL(q(z) || p(z))); Dieng et al. 2019 and He et al. 2019 (the
estimator of I); Burda et al. 2016 (active units, eq. 8 of the bound).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from psitext.score.elbo import kl_per_dimension

ACTIVE = 0.01  # of the variance of a mean over sentences, above which its dimension counts as used (Burda et al. 2016)
BLOCK = 1_024  # sentences against sentences at a time: 8 MB of double


@dataclass(frozen=True, slots=True)
class Information:
    """What a latent tells of its sentence, nats; ``kl`` = ``mutual`` + ``marginal_kl``, exactly."""

    mutual: float  # I_q(x, z), estimated: its noise may carry it a little below 0 or above the ceiling
    ceiling: float  # log N: no more can be told of which of N sentences it is
    marginal_kl: float  # KL(q(z) || p(z)), of the posteriors' mixture
    kl: float  # mean of KL(q(z|x) || p(z))


def mutual_information(mean: Tensor, log_var: Tensor, draws: Tensor, block: int = BLOCK) -> Information:
    """I_q(x, z) = mean of E_q[log q(z|x)] - mean of log 1/N sum_j q(z_i|x_j), over one draw z_i of each sentence.

    All (N, P). The first term is exact, the second sums over all N sentences in blocks. Errors: ValueError, when there
    is no sentence or the shapes differ.
    """
    if not len(mean) or not mean.shape == log_var.shape == draws.shape:
        raise ValueError(f"shapes {tuple(mean.shape)}, {tuple(log_var.shape)} and {tuple(draws.shape)} are of no space")
    mean, log_var, draws = mean.double(), log_var.double(), draws.double()
    constant = 0.5 * mean.shape[1] * math.log(2 * math.pi)
    negentropy = float(-constant - 0.5 * (1 + log_var).sum(1).mean())
    mutual = negentropy - float(log_aggregated(mean, log_var, draws, block).mean())
    kl = float(kl_per_dimension(mean, log_var).sum(1).mean())
    return Information(mutual, math.log(len(mean)), kl - mutual, kl)


def log_aggregated(mean: Tensor, log_var: Tensor, draws: Tensor, block: int = BLOCK) -> Tensor:
    """(M,) log q(z) = log 1/N sum_j q(z|x_j) of (M, P) draws under N posteriors, double.

    A block of densities is two matrix products: (z - m)^2 / v = z^2 / v - 2 z m / v + m^2 / v.
    """
    mean, log_var, draws = mean.double(), log_var.double(), draws.double()
    found = []
    for some in draws.split(block):
        total = torch.full((len(some),), -torch.inf, dtype=torch.float64, device=some.device)
        for m, lv in zip(mean.split(block), log_var.split(block), strict=True):
            precision = (-lv).exp()
            own = (m.square() * precision + lv).sum(1)  # (block,)
            distance = some.square() @ precision.T - 2 * some @ (m * precision).T + own
            total = merged(total, -0.5 * distance, dim=1)
        found.append(total)
    constant = 0.5 * mean.shape[1] * math.log(2 * math.pi) + math.log(len(mean))
    return torch.cat(found) - constant


def merged(total: Tensor, more: Tensor, dim: int = -1) -> Tensor:
    """log(exp(total) + sum over ``dim`` of exp(more)): a log-sum-exp that goes on; it starts at -inf."""
    return torch.logaddexp(total, more.logsumexp(dim))


def active_units(mean: Tensor, threshold: float = ACTIVE) -> Tensor:
    """(P,) True where the variance over sentences of E_q[z_i|x], unbiased, is above the threshold; (N, P) means.

    Errors: ValueError for fewer than two sentences, which have no variance.
    """
    if len(mean) < 2:
        raise ValueError(f"{len(mean)} sentences have no variance; it takes two")
    apart = mean.double() - mean.double().mean(0)
    return apart.square().sum(0) / (len(mean) - 1) > threshold


def log_weights(log_likelihood: Tensor, noise: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    """log w = log p(x|z) + log p(z) - log q(z|x), double, at z = mean + sigma * noise.

    (...) log-likelihoods; (..., P) noise, mean and log-variance, which broadcast. The factors 2 pi of both densities
    cancel, and the distance from the mean is the noise itself.
    """
    z = latents(noise, mean, log_var)
    ratio = 0.5 * (noise.double().square() - z.square() + log_var.double()).sum(-1)
    return log_likelihood.double() + ratio


def latents(noise: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    """z = mean + sigma * noise, double; all (..., P)."""
    return mean.double() + (0.5 * log_var.double()).exp() * noise.double()


def bound(total: Tensor, draws: int) -> Tensor:
    """log p_K = log 1/K sum_k w_k, from the log-sum-exp of K log-weights (Burda et al. 2016, eq. 8)."""
    return total - math.log(draws)
