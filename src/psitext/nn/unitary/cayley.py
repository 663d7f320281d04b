"""Cayley's unitary U = (I - iH/2)^-1 (I + iH/2): exp(2i arctan(H/2)), which is exp(iH) up to terms of H^3.

It costs one solve. Eigenvalues of H from -inf to inf go once round the circle, so -1 is no eigenvalue of U, and large
H hardly move it; near H = 0 it and the exponential train alike. I - iH/2 has singular values of at least 1, so the
solve is well conditioned for every H. Letters: B kets, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from psitext.nn.unitary.generated import Generated, hermitian


def apply_cayley(weight_re: Tensor, weight_im: Tensor, ket: Tensor) -> Tensor:
    """U ket; weights (D, D) real, ket complex (B, D) -> (B, D), with gradients of all three."""
    return _cayley(hermitian(weight_re, weight_im), ket)


def _cayley(h: Tensor, ket: Tensor) -> Tensor:
    """With A = I - iH/2 the map is A^-1 (2I - A) = 2 A^-1 - I."""
    a = torch.eye(len(h), dtype=h.dtype, device=h.device) - 0.5j * h
    solved: Tensor = torch.linalg.solve(a, ket.T).T
    return 2 * solved - ket


class Cayley(Generated):
    """(I - iH/2)^-1 (I + iH/2) ket; complex (B, D) -> (B, D)."""

    def act(self, h: Tensor, ket: Tensor) -> Tensor:
        """By one solve."""
        return _cayley(h, ket)

    def dense(self, h: Tensor) -> Tensor:
        """By one solve with every basis ket."""
        return _cayley(h, torch.eye(len(h), dtype=h.dtype, device=h.device)).T
