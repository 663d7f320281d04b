"""Circuits and their states for the tests of matrix product states, written out as the equations stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from psitext.explain.mps.chain import Chain, close


def weights(chi: int, width: int, *restarts: int, seed: int = 0, scale: float = 1.0) -> tuple[Tensor, ...]:
    """W_H, b_H, W_I, b_I in double, Gaussian; of a variance that keeps h near its size for ``scale`` 1."""
    generator = torch.Generator().manual_seed(1000 * seed + 10 * chi + width)

    def draw(*shape: int) -> Tensor:
        return scale * torch.randn(*restarts, *shape, generator=generator, dtype=torch.float64)

    return draw(chi, chi) / chi**0.5, draw(chi), draw(chi, width) / width**0.5, draw(chi)


def draw(chi: int, width: int, length: int, *restarts: int, seed: int = 0, scale: float = 1.0) -> Chain:
    """A random chain closed with ones."""
    return close(*weights(chi, width, *restarts, seed=seed, scale=scale), length)


def sentences(count: int, length: int, width: int, seed: int = 0) -> Tensor:
    """Word vectors (count, length, width) without the constant."""
    return torch.randn(count, length, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_one(vectors: Tensor) -> Tensor:
    """Phi~ of Phi."""
    return torch.cat([vectors, torch.ones_like(vectors[..., :1])], dim=-1)


def cores(chain: Chain) -> np.ndarray:
    """A^s = diag(W~_I[:, s]) W~_H of one chain, (p, D, D)."""
    return np.stack([np.diag(column) @ chain.hidden.numpy() for column in chain.inputs.numpy().T])


def dense(chain: Chain) -> np.ndarray:
    """Psi[s_1, ..., s_T] of one chain as a full tensor, (p, ..., p)."""
    matrices, psi = cores(chain), chain.first.numpy()
    for _ in range(chain.length):
        psi = np.einsum("srl,...l->...sr", matrices, psi)
    return psi @ chain.last.numpy()


def dense_schmidt(psi: np.ndarray, cut: int) -> np.ndarray:
    """Normalised singular values of a full tensor between its first ``cut`` axes and the others."""
    values = np.linalg.svd(psi.reshape(int(np.prod(psi.shape[:cut])), -1), compute_uv=False)
    return values / np.linalg.norm(values)


def bits(schmidt: Any) -> float:
    """-sum lambda^2 log2 lambda^2, term by term."""
    return -sum(float(value) ** 2 * np.log2(float(value) ** 2) for value in schmidt if float(value) ** 2 > 0)


def rescaled_units(chain: Chain, sizes: Tensor) -> Chain:
    """The same state with the values of hidden units multiplied by ``sizes`` (D,)."""
    hidden = sizes[:, None] * chain.hidden / sizes
    return replace(chain, hidden=hidden, first=sizes * chain.first, last=chain.last / sizes)
