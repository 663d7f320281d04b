"""The nearest of many latents: exact, in blocks, so that memory does not grow with their number.

Distances: "cosine", 1 - cos of the means; "euclidean" of the means; "kl", half of KL(p || q) + KL(q || p) of the
posteriors, in nats, which also weighs how sure the encoder is. Letters: Q queries, N latents, P their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from psitext.nn.numerics import norm
from psitext.state import Posterior

By = Literal["cosine", "euclidean", "kl"]
BLOCK = 2**22  # differences of numbers that are held at once (32 MB)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """For each query the nearest first; equal ones in their order among the latents."""

    index: Tensor  # (Q, top) int64
    distance: Tensor  # (Q, top) double


def nearest(queries: Posterior, among: Posterior, top: int, by: By = "cosine", block: int = BLOCK) -> Neighbours:
    """The ``top`` nearest of ``among`` (all of them, where these are fewer) to every query.

    Errors: another width; a top below 1.
    """
    if queries.width != among.width:
        raise ValueError(f"latents of {queries.width} and of {among.width} numbers have no distance")
    if top < 1:
        raise ValueError(f"the nearest are one at least, not {top}")
    asked = _double(queries)
    index = torch.empty(len(queries), 0, dtype=torch.int64)
    distance = torch.empty(len(queries), 0, dtype=torch.float64)
    step = max(block // max(len(queries) * queries.width, 1), 1)
    for first in range(0, len(among), step):
        some = _double(among[first : first + step])
        numbers = torch.arange(first, first + len(some)).expand(len(queries), -1)
        distance, order = torch.cat([distance, DISTANCES[by](asked, some)], dim=1).sort(dim=1, stable=True)
        index = torch.cat([index, numbers], dim=1).gather(1, order)[:, :top]
        distance = distance[:, :top]
    return Neighbours(index, distance)


# Each by differences and not by matrix products, whose rounding depends on where in a block a latent stands.


def euclidean(queries: Posterior, among: Posterior) -> Tensor:
    """(Q, N) distances of the means."""
    return _apart(queries.vector, among.vector)


def cosine(queries: Posterior, among: Posterior) -> Tensor:
    """(Q, N) 1 - cos of the means, which is half of the squared distance of their directions; 1 from the origin, which
    has none.
    """
    u, v = _directions(queries.vector), _directions(among.vector)
    both = u.any(1)[:, None] & v.any(1)
    return torch.where(both, _apart(u, v).square() / 2, 1.0)


def symmetric_kl(queries: Posterior, among: Posterior) -> Tensor:
    """(Q, N) half of KL(p || q) + KL(q || p) of Gaussians with diagonal covariance, in nats.

    Of one dimension it is (d^2 (1 / v + 1 / w) + (v - w)^2 / (v w)) / 4, with variances v, w and d between the means.
    """
    v, w = queries.log_var[:, None], among.log_var
    d = queries.vector[:, None] - among.vector
    # (v - w)^2 / (v w) is 4 sinh^2 of half the logarithms' difference, also where v w is too small for a double.
    return (d.square() * ((-v).exp() + (-w).exp()) + 4 * ((v - w) / 2).sinh().square()).sum(-1) / 4


Distance = Callable[[Posterior, Posterior], Tensor]
DISTANCES: dict[str, Distance] = {"cosine": cosine, "euclidean": euclidean, "kl": symmetric_kl}


def _apart(first: Tensor, second: Tensor) -> Tensor:
    return torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")


def _directions(vectors: Tensor) -> Tensor:
    """Unit vectors, and 0 of 0."""
    sizes = norm(vectors)
    return vectors / torch.where(sizes > 0, sizes, 1.0)


def _double(state: Posterior) -> Posterior:
    return Posterior(state.vector.double(), state.log_var.double())
