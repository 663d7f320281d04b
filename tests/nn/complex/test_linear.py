"""Complex linear maps and embeddings: against their formulas in complex128, by their laws, and how they begin."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

import oracle
from psitext.nn.complex.layout import apart, planar, side_by_side, to_complex
from psitext.nn.complex.linear import PAPER_STD, ComplexEmbedding, ComplexLinear, WidelyLinear, initialise_complex

SEEDS = st.integers(0, 2**31 - 1)


@pytest.mark.parametrize("bias", [False, True])
def test_parity_complex_linear(bias: bool) -> None:
    layer = ComplexLinear(7, 5, bias).double()

    def ours(x: Tensor, *weights: Tensor) -> Tensor:
        return functional_call(layer, oracle.split(dict(zip(["weight", "bias"], weights, strict=False))), x)

    weights = [oracle.random(5, 7), *([oracle.random(5)] if bias else [])]
    oracle.assert_same(ours, oracle.linear, oracle.random(2, 3, 7, seed=1), *weights)


@pytest.mark.parametrize("bias", [False, True])
def test_parity_widely_linear(bias: bool) -> None:
    layer = WidelyLinear(7, 5, bias).double()

    def ours(x: Tensor, *weights: Tensor) -> Tensor:
        names = ["weight", "conjugate", "bias"]
        return functional_call(layer, oracle.split(dict(zip(names, weights, strict=False))), x)

    weights = [oracle.random(5, 7), oracle.random(5, 7, seed=1), *([oracle.random(5)] if bias else [])]
    oracle.assert_same(ours, oracle.widely_linear, oracle.random(2, 3, 7, seed=2), *weights)


def test_known_a_widely_linear_map_without_conjugate_is_the_complex_one() -> None:
    complex_layer, widely = ComplexLinear(7, 5).double(), WidelyLinear(7, 5).double()
    widely.load_state_dict(complex_layer.state_dict(), strict=False)
    with torch.no_grad():
        widely.conjugate_re.zero_(), widely.conjugate_im.zero_()
    x = planar(oracle.random(3, 7))
    torch.testing.assert_close(widely(x), complex_layer(x), rtol=0, atol=1e-12)


def test_law_a_widely_linear_map_is_one_real_product_and_copies_nothing() -> None:
    layer = WidelyLinear(6, 4).double()
    wide = torch.randn(3, 12, dtype=torch.float64)
    out = layer(apart(wide))
    bias = torch.cat([layer.bias_re, layer.bias_im])
    torch.testing.assert_close(side_by_side(out), F.linear(wide, layer.block(), bias), rtol=0, atol=1e-12)
    assert side_by_side(out).data_ptr() == out.data_ptr()


@given(seed=SEEDS, real=st.floats(-3, 3), imaginary=st.floats(-3, 3))
def test_law_a_complex_linear_map_is_linear_over_c(seed: int, real: float, imaginary: float) -> None:
    torch.manual_seed(seed)
    layer = ComplexLinear(4, 3, bias=False).double()
    one, other = oracle.random(5, 4, seed=seed), oracle.random(5, 4, seed=seed + 1)
    factor = complex(real, imaginary)

    def apply(z: Tensor) -> Tensor:
        return to_complex(layer(planar(z)))

    torch.testing.assert_close(apply(factor * one + other), factor * apply(one) + apply(other), rtol=0, atol=1e-11)


@given(seed=SEEDS)
def test_law_a_widely_linear_map_is_linear_over_r_alone(seed: int) -> None:
    torch.manual_seed(seed)
    layer, z = WidelyLinear(4, 3, bias=False).double(), oracle.random(5, 4, seed=seed)

    def apply(z: Tensor) -> Tensor:
        return to_complex(layer(planar(z)))

    torch.testing.assert_close(apply(-2.5 * z), -2.5 * apply(z), rtol=0, atol=1e-11)
    assert not torch.allclose(apply(1j * z), 1j * apply(z))


def test_parity_embedding() -> None:
    layer = ComplexEmbedding(6, 4).double()
    ids = torch.tensor([[0, 5, 5], [2, 0, 1]])

    def ours(weight: Tensor) -> Tensor:
        return functional_call(layer, oracle.split({"weight": weight}), ids)

    oracle.assert_same(ours, lambda weight: oracle.embedding(ids, weight), oracle.random(6, 4))
    assert layer(ids).shape == (2, 2, 3, 4)


def test_known_parameters_are_pairs_of_real_ones() -> None:
    names = {
        ComplexLinear(3, 2): ["weight_re", "weight_im", "bias_re", "bias_im"],
        ComplexLinear(3, 2, bias=False): ["weight_re", "weight_im"],
        WidelyLinear(3, 2): ["weight_re", "weight_im", "conjugate_re", "conjugate_im", "bias_re", "bias_im"],
        ComplexEmbedding(3, 2): ["weight_re", "weight_im"],
    }
    for layer, expected in names.items():
        assert [name for name, _ in layer.named_parameters()] == expected
        assert all(not parameter.is_complex() for parameter in layer.parameters())


def power(x: Tensor) -> float:
    return float(x.detach().square().sum(0).mean())


@pytest.mark.parametrize("kind", [ComplexLinear, WidelyLinear])
def test_law_fan_in_keeps_power_and_the_paper_multiplies_it(kind: type[ComplexLinear | WidelyLinear]) -> None:
    torch.manual_seed(0)
    layer, x = kind(192, 300), planar(torch.randn(200, 192, dtype=torch.complex64))
    assert math.isclose(power(layer(x)), 1, rel_tol=0.05)
    initialise_complex(layer, "paper")
    gain = 2 * PAPER_STD**2 * 192 * (2 if kind is WidelyLinear else 1)  # 15.4 at the paper's 768
    assert math.isclose(power(layer(x)), gain, rel_tol=0.05)
    assert not layer.bias_re.any() and not layer.bias_im.any()
    for name, weight in layer.named_parameters():
        if "bias" not in name:
            assert math.isclose(float(weight.detach().std()), PAPER_STD, rel_tol=0.02)


def test_law_scores_of_a_tied_decoder_begin_with_power_one() -> None:
    torch.manual_seed(0)
    words, state = ComplexEmbedding(500, 192), planar(torch.randn(100, 192, dtype=torch.complex64))
    scores = to_complex(state) @ torch.complex(words.weight_re, words.weight_im).mH
    assert math.isclose(float(scores.detach().abs().square().mean()), 1, rel_tol=0.05)


def test_known_initialisation_leaves_other_modules_alone() -> None:
    layer = nn.Linear(3, 2)
    before = layer.weight.clone()
    initialise_complex(layer, "paper")
    assert torch.equal(layer.weight, before)


def test_known_layers_print_their_shapes() -> None:
    assert repr(ComplexLinear(3, 2)) == "ComplexLinear(inputs=3, outputs=2, bias=True)"
    assert repr(WidelyLinear(3, 2, bias=False)) == "WidelyLinear(inputs=3, outputs=2, bias=False)"
    assert repr(ComplexEmbedding(3, 2)) == "ComplexEmbedding(count=3, width=2)"
