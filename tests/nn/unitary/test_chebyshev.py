"""Chebyshev's way to exp(iH) ket: its bound of the spectrum, its number of terms, its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import jv
from torch import Tensor
from torch.testing import assert_close

from psitext.nn.unitary.chebyshev import chebyshev, coefficients, nodes, propagate, spectral_bound, terms
from psitext.nn.unitary.generated import hermitian

DOUBLE = torch.complex128


def random_h(width: int, size: float, seed: int = 0) -> Tensor:
    """A Hermitian matrix whose largest eigenvalue has the modulus ``size``."""
    torch.manual_seed(seed)
    h = hermitian(torch.randn(width, width).double(), torch.randn(width, width).double())
    return h * (size / torch.linalg.eigvalsh(h).abs().max())


def spectra(width: int) -> dict[str, Tensor]:
    """Matrices whose spectra look different: a bulk, one value far out, few values, a flat density, nothing."""
    torch.manual_seed(1)
    q, _ = torch.linalg.qr(torch.randn(width, width, dtype=DOUBLE))
    alone = torch.zeros(width, dtype=torch.float64)
    alone[0] = -5
    values = {
        "far": torch.linspace(-1, 1, width).double() + alone,
        "few": torch.arange(width).double() % 3 * 2,
        "flat": torch.linspace(-8, 8, width).double(),
        "one": torch.full((width,), 3.0).double(),
        "none": torch.zeros(width).double(),
    }
    made = {name: hermitian(*torch.view_as_real((q * value) @ q.mH).unbind(-1)) for name, value in values.items()}
    return made | {"bulk": random_h(width, 4.0)}


@pytest.mark.parametrize("width", [5, 90])
def test_law_the_bound_holds_and_is_tight(width: int) -> None:
    for name, h in spectra(width).items():
        largest = torch.linalg.eigvalsh(h).abs().max().item()
        for dtype in (torch.complex64, DOUBLE):
            bound = spectral_bound(h.to(dtype))
            assert bound >= largest, name
            if width == 90 and largest:
                assert bound <= 1.3 * largest, name
    assert 0 < spectral_bound(spectra(width)["none"]) < 0.01


def test_known_the_bound_of_what_is_not_finite_is_not_finite() -> None:
    h = random_h(30, 1.0)
    h[2, 3] = torch.nan
    assert not np.isfinite(spectral_bound(h))


@given(st.floats(2.0**-10, 60.0))
def test_law_the_terms_reach_the_precision_and_not_much_further(rho: float) -> None:
    """Against the function itself on a grid: value to rounding, derivative too, and ten terms fewer would not do."""
    x = np.linspace(-1, 1, 301)
    for dtype, eps in ((torch.complex64, 1.2e-7), (DOUBLE, 2.3e-16)):
        count = terms(rho, dtype)
        assert count <= rho + 10 * rho ** (1 / 3) + 20
        c = coefficients(rho, np.ones(1), count)[0]
        series = np.polynomial.chebyshev.chebval(x, c)
        slope = np.polynomial.chebyshev.chebval(x, np.polynomial.chebyshev.chebder(c)) / rho
        exact = np.exp(1j * rho * x)
        rounding = 1e-15 * (1 + rho) * count
        assert np.abs(series - exact).max() < eps + rounding
        assert np.abs(slope - 1j * exact).max() < eps + rounding * count / min(rho, 1)
        if count > 12:
            assert np.abs(np.polynomial.chebyshev.chebval(x, c[:-10]) - exact).max() > eps


def test_known_the_first_terms() -> None:
    assert_close(
        coefficients(1.5, np.array([1.0, 0.5]), 2),
        np.array([[jv(0, 1.5), 2j * jv(1, 1.5)], [jv(0, 0.75), 2j * jv(1, 0.75)]]),
    )
    h, columns = random_h(3, 2.0), torch.randn(3, 2, dtype=DOUBLE)
    a = h / 2.5
    polynomials = chebyshev(h, columns, 2.5, 4)
    assert_close(polynomials[1], a @ columns)
    assert_close(polynomials[2], (2 * a @ a - torch.eye(3)) @ columns)
    assert_close(polynomials[3], (4 * a @ a @ a - 3 * a) @ columns)


def test_known_the_rule_integrates_polynomials() -> None:
    for count in (2, 5, 20):
        places, weights = nodes(count)
        for power in range(count + 1):
            assert_close((weights * places**power).sum(), 1 / (power + 1), rtol=1e-12, atol=0)


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_parity_with_scipys_exponential(size: float) -> None:
    h, ket = random_h(12, size), torch.randn(3, 12, dtype=DOUBLE)
    exact = ket @ torch.from_numpy(scipy.linalg.expm(1j * h.numpy())).T
    for bound in (size, 1.7 * size):  # a bound that is too large costs terms, not precision
        assert_close(propagate(h, ket, bound, terms(bound, DOUBLE)), exact, rtol=0, atol=1e-12)
    single = propagate(h.to(torch.complex64), ket.to(torch.complex64), size, terms(size, torch.complex64))
    assert single.dtype == torch.complex64
    assert_close(single, exact.to(torch.complex64), rtol=0, atol=1e-6 * (1 + size))


@pytest.mark.parametrize("size", [2.0**-12, 0.5, 12.0])
def test_law_the_gradient_is_that_of_the_exponential(size: float) -> None:
    h, ket = random_h(5, size), torch.randn(2, 5, dtype=DOUBLE)
    rho = spectral_bound(h)
    count = terms(rho, DOUBLE)

    def of_parts(re: Tensor, im: Tensor, ket: Tensor) -> Tensor:
        return propagate(hermitian(re, im), ket, rho, count)

    assert torch.autograd.gradcheck(
        of_parts, (h.real.clone().requires_grad_(), h.imag.clone().requires_grad_(), ket.requires_grad_())
    )


def test_parity_the_gradient_with_autograd_through_matrix_exp() -> None:
    h, ket, pull = random_h(8, 6.0), torch.randn(3, 8, dtype=DOUBLE), torch.randn(3, 8, dtype=DOUBLE)
    for inputs in ((True, True), (True, False), (False, True)):
        ours = [part.clone().requires_grad_(wanted) for part, wanted in zip((h, ket), inputs, strict=True)]
        theirs = [part.clone().requires_grad_(wanted) for part, wanted in zip((h, ket), inputs, strict=True)]
        propagate(*ours, 6.0, terms(6.0, DOUBLE)).backward(pull)
        (theirs[1] @ torch.linalg.matrix_exp(1j * theirs[0]).T).backward(pull)
        for one, other in zip(ours, theirs, strict=True):
            assert (one.grad is None) == (other.grad is None)
            if one.grad is not None:
                assert_close(one.grad, other.grad, rtol=0, atol=1e-12)
