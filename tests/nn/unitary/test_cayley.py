"""Cayley's unitary: against its definition and its Taylor series."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.testing import assert_close

from psitext.nn.unitary.cayley import apply_cayley
from psitext.nn.unitary.exponential import exponential
from psitext.nn.unitary.generated import hermitian

DOUBLE = torch.complex128


def weights(width: int, std: float) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return std * torch.randn(width, width).double(), std * torch.randn(width, width).double()


def test_parity_with_the_definition() -> None:
    ket = torch.randn(3, 6, dtype=DOUBLE)
    for std in (0.0, 0.1, 5.0, 1e4):
        re, im = weights(6, std)
        values, vectors = torch.linalg.eigh(hermitian(re, im))
        u = (vectors * ((1 + 0.5j * values) / (1 - 0.5j * values))) @ vectors.mH
        assert_close(apply_cayley(re, im, ket), ket @ u.T, rtol=0, atol=1e-10)


def test_known_near_the_identity_it_is_the_exponential() -> None:
    """They part at the third order: exp(i x) and exp(2 i arctan(x / 2)) differ by x^3 / 12."""
    re, im = weights(6, 0.01)
    cube = torch.linalg.matrix_power(hermitian(re, im), 3)
    u = apply_cayley(re, im, torch.eye(6, dtype=DOUBLE)).T
    assert_close(exponential(re, im) - u, 1j * cube / 12, rtol=0, atol=3 * float(torch.linalg.matrix_norm(cube)) * 0.05)
    assert float((exponential(re, im) - u).abs().max()) > 1e-8


def test_law_gradients() -> None:
    re, im = (part.requires_grad_() for part in weights(4, 0.5))
    ket = torch.randn(2, 4, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(apply_cayley, (re, im, ket))
    zero = torch.zeros(4, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(apply_cayley, (zero.clone().requires_grad_(), zero.clone().requires_grad_(), ket))
