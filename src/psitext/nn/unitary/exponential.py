"""U = exp(iH) with H = (W + W^H) / 2 (QBERT, eq. 8), acting on kets; two ways, of which the cheaper one is taken.

- Chebyshev polynomials (``chebyshev.py``): about 2.5 M products of (D, D) with (D, B), forward and backward.
- Eigenvalues: H = V e V^H, so U ket = V exp(ie) V^H ket. With the gradient g of the result the gradient of H is
  V (conj(L) o (V^H g)(V^H ket)^H) V^H, where L_jk = (exp(i e_j) - exp(i e_k)) / (e_j - e_k) is written as
  i exp(i (e_j + e_k) / 2) sin(x) / x of x = (e_j - e_k) / 2, which needs no division and holds for equal eigenvalues
  (Daleckii and Krein 1965). That differentiating V itself would divide by e_j - e_k is why autograd fails here.

Letters: B kets, D width, M terms.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from psitext.nn.numerics import LOST_NORM, MIN_SPECTRUM, norm
from psitext.nn.unitary.chebyshev import propagate, spectral_bound, terms
from psitext.nn.unitary.generated import Generated, hermitian

# What the eigenvalues and three products with V cost, in products of (D, D) with (D, D); measured for D of 128 to 768.
EIGEN_PRODUCTS = 5.5


def apply_exponential(weight_re: Tensor, weight_im: Tensor, ket: Tensor) -> Tensor:
    """U ket; weights (D, D) real, ket complex (B, D) -> (B, D), with gradients of all three.

    M terms cost 2.5 M B D^2, eigenvalues ``EIGEN_PRODUCTS`` D^3; the cheaper way is taken. Both give the same to
    rounding. The spectral bound behind M is a very likely one; should the result show by its norm that it was too
    small, eigenvalues are taken after all. Where W is not finite the result is NaN.
    """
    h = hermitian(weight_re, weight_im)
    return _exponential(h, ket)


def exponential(weight_re: Tensor, weight_im: Tensor) -> Tensor:
    """U itself, (D, D) complex, with gradients, by eigenvalues."""
    return _dense(hermitian(weight_re, weight_im))


def _dense(h: Tensor) -> Tensor:
    columns: Tensor = by_eigenvalues(h, torch.eye(len(h), dtype=h.dtype, device=h.device)).T
    return columns


def _exponential(h: Tensor, ket: Tensor) -> Tensor:
    series = _series(h.detach(), ket)
    if series is not None:
        out = propagate(h, ket, *series)
        before, after = norm(ket.detach()), norm(out.detach())
        lost = (after - before).abs() > LOST_NORM * series[1] * torch.finfo(ket.dtype).eps * before
        if not bool(lost.any()):
            return out
    return by_eigenvalues(h, ket)


def _series(h: Tensor, ket: Tensor) -> tuple[float, int] | None:
    """The bound of the spectrum and the number of terms; None where eigenvalues are cheaper, or h is not finite."""
    if not polynomials_pay(terms(MIN_SPECTRUM, ket.dtype), *ket.shape):  # not even for h near 0
        return None
    rho = spectral_bound(h)
    if not polynomials_pay(rho, *ket.shape):  # there are more terms than rho, which may be anything, NaN included
        return None
    count = terms(rho, ket.dtype)
    return (rho, count) if polynomials_pay(count, *ket.shape) else None


def polynomials_pay(count: float, kets: int, width: int) -> bool:
    """Whether M terms on B kets of width D cost less than eigenvalues."""
    return 2.5 * count * kets <= EIGEN_PRODUCTS * width


class _Spectral(torch.autograd.Function):
    """(H, ket (B, D)) -> exp(iH) ket."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, ket: Tensor) -> Tensor:
        values, vectors = torch.linalg.eigh(h)
        turned = ket @ vectors.conj()  # V^H ket, (B, D)
        phases = torch.polar(torch.ones_like(values), values)
        ctx.save_for_backward(values, vectors, turned, phases)
        out: Tensor = (turned * phases) @ vectors.T
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        values, vectors, turned, phases = ctx.saved_tensors
        of_gradient = gradient @ vectors.conj()  # V^H g
        for_h, for_ket = None, None
        if ctx.needs_input_grad[0]:
            half = torch.polar(torch.ones_like(values), values / 2)
            slopes = 1j * half[:, None] * half * torch.sinc((values[:, None] - values) / (2 * torch.pi))  # L
            for_h = vectors @ (slopes.conj() * (of_gradient.T @ turned.conj())) @ vectors.mH
        if ctx.needs_input_grad[1]:
            for_ket = (of_gradient * phases.conj()) @ vectors.T
        return for_h, for_ket


def by_eigenvalues(h: Tensor, ket: Tensor) -> Tensor:
    """exp(ih) ket for Hermitian h (D, D), ket (B, D) -> (B, D), with gradients of both; NaN where h is not finite."""
    if not bool(h.isfinite().all()):  # LAPACK would raise; a loss of NaN names the step and the batch
        return ket * torch.nan
    out: Tensor = _Spectral.apply(h, ket)  # type: ignore[no-untyped-call]
    return out


class Exponential(Generated):
    """exp(iH) ket; complex (B, D) -> (B, D)."""

    def act(self, h: Tensor, ket: Tensor) -> Tensor:
        """By whichever way is cheaper."""
        return _exponential(h, ket)

    def dense(self, h: Tensor) -> Tensor:
        """By eigenvalues."""
        return _dense(h)
