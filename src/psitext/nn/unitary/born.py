"""Born's rule: what is measured of a ket, |amplitude|^2 for every basis state, and outcomes that are told together.

Letters: B kets, D amplitudes (of the logical width: 768 stays 768), K outcomes told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def probabilities(ket: Tensor) -> Tensor:
    """|amplitude|^2, real, of complex (..., D) -> (..., D); the sum is the ket's squared norm, 1."""
    return ket.real.square() + ket.imag.square()


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The K outcomes that ``width`` basis states are counted as: each its own, or ``groups`` runs of neighbours.

    Basis state j belongs to group ``j * groups // width``, so that groups have equal sizes, or sizes that differ by
    one where ``groups`` does not divide ``width``. If both are powers of two, a group is what the first log2(groups)
    qubits read (big-endian: those are the leading bits of j), and the others need not be measured. Otherwise all are
    measured, and counts are added up by this rule.
    """

    width: int
    groups: int | None = None

    def __post_init__(self) -> None:
        if self.groups is not None and not 1 <= self.groups <= self.width:
            raise ValueError(f"{self.width} basis states cannot make {self.groups} groups")

    @property
    def count(self) -> int:
        """K."""
        return self.groups or self.width

    @property
    def starts(self) -> list[int]:
        """The first basis state of every group; (K,)."""
        return [-(-group * self.width // self.count) for group in range(self.count)]

    @property
    def qubits(self) -> int | None:
        """How many of the first qubits tell the outcome, where so few do; None where all have to be read."""
        both = (self.width, self.count)
        return self.count.bit_length() - 1 if all(n & (n - 1) == 0 for n in both) else None

    def grouped(self, probs: Tensor) -> Tensor:
        """Probabilities of outcomes; (..., D) -> (..., K)."""
        if self.groups is None:
            return probs
        group = torch.arange(self.width, device=probs.device) * self.groups // self.width
        return probs.new_zeros(*probs.shape[:-1], self.groups).index_add(-1, group, probs)
