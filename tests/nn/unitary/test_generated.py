"""A W that need obey nothing, a unitary that always is one; and the copy kept of it, which is never stale."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.testing import assert_close

from psitext.nn.unitary.cayley import Cayley
from psitext.nn.unitary.exponential import Exponential
from psitext.nn.unitary.generated import Generated, hermitian

KINDS = [Exponential, Cayley]


def made(kind: type[Generated], width: int = 7, std: float = 0.5) -> Generated:
    torch.manual_seed(0)
    return kind(width, std)


def kets(count: int, width: int, dtype: torch.dtype = torch.complex64) -> torch.Tensor:
    ket = torch.randn(count, width, dtype=torch.complex128, generator=torch.Generator().manual_seed(1))
    return (ket / torch.linalg.vector_norm(ket, dim=-1, keepdim=True)).to(dtype)


def test_parity_the_hermitian_part() -> None:
    re, im = torch.randn(4, 4), torch.randn(4, 4)
    weight = torch.complex(re, im)
    h = hermitian(re, im)
    assert_close(h, (weight + weight.mH) / 2)
    assert torch.equal(h, h.mH)


@pytest.mark.parametrize("kind", KINDS)
def test_law_any_weight_gives_a_unitary_in_double(kind: type[Generated]) -> None:
    for std in (0.0, 0.001, 0.5, 20.0):
        u = made(kind, std=std).unitary()
        assert u.dtype == torch.complex128
        assert not u.requires_grad
        assert_close(u @ u.mH, torch.eye(7, dtype=torch.complex128), rtol=0, atol=1e-13)
        assert std or torch.equal(u, torch.eye(7, dtype=torch.complex128))


@pytest.mark.parametrize("kind", KINDS)
def test_law_training_and_evaluation_apply_the_same_matrix(kind: type[Generated]) -> None:
    module, ket = made(kind), kets(3, 7)
    expected = (ket.to(torch.complex128) @ module.unitary().T).to(torch.complex64)
    assert_close(module.train()(ket), expected, rtol=0, atol=1e-6)
    assert_close(module.eval()(ket), expected, rtol=0, atol=1e-6)
    with torch.no_grad():
        assert_close(module(ket), expected, rtol=0, atol=1e-6)
    with torch.inference_mode():
        assert_close(module(ket), expected, rtol=0, atol=1e-6)
    assert module(ket).requires_grad, "gradients flow in evaluation mode too"


@pytest.mark.parametrize("kind", KINDS)
def test_law_what_is_kept_is_made_once_and_forgotten_when_the_weight_changes(kind: type[Generated]) -> None:
    module, ket = made(kind).eval(), kets(3, 7)
    calls = []
    module.unitary = lambda: calls.append(1) or kind.unitary(module)  # type: ignore[method-assign, func-returns-value]
    with torch.no_grad():
        first = module(ket)
        assert torch.equal(module(ket), first) and len(calls) == 1
        module.weight_im[0, 1].add_(0.5)
        second = module(ket)
        assert not torch.allclose(first, second) and len(calls) == 2
        module.load_state_dict(made(kind).state_dict())
        assert torch.equal(module(ket), first) and len(calls) == 3
        module.train().eval()(ket)
        assert len(calls) == 4, "training forgets"
        assert module(ket.to(torch.complex128)).dtype == torch.complex128
        assert torch.equal(copy.deepcopy(module)(ket), first)


@pytest.mark.parametrize("kind", KINDS)
def test_known_parameters_are_a_real_pair_of_the_asked_deviation(kind: type[Generated]) -> None:
    module = made(kind, width=100, std=0.03)
    assert sorted(dict(module.named_parameters())) == ["weight_im", "weight_re"]
    for parameter in module.parameters():
        assert abs(parameter.std().item() / 0.03 - 1) < 0.05
    largest = torch.linalg.eigvalsh(hermitian(module.weight_re, module.weight_im)).abs().max().item()
    assert abs(largest / (2 * 0.03 * 10) - 1) < 0.1, "Wigner's semicircle"
