"""exp(iH) on a batch of kets by Chebyshev polynomials, without forming exp(iH); and its exact gradient.

With a bound rho >= |H| of the spectrum and A = H / rho,

    exp(isH) = sum over k of c_k(s) T_k(A),   c_k(s) = (2 - [k = 0]) i^k J_k(s rho),

where J_k are Bessel functions. T_k(A) ket follows from one product with H a term. The Bessel functions fall faster
than any power once k passes rho, so a little more than rho terms reach any precision; dropping those from M on
costs at most the sum of 2 |J_k(rho)| in the value.

With ket -> U ket and the gradient g of the result (dL/dRe + i dL/dIm), the gradient of H is

    -i * integral over s from 0 to 1 of  u(s) v(s)^H,   u(s) = exp(-i (1 - s) H) g,   v(s) = exp(isH) ket.

u and v are sums of T_k(A) g and T_k(A) ket, M products each, of which the second are left from the forward pass; the
integral is taken by Gauss and Legendre's rule, whose M / 2 nodes integrate what the polynomials can represent exactly.
No division by differences of eigenvalues occurs, so degenerate spectra need no care.

Source: Tal-Ezer and Kosloff 1984 (the propagator); Kuczynski and Wozniakowski 1992 (the bound). Letters: B kets, D
width, M terms, N nodes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from psitext.nn.numerics import MIN_SPECTRUM
from psitext.randomness import generator

LANCZOS_STEPS = 20
ENOUGH = 0.1  # a bound below which a better one would spare no term that is worth its cost
MARGIN = 0.1  # of the spread of the spectrum, within which 20 steps find its ends in all but one of 10^3 matrices or so


@torch.no_grad()
def spectral_bound(h: Tensor) -> float:
    """A bound of |H|, the largest modulus of an eigenvalue of Hermitian (D, D). NaN or infinite where H is.

    The Frobenius norm always holds, but is too large by a factor of sqrt(D) for a random H. So 20 steps of Lanczos
    from a fixed random vector look for the ends of the spectrum, and a tenth of the spread found is added. That may
    still be too small for one H in a thousand, but then by so little that at most the norms of results show it
    (``exponential.apply_exponential`` looks at them).
    """
    certain = float(torch.linalg.vector_norm(torch.view_as_real(h)))
    if not np.isfinite(certain) or certain <= ENOUGH or len(h) <= LANCZOS_STEPS:
        return max(certain, MIN_SPECTRUM)
    lowest, highest = _ritz(h)
    return min(certain, max(abs(lowest), abs(highest)) + MARGIN * (highest - lowest) + MIN_SPECTRUM)


def _ritz(h: Tensor) -> tuple[float, float]:
    """The least and the largest Ritz value after ``LANCZOS_STEPS``; both lie within the spectrum of h."""
    from scipy.linalg import eigvalsh_tridiagonal  # here: a model that is only loaded does without scipy

    draws = generator(0, "lanczos").standard_normal((2, len(h), 1))
    now = torch.from_numpy(draws[0] + 1j * draws[1]).to(h)  # a column: its product is three times as fast as a vector's
    now, before, off = now / torch.linalg.vector_norm(now), torch.zeros_like(now), torch.zeros_like(now[0, 0].real)
    diagonal, beside = [], []
    for _ in range(LANCZOS_STEPS):
        step = h @ now - off * before
        diagonal.append((now.conj() * step).sum().real)
        step = step - diagonal[-1] * now
        off = torch.linalg.vector_norm(step)
        beside.append(off)
        # A start inside an invariant subspace leaves rounding errors here: as good a direction as any to go on in.
        before, now = now, step / off.clamp_min(torch.finfo(off.dtype).tiny)
    values = eigvalsh_tridiagonal(*(torch.stack(part).double().cpu().numpy() for part in (diagonal, beside[:-1])))
    return float(values[0]), float(values[-1])


def terms(rho: float, dtype: torch.dtype) -> int:
    """M: how many terms leave an error of value and of derivative below the rounding of ``dtype``.

    |T_k'| <= k^2 on [-1, 1], so what is dropped of the derivative by H is at most the sum of 2 |J_k(rho)| k^2 / rho in
    the Frobenius norm; it is the larger of both, and decides.
    """
    orders = np.arange(int(1.5 * rho) + 60)  # beyond, J_k(rho) underflows
    dropped = np.cumsum((2 * np.abs(_bessel(orders, rho)) * np.maximum(1, orders**2 / rho))[::-1])[::-1]
    return max(2, int((dropped > torch.finfo(dtype).eps / 4).sum()))


def _bessel(orders: npt.NDArray[Any], at: Any) -> Any:
    """J_k of the first kind."""
    from scipy.special import jv

    return jv(orders, at)


def coefficients(rho: float, moments: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.complex128]:
    """c_k(s) for every s of ``moments`` (N,) -> (N, M)."""
    orders = np.arange(count)
    powers = np.array([1, 1j, -1, -1j])[orders % 4]
    return (2 - (orders == 0)) * powers * _bessel(orders, rho * moments[:, None])  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def nodes(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Places and weights of Gauss and Legendre's rule on [0, 1] that is exact for degrees below ``2 (M // 2 + 1)``."""
    places, weights = np.polynomial.legendre.leggauss(count // 2 + 1)
    return (places + 1) / 2, weights / 2


class _Propagated(torch.autograd.Function):
    """(H, ket as columns (D, B), rho, M) -> exp(iH) ket (D, B)."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, ket: Tensor, rho: float, count: int) -> Tensor:
        polynomials = chebyshev(h, ket, rho, count)
        ctx.save_for_backward(h, polynomials)
        ctx.rho = rho
        return weighted(polynomials, coefficients(rho, np.ones(1), count))[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        h, of_ket = ctx.saved_tensors
        count = len(of_ket)
        of_gradient = chebyshev(h, gradient, ctx.rho, count)
        for_h, for_ket = None, None
        if ctx.needs_input_grad[0]:
            places, weights = nodes(count)
            left = weighted(of_gradient, weights[:, None] * coefficients(ctx.rho, 1 - places, count).conj())
            right = weighted(of_ket, coefficients(ctx.rho, places, count))  # both (N, D, B)
            sides = (side.transpose(0, 1).flatten(1) for side in (-1j * left, right.conj()))  # (D, N * B)
            for_h = next(sides) @ next(sides).T
        if ctx.needs_input_grad[1]:
            for_ket = weighted(of_gradient, coefficients(ctx.rho, np.ones(1), count).conj())[0]
        return for_h, for_ket, None, None


def chebyshev(h: Tensor, columns: Tensor, rho: float, count: int) -> Tensor:
    """T_k(H / rho) columns for k < M; (D, D), (D, B) -> (M, D, B)."""
    out = columns.new_empty(count, *columns.shape)
    out[0] = columns
    torch.mm(h, columns, out=out[1]).mul_(1 / rho)
    for k in range(2, count):
        torch.addmm(out[k - 2], h, out[k - 1], beta=-1, alpha=2 / rho, out=out[k])
    return out


def weighted(polynomials: Tensor, weights: npt.NDArray[np.complex128]) -> Tensor:
    """Sums over k; (M, D, B), (N, M) -> (N, D, B)."""
    sums: Tensor = torch.tensordot(torch.from_numpy(weights).to(polynomials), polynomials, dims=1)
    return sums


def propagate(h: Tensor, ket: Tensor, rho: float, count: int) -> Tensor:
    """exp(ih) ket for Hermitian h (D, D), ket (B, D) -> (B, D); gradients of both."""
    out: Tensor = _Propagated.apply(h, ket.T, rho, count).T  # type: ignore[no-untyped-call]
    return out
