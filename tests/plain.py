"""Circuits read word by word as the equations stand, and laws of words, for the tests of explanations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from chains import draw, weights
from psitext.explain.mps.chain import Chain, close


def several(chi: int, width: int, length: int, outputs: int = 2, seed: int = 0, scale: float = 1.0) -> Chain:
    """A random chain with several closings (K, D)."""
    generator = torch.Generator().manual_seed(seed)
    last = torch.randn(outputs, chi + 1, generator=generator, dtype=torch.float64)
    return replace(draw(chi, width, length, seed=seed, scale=scale), last=last)


def calm(chi: int, width: int, length: int, seed: int = 0, outputs: int = 1) -> Chain:
    """A circuit near a linear one, as training leaves it: orthogonal W_H, b_I = 1, words that turn it a little."""
    hidden, hidden_bias, inputs, _ = weights(chi, width, seed=seed)
    rotation = torch.linalg.qr(hidden)[0]
    chain = close(0.9 * rotation, 0.3 * hidden_bias, 0.4 * inputs, torch.ones_like(hidden_bias), length)
    return replace(chain, last=several(chi, width, length, outputs, seed).last)


def value(chain: Chain, words: Tensor) -> Tensor:
    """f of word vectors (B, T, d), (B, K), with no care for scales."""
    h = chain.first.expand(len(words), -1)
    for word in words.unbind(1):
        h = (h @ chain.hidden.T) * (torch.cat([word, torch.ones_like(word[:, :1])], dim=1) @ chain.inputs.T)
    return h @ chain.last.reshape(-1, chain.bond).T


def vocabulary(count: int, width: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Word vectors (N, d) that lie askew, and their probabilities (N,)."""
    generator = torch.Generator().manual_seed(seed)
    askew = torch.randn(width, width, generator=generator, dtype=torch.float64)
    vectors = torch.randn(count, width, generator=generator, dtype=torch.float64) @ askew / 3 + 0.2
    law = 1 / (1.0 + torch.arange(count, dtype=torch.float64))
    return vectors, law / law.sum()


def every_sentence(vectors: Tensor, law: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """All N^T sentences (N^T, T, d) and their probabilities (N^T,)."""
    ids = torch.tensor(list(product(range(len(vectors)), repeat=length)))
    return vectors[ids], law[ids].prod(1)


def drawn(vectors: Tensor, law: Tensor, count: int, length: int, seed: int = 0) -> Tensor:
    """Sentences (count, T, d) of independent words."""
    generator = torch.Generator().manual_seed(seed)
    return vectors[torch.multinomial(law, count * length, True, generator=generator).reshape(count, length)]


def mean_square(values: Tensor, chances: Tensor) -> Tensor:
    """E[f^2] summed over closings; values (S, K), chances (S,)."""
    return (chances[:, None] * values.square()).sum()
