"""What compression makes: trains of three-legged tensors that read word vectors, and how far they are from a circuit.

A core (D_l, p, D_r) takes the bond vector before a word to the one after it: h_r <- sum h_l Phi~_s core[l, s, r].
``Sites`` has a core of its own for each of T words; ``Uniform`` one for all, so it reads any number of them (a
weighted automaton). Both are plain tensors in double. Letters as in ``passes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.passes import Outputs, read, rescaled, settle


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """A finite chain: T cores (D_{t-1}, p, D_t), D_0 = 1 and D_T = K."""

    cores: tuple[Tensor, ...]

    @property
    def bonds(self) -> tuple[int, ...]:
        """D_1 ... D_{T-1}."""
        return tuple(core.shape[2] for core in self.cores[:-1])

    def run(self, words: Tensor) -> Outputs:
        """Word vectors (B, T, d) -> (B, K)."""
        wide = read(words, self.cores[0].shape[1])
        if wide.shape[1] != len(self.cores):
            raise UserError(f"a chain of {len(self.cores)} words cannot read sentences of {wide.shape[1]}")
        return Outputs(*settle(*_bonds(self.cores[0].new_ones(1), self.cores, wide)))


@dataclass(frozen=True, slots=True, eq=False)
class Uniform:
    """A linear recurrence with the same core for every word."""

    core: Tensor  # (D, p, D)
    first: Tensor  # (D,)
    last: Tensor  # (K, D)

    @property
    def bond(self) -> int:
        """D."""
        return self.core.shape[0]

    def run(self, words: Tensor) -> Outputs:
        """Word vectors (B, T, d), of any T -> (B, K)."""
        wide = read(words, self.core.shape[1])
        h, exponent = _bonds(self.first, [self.core] * wide.shape[1], wide)
        return Outputs(*settle(h @ self.last.mT, exponent))


def relative_rms(exact: Outputs, approximate: Outputs) -> float:
    """Root mean square of the difference over that of what is exact; over all sentences and closings together."""
    top = torch.maximum(exact.log_scale, approximate.log_scale).max()
    f, g = (each.values * (each.log_scale - top).exp()[:, None] for each in (exact, approximate))
    return float((g - f).norm() / f.norm())


def _bonds(first: Tensor, cores: Sequence[Tensor], words: Tensor) -> tuple[Tensor, Tensor]:
    """The bond vectors (B, D) after the last of words (B, T, p), and exponents (B,)."""
    h = first.expand(len(words), -1)
    exponent = h.new_zeros(len(words))
    for core, word in zip(cores, words.unbind(1), strict=True):
        both = (h[:, :, None] * word[:, None]).flatten(1)
        h, shift = rescaled(both @ core.flatten(0, 1))
        exponent = exponent + shift
    return h, exponent
