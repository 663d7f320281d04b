"""exp(iH) by eigenvalues, and by the cheaper of two ways: against scipy, degenerate spectra included."""

from __future__ import annotations

import pytest
import scipy.linalg
import torch
from torch import Tensor
from torch.testing import assert_close

from psitext.nn.unitary import exponential as module
from psitext.nn.unitary.cayley import apply_cayley
from psitext.nn.unitary.exponential import apply_exponential, exponential, polynomials_pay

DOUBLE = torch.complex128


def weights(width: int, std: float = 0.4, seed: int = 0) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    return std * torch.randn(width, width).double(), std * torch.randn(width, width).double()


def degenerate(width: int) -> dict[str, tuple[Tensor, Tensor]]:
    """Weights under which derivatives of eigenvectors do not exist."""
    zero = torch.zeros(width, width, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.complex(*weights(width, seed=3)))
    twice = (q * (torch.arange(width).double() // 2)) @ q.mH
    return {
        "nothing": (zero, zero),
        "identity": (3 * torch.eye(width).double(), zero),
        "pairs": (twice.real.contiguous(), twice.imag.contiguous()),
        "antihermitian": (zero, torch.eye(width).double()),  # its Hermitian part is 0
    }


def literal(re: Tensor, im: Tensor) -> Tensor:
    """Eq. 8 as it stands, by scipy."""
    weight = torch.complex(re, im).detach()
    return torch.from_numpy(scipy.linalg.expm(0.5j * (weight + weight.mH).numpy()))


@pytest.mark.parametrize("way", ["polynomials", "eigenvalues"])
def test_parity_with_scipy(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "polynomials_pay", lambda *shape: way == "polynomials")
    torch.manual_seed(0)
    ket = torch.randn(3, 6, dtype=DOUBLE)
    for re, im in [weights(6), weights(6, 5.0), weights(6, 1e-3), *degenerate(6).values()]:
        assert_close(apply_exponential(re, im, ket), ket @ literal(re, im).T, rtol=0, atol=1e-12)
        assert_close(exponential(re, im), literal(re, im), rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", ["polynomials", "eigenvalues"])
@pytest.mark.parametrize("name", ["generic", *degenerate(4)])
def test_law_gradients_hold_for_degenerate_spectra_too(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "polynomials_pay", lambda *shape: way == "polynomials")
    re, im = (part.clone().requires_grad_() for part in ({"generic": weights(4)} | degenerate(4))[name])
    ket = torch.randn(2, 4, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradcheck(apply_exponential, (re, im, ket))
    if way == "eigenvalues":
        assert torch.autograd.gradcheck(exponential, (re, im))


def test_parity_gradients_with_autograd_through_matrix_exp() -> None:
    """Where autograd through torch's own exponential can be had, both agree; in float32 to its rounding."""
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        re, im = ((part * 0.5).to(dtype).requires_grad_() for part in weights(24))
        ket = torch.randn(2, 24, dtype=DOUBLE).to(torch.complex64 if dtype == torch.float32 else DOUBLE)
        weight = torch.complex(re, im)
        expected = torch.autograd.grad(
            (ket @ torch.linalg.matrix_exp(0.5j * (weight + weight.mH)).T)[:, 0].abs().sum(), (re, im)
        )
        for out in (apply_exponential(re, im, ket), ket @ exponential(re, im).T):
            assert_close(torch.autograd.grad(out[:, 0].abs().sum(), (re, im)), expected, rtol=tolerance, atol=tolerance)


def test_law_it_is_unitary() -> None:
    for width, std in ((40, 0.001), (40, 0.1), (40, 2.0)):
        u = exponential(*weights(width, std))
        assert_close(u @ u.mH, torch.eye(width, dtype=DOUBLE), rtol=0, atol=1e-13)
        single = exponential(*(part.float() for part in weights(width, std)))
        assert_close(single @ single.mH, torch.eye(width, dtype=torch.complex64), rtol=0, atol=1e-5)
        ket = torch.randn(2, width, dtype=torch.complex64)
        turned = apply_exponential(*(part.float() for part in weights(width, std)), ket)
        assert_close(turned.norm(dim=-1), ket.norm(dim=-1), rtol=2e-6, atol=0)


def test_known_the_cheaper_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert polynomials_pay(22, 32, 768), "a batch of 32 at the paper's width"
    assert not polynomials_pay(22, 768, 768), "as many kets as dimensions"
    assert not polynomials_pay(15, 32, 64), "a narrow state"
    taken: list[str] = []
    propagate, eigen = module.propagate, module.by_eigenvalues
    monkeypatch.setattr(module, "propagate", lambda *a: taken.append("polynomials") or propagate(*a))
    monkeypatch.setattr(module, "by_eigenvalues", lambda *a: taken.append("eigenvalues") or eigen(*a))
    apply_exponential(*weights(64, 0.05), torch.randn(2, 64, dtype=DOUBLE))
    apply_exponential(*weights(64, 0.05), torch.randn(64, 64, dtype=DOUBLE))
    apply_exponential(*weights(64, 10.0), torch.randn(2, 64, dtype=DOUBLE))  # too many terms
    assert taken == ["polynomials", "eigenvalues", "eigenvalues"]


def test_law_a_bound_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result is ever wrong by more than the rounding: what norms show is done again."""
    re, im = weights(64, 0.2)
    ket = torch.randn(2, 64, dtype=DOUBLE)
    good = module.spectral_bound
    monkeypatch.setattr(module, "spectral_bound", lambda h: good(h) / 4)
    assert_close(apply_exponential(re, im, ket), ket @ literal(re, im).T, rtol=0, atol=1e-12)


def test_known_weights_that_are_not_finite_give_nan_instead_of_an_error() -> None:
    """So that training stops at its loss, which names the step."""
    for bad in (torch.nan, torch.inf):
        re, im = weights(30)
        re[0, 0] = bad
        for kets in (1, 60):
            assert apply_exponential(re, im, torch.randn(kets, 30, dtype=DOUBLE)).isnan().all()
        assert exponential(re, im).isnan().all()
        assert apply_cayley(re, im, torch.randn(2, 30, dtype=DOUBLE)).isnan().any()
    huge = apply_exponential(*(part * 1e30 for part in weights(30)), torch.randn(1, 30, dtype=DOUBLE))
    assert huge.isfinite().all(), "a norm that needs more terms than there is memory"
