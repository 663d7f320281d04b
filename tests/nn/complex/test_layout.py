"""The planar layout: in and out without loss, both parts treated alike, and complex tensors refused where real
ones are meant.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import oracle
from psitext.encoders.bert import ACTIVATIONS
from psitext.nn.complex.attention import modulus_score, real_score, split_score
from psitext.nn.complex.layout import (
    PlanarDropout,
    apart,
    check_planar,
    modulus,
    planar,
    planar_dropout,
    side_by_side,
    to_complex,
)
from psitext.nn.complex.linear import ComplexLinear, WidelyLinear
from psitext.nn.complex.norm import ComplexLayerNorm, FirstNorm, WideLayerNorm


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_law_in_and_out_is_the_identity(dtype: torch.dtype) -> None:
    z = torch.randn(3, 5, dtype=dtype)
    assert planar(z).shape == (2, 3, 5)
    assert torch.equal(planar(z)[0], z.real) and torch.equal(planar(z)[1], z.imag)
    assert torch.equal(to_complex(planar(z)), z)
    assert torch.equal(to_complex(planar(z.conj())), z.conj().resolve_conj())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_known_short_parts_become_complex64(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 4).to(dtype)
    z = to_complex(x)
    assert z.dtype == torch.complex64
    assert torch.equal(z.real, x[0].float()) and torch.equal(z.imag, x[1].float())


def test_law_parts_side_by_side_are_a_view_where_memory_lies_so() -> None:
    wide = torch.randn(3, 5, 8)
    x = apart(wide)
    assert x.shape == (2, 3, 5, 4)
    assert torch.equal(x[1], wide[..., 4:])
    assert side_by_side(x).data_ptr() == wide.data_ptr()
    assert torch.equal(side_by_side(x), wide)
    assert torch.equal(side_by_side(x.contiguous()), wide)


def test_parity_modulus_and_gelu_of_both_parts() -> None:
    z = oracle.random(3, 5)
    oracle.assert_same(modulus, torch.Tensor.abs, z)
    oracle.assert_same(ACTIVATIONS["gelu"], oracle.gelu, z)


def test_known_moduli_and_their_gradients_at_zero_and_far_from_one() -> None:
    x = torch.tensor([[3.0, 0.0, 0.0, 3e-30, 6e25], [4.0, 0.0, -2.0, 4e-30, 8e25]], requires_grad=True)
    size = modulus(x)
    torch.testing.assert_close(size, torch.tensor([5.0, 0.0, 2.0, 5e-30, 1e26]))
    size.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad[:, [0, 1, 2, 4]], torch.tensor([[0.6, 0, 0, 0.6], [0.8, 0, -1, 0.8]]))
    assert x.grad.isfinite().all() and (x.grad.abs() <= 1).all()


def test_law_modulus_can_be_differentiated_twice() -> None:
    x = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(modulus, x)


def test_known_dropout_takes_both_parts_or_neither() -> None:
    torch.manual_seed(0)
    dropout, x = PlanarDropout(0.25), torch.randn(2, 40, 50).requires_grad_()
    out = dropout(x)
    kept = out != 0
    assert torch.equal(kept[0], kept[1])
    assert abs(float(kept[0].double().mean()) - 0.75) < 0.03
    torch.testing.assert_close(out[kept], x[kept] / 0.75)
    out.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, kept / 0.75)
    assert not torch.equal(dropout(x), out)
    assert dropout.eval()(x) is x
    assert planar_dropout(x, 0.0) is x


@pytest.mark.parametrize("rate", [-0.1, 1.0, math.nan])
def test_known_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="a dropout rate is from 0 to below 1"):
        PlanarDropout(rate)


LAYERS: list[nn.Module] = [
    ComplexLinear(4, 3),
    WidelyLinear(4, 3),
    ComplexLayerNorm(4),
    WideLayerNorm(4),
    PlanarDropout(0.5),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_known_a_complex_tensor_is_refused_by_every_layer(layer: nn.Module) -> None:
    z = torch.randn(2, 5, 4, dtype=torch.complex64)  # its first axis would pass for the planar one
    with pytest.raises(TypeError, match=r"a planar real tensor .* is wanted, not torch\.complex64"):
        layer(z)
    with pytest.raises(ValueError, match=r"a planar tensor .* is wanted, not one of shape \(3, 5, 4\)"):
        layer(torch.randn(3, 5, 4))
    if not isinstance(layer, PlanarDropout):
        with pytest.raises(ValueError, match=r"\(2, \.\.\., 4\) is wanted, not one of shape \(2, 5, 6\)"):
            layer(torch.randn(2, 5, 6))


def test_known_a_complex_tensor_is_refused_by_every_function() -> None:
    z = torch.randn(2, 1, 1, 5, 4, dtype=torch.complex64)
    for function in (modulus, to_complex, check_planar):
        with pytest.raises(TypeError, match="planar"):
            function(z)
    for score in (modulus_score, split_score, real_score):
        with pytest.raises(TypeError, match="planar"):
            score(z, z, z, None, 0.0)
    with pytest.raises(TypeError, match="planar"):
        FirstNorm(ComplexLayerNorm(4), "unit")(z, torch.zeros(1, 1, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match=r"takes a complex tensor, not torch\.float32"):
        planar(torch.randn(2, 4))
