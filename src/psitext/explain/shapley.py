"""Exact Shapley values of a sentence's words under a recurrent arithmetic circuit.

The game: v(S) = f with the words of S in their places and baseline vectors in all others. f is multilinear in the
word vectors, so Shapley values are integrals along the diagonal (Owen 1972), which are integrated gradients,

    phi_t = integral over q in [0, 1] of (x_t - b_t) . df/dx_t at (1 - q) b + q x,

of a polynomial of degree T - 1 in q: ceil(T / 2) Gauss-Legendre nodes give it exactly. The pairwise interaction
index (Grabisch and Roubens 1999) is the same integral of the second derivative. Letters as in ``passes``; n nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psitext.explain.mps.chain import Chain
from psitext.explain.passes import Scaled, aligned, factors, outputs, prefixes, rescaled, settle, spread, suffixes

CHUNK = 2**23  # numbers in one array of bond vectors (64 MB): nodes are taken in groups of so many
NEWTON = 4  # steps from a guess that is right to 1 / n^4, each squaring the error

Floats = npt.NDArray[np.float64]
Slopes = Callable[[Chain, Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True, slots=True, eq=False)
class Shapley:
    """What each word adds: ``values`` sum over words to ``whole - nothing``. All are to be times exp(log_scale)."""

    values: Tensor  # (B, K, T)
    nothing: Tensor  # (B, K) f of the baseline vectors alone
    whole: Tensor  # (B, K) f of the sentence
    log_scale: Tensor  # (B,) 0 where all fit a double


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """What two words add together beyond what each adds without the other; to be times exp(log_scale)."""

    values: Tensor  # (B, K, T, T) symmetric, 0 on the diagonal
    log_scale: Tensor  # (B,)


@torch.no_grad()
def shapley(chain: Chain, words: Tensor, baseline: Tensor) -> Shapley:
    """Shapley values of words (B, T, d) against a baseline (d,), or one that broadcasts to the words.

    T is the sentences' own, whatever the chain's length. Time T^2 D^2 a sentence. Errors: as ``passes.factors``;
    a baseline of another shape.
    """
    u, base = factors(chain, words), factors(chain, spread(baseline, words))
    values = _along_diagonal(chain, u, base, _slopes, (u.shape[1] + 1) // 2)
    (shares, nothing, whole), top = aligned(values, outputs(chain, base), outputs(chain, u))
    settled, log_scale = settle(torch.cat([shares, nothing[..., None], whole[..., None]], dim=-1), top)
    return Shapley(settled[..., :-2], settled[..., -2], settled[..., -1], log_scale)


@torch.no_grad()
def interactions(chain: Chain, words: Tensor, baseline: Tensor) -> Interactions:
    """Shapley interaction indices of every two words; arguments and errors as ``shapley``. Time T^3 D^2 a sentence."""
    u, base = factors(chain, words), factors(chain, spread(baseline, words))
    halves, exponent = _along_diagonal(chain, u, base, _curvatures, max(u.shape[1] // 2, 1))
    return Interactions(*settle(halves + halves.mT, exponent))


@lru_cache(maxsize=64)
def gauss_legendre(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights (n,) on [0, 1], exact for polynomials of degree 2 n - 1.

    Newton's method on Legendre's recurrence. Eigenvalues of the Jacobi matrix, the usual way, lose six digits at
    n = 1000, where polynomials of degree 2 n - 1 live on the last few nodes.
    """
    x = (1 - (nodes - 1) / (8 * nodes**3)) * np.cos(np.pi * (4 * np.arange(nodes, 0, -1) - 1) / (4 * nodes + 2))
    for _ in range(NEWTON):
        before, value = np.ones_like(x), x  # P_0, P_1
        for k in range(2, nodes + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        slope = nodes * (before - x * value) / (1 - x * x)
        x = x - value / slope
    return (1 + x) / 2, 1 / ((1 - x * x) * slope * slope)


def _along_diagonal(chain: Chain, u: Tensor, base: Tensor, slopes: Slopes, nodes: int) -> Scaled:
    """The integral over q of what ``slopes`` finds at (1 - q) base + q u, group of nodes by group."""
    q, weights = (torch.from_numpy(part).to(u) for part in gauss_legendre(nodes))
    each = max(CHUNK // u.numel(), 1)
    sums = []
    for at, weight in zip(q.split(each), weights.split(each), strict=True):
        mixed = torch.lerp(base, u, at[:, None, None, None])  # (n, B, T, D)
        values, exponents = slopes(chain, mixed, u - base)
        axes = (0, *range(2, exponents.ndim))
        top = exponents.amax(axes, keepdim=True)
        top = torch.where(top.isfinite(), top, 0)  # -inf: a sentence of one word has no two words
        parts = values * torch.exp2(exponents - top)
        sums.append((torch.einsum("n,n...->...", weight, parts), top.flatten()))
    groups, top = aligned(*sums)
    return torch.stack(groups).sum(0), top


def _slopes(chain: Chain, mixed: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """(x_t - b_t) . df/dx_t at every node: (n, B, K, T) and exponents (n, B, 1, T)."""
    u = mixed.flatten(0, 1)
    a, scales = prefixes(chain, u)
    pushed = (a.unflatten(0, mixed.shape[:2]) * step).flatten(0, 1)  # the change of h_t with q_t
    columns, exponents = [], []
    for t, g, scale in suffixes(chain, u):
        columns.append(torch.einsum("nki,ni->nk", g, pushed[:, t]))
        exponents.append(scale + scales[:, t])
    values, sizes = (torch.stack(part[::-1], dim=-1).unflatten(0, mixed.shape[:2]) for part in (columns, exponents))
    return values, sizes[:, :, None]


def _curvatures(chain: Chain, mixed: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """d^2 f / dq_i dq_t for words i < t at every node: (n, B, K, T, T) and exponents (n, B, 1, T, T), 0 elsewhere."""
    n, batch, length, bond = mixed.shape
    u, step = mixed.flatten(0, 1), step.expand(n, -1, -1, -1).flatten(0, 1)
    a, scales = prefixes(chain, u)
    values = u.new_zeros(n * batch, len(chain.last.reshape(-1, bond)), length, length)
    exponents = u.new_full((n * batch, 1, length, length), -torch.inf)
    moved, sizes = u.new_zeros(n * batch, 0, bond), u.new_zeros(n * batch, 0)  # W~_H dh_{t-1} / dq_i of all i < t
    right = sorted(suffixes(chain, u), key=lambda item: item[0])
    for t, g, scale in right:
        values[:, :, :t, t] = torch.einsum("nkd,nd,nid->nki", g, step[:, t], moved)
        exponents[:, 0, :t, t] = scale[:, None] + sizes
        changes = torch.cat([u[:, t, None] * moved, (step[:, t] * a[:, t])[:, None]], dim=1)  # dh_t / dq_i, i <= t
        sizes = torch.cat([sizes, scales[:, t, None]], dim=1)
        moved, shift = rescaled(changes @ chain.hidden.mT)
        sizes = sizes + shift
    return values.unflatten(0, (n, batch)), exponents.unflatten(0, (n, batch))
