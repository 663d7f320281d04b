"""Unitaries that a Hermitian matrix generates: H = (W + W^H) / 2 of any complex W (QBERT, eq. 8).

Every W gives a unitary, so W is trained without constraint; half of its numbers do not count, since only its Hermitian
part is seen. Letters: B sentences, D width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Tensor, nn


def hermitian(weight_re: Tensor, weight_im: Tensor) -> Tensor:
    """H = (W + W^H) / 2, complex, of the two real parts of W; (D, D), (D, D) -> (D, D)."""
    return torch.complex(weight_re + weight_re.T, weight_im - weight_im.T) / 2


class Generated(nn.Module, ABC):
    """U(H) ket; complex (B, D) -> (B, D). Parameters ``weight_re`` and ``weight_im`` (D, D), normal, of deviation
    ``std`` each, so that the eigenvalues of H fill [-2 std sqrt(D), 2 std sqrt(D)] at first (Wigner's semicircle).
    """

    def __init__(self, width: int, std: float) -> None:
        super().__init__()
        self.width = self.outcomes = width
        self.weight_re = nn.Parameter(torch.empty(width, width).normal_(std=std))
        self.weight_im = nn.Parameter(torch.empty(width, width).normal_(std=std))
        self._kept: tuple[object, Tensor] | None = None  # what U was made of, and U

    @abstractmethod
    def act(self, h: Tensor, ket: Tensor) -> Tensor:
        """U(h) ket with gradients; h (D, D), ket (B, D) -> (B, D)."""

    @abstractmethod
    def dense(self, h: Tensor) -> Tensor:
        """U(h); (D, D) -> (D, D)."""

    def forward(self, ket: Tensor) -> Tensor:
        """Complex (B, D) -> (B, D). In evaluation mode without gradients U is made once, and kept until W changes."""
        if self.training or torch.is_grad_enabled():
            return self.act(hermitian(self.weight_re, self.weight_im), ket)
        return ket @ self._cached(ket.dtype).T

    @torch.no_grad()
    def unitary(self) -> Tensor:
        """U recomputed in double precision, complex128 (D, D), whatever the precision of W."""
        return self.dense(hermitian(self.weight_re.double(), self.weight_im.double()))

    def train(self, mode: bool = True) -> Self:
        """Training or evaluation mode; training forgets the U that was kept."""
        if mode:
            self._kept = None
        return super().train(mode)

    def _cached(self, dtype: torch.dtype) -> Tensor:
        made_of = (dtype, *((p._version, p.data_ptr(), p.device) for p in (self.weight_re, self.weight_im)))
        if self._kept is None or self._kept[0] != made_of:
            self._kept = (made_of, self.unitary().to(dtype))
        return self._kept[1]

    def extra_repr(self) -> str:
        """The width, for printing."""
        return f"width={self.width}"
