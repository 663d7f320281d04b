"""Norms of complex vectors: against their formulas in complex128, and no token ever changes another's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

import oracle
from psitext.nn.complex.layout import apart, planar, side_by_side, to_complex
from psitext.nn.complex.norm import ComplexLayerNorm, FirstNorm, WideLayerNorm

WIDTH, EPS = 6, 1e-3  # large enough to be seen
LITERAL: dict[type[nn.Module], Callable[..., Tensor]] = {
    ComplexLayerNorm: oracle.layer_norm,
    WideLayerNorm: oracle.wide_layer_norm,
}
Kind = type[ComplexLayerNorm] | type[WideLayerNorm]
kinds = pytest.mark.parametrize("kind", [ComplexLayerNorm, WideLayerNorm])


def randomised(layer: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


@kinds
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_parity_with_the_formula(kind: Kind, shape: tuple[int, ...]) -> None:
    layer = kind(WIDTH, EPS).double()

    def ours(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional_call(layer, oracle.split({"weight": weight, "bias": bias}), x)

    def literal(z: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return LITERAL[kind](z, weight, bias, EPS)

    z = 0.1 * oracle.random(*shape, WIDTH) + 2
    oracle.assert_same(ours, literal, z, oracle.random(WIDTH, seed=1), oracle.random(WIDTH, seed=2))


def test_parity_strides_do_not_matter() -> None:
    for kind in (ComplexLayerNorm, WideLayerNorm):
        layer, x = randomised(kind(WIDTH).double()), planar(oracle.random(2, 3, WIDTH))
        interleaved = apart(side_by_side(x).contiguous())
        torch.testing.assert_close(layer(interleaved), layer(x), rtol=0, atol=1e-12)
        torch.testing.assert_close(
            FirstNorm(layer, "rms")(interleaved, FIRST), FirstNorm(layer, "rms")(x, FIRST), rtol=0, atol=1e-12
        )


def test_parity_the_wide_norm_is_torchs_over_all_reals() -> None:
    layer, real = randomised(WideLayerNorm(WIDTH, EPS)), nn.LayerNorm(2 * WIDTH, EPS)
    real.load_state_dict(
        {"weight": torch.cat([layer.weight_re, layer.weight_im]), "bias": torch.cat([layer.bias_re, layer.bias_im])}
    )
    wide = torch.randn(4, 3, 2 * WIDTH)
    out = layer(apart(wide))
    assert torch.equal(side_by_side(out), real(wide))
    assert side_by_side(out).data_ptr() == out.data_ptr()


def test_known_norms_begin_as_plain_normalisations() -> None:
    z = oracle.random(5, 64) * 3 + (2 - 1j)
    out = to_complex(ComplexLayerNorm(64).double()(planar(z)))
    torch.testing.assert_close(out.mean(-1), torch.zeros(5, dtype=out.dtype), rtol=0, atol=1e-12)
    torch.testing.assert_close(out.abs().square().mean(-1), torch.ones(5).double(), rtol=0, atol=1e-9)
    x = planar(z)
    expected = F.layer_norm(side_by_side(x), (128,), eps=1e-12)
    torch.testing.assert_close(side_by_side(WideLayerNorm(64).double()(x)), expected, rtol=0, atol=1e-12)


def test_known_a_constant_vector_has_finite_values_and_gradients() -> None:
    for kind in (ComplexLayerNorm, WideLayerNorm):
        x = torch.ones(2, 3, WIDTH).requires_grad_()
        out = kind(WIDTH)(x)
        out.square().sum().backward()
        assert out.isfinite().all() and x.grad is not None and x.grad.isfinite().all()


@given(seed=st.integers(0, 2**31 - 1), angle=st.floats(-3, 3))
def test_law_complex_layer_norm_turns_with_its_input(seed: int, angle: float) -> None:
    torch.manual_seed(seed)
    layer, z = ComplexLayerNorm(WIDTH).double(), oracle.random(3, WIDTH, seed=seed)
    with torch.no_grad():
        layer.weight_re.normal_(), layer.weight_im.normal_()
    turn = torch.polar(torch.ones(()).double(), torch.tensor(angle).double())

    def apply(z: Tensor) -> Tensor:
        return to_complex(layer(planar(z)))

    torch.testing.assert_close(apply(turn * z), turn * apply(z), rtol=0, atol=1e-11)
    torch.testing.assert_close(apply(2.5 * z + 1j), apply(z), rtol=0, atol=1e-9)  # scale and shift are taken away


FIRST = torch.tensor([[True, False, False], [True, False, True]])
LENGTH = {"unit": 1.0, "rms": WIDTH**0.5}


@kinds
@pytest.mark.parametrize("how", ["unit", "rms"])
def test_parity_first_tokens_are_rays_and_the_others_normalised(kind: Kind, how: str) -> None:
    layer = FirstNorm(kind(WIDTH, EPS), how).double()

    def ours(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional_call(layer, oracle.split({"inner.weight": weight, "inner.bias": bias}), (x, FIRST))

    def literal(z: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return oracle.first_norm(z, LITERAL[kind](z, weight, bias, EPS), FIRST, LENGTH[how])

    values = oracle.random(2, 3, WIDTH), oracle.random(WIDTH, seed=1), oracle.random(WIDTH, seed=2)
    oracle.assert_same(ours, literal, *values)


@given(seed=st.integers(0, 2**31 - 1), scale=st.floats(1e-3, 1e3), how=st.sampled_from(["unit", "rms"]))
def test_law_first_tokens_have_unit_norm_whatever_the_inner_norm(seed: int, scale: float, how: str) -> None:
    layer = FirstNorm(randomised(ComplexLayerNorm(WIDTH)), how).double()
    x = planar(scale * oracle.random(2, 3, WIDTH, seed=seed))
    out = to_complex(layer(x, FIRST))
    norms = torch.linalg.vector_norm(out, dim=-1)[FIRST] / LENGTH[how]
    torch.testing.assert_close(norms, torch.ones_like(norms), rtol=0, atol=1e-12)
    overlap = (out.conj() * to_complex(x)).sum(-1)[FIRST]  # the same ray: no phase was turned
    torch.testing.assert_close(overlap.imag, torch.zeros_like(norms), rtol=0, atol=1e-9)
    assert (overlap.real > 0).all()


def test_known_a_first_token_of_zeros_stays_zero_with_finite_gradients() -> None:
    x = torch.randn(2, 2, 3, WIDTH)
    x[:, 0, 0] = 0
    out = FirstNorm(ComplexLayerNorm(WIDTH), "unit")(x.requires_grad_(), FIRST)
    assert not out[:, 0, 0].any()
    out.sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()


def test_known_a_mask_of_another_shape_is_refused() -> None:
    layer = FirstNorm(ComplexLayerNorm(WIDTH), "unit")
    with pytest.raises(ValueError, match=r"first tokens of shape \(2, 3\) do not fit states of \(2, 2, 4, 6\)"):
        layer(torch.randn(2, 2, 4, WIDTH), FIRST)


NORMS = {
    "complex": lambda x, first: randomised(ComplexLayerNorm(WIDTH))(x),
    "wide": lambda x, first: randomised(WideLayerNorm(WIDTH))(x),
    "unit": lambda x, first: randomised(FirstNorm(ComplexLayerNorm(WIDTH), "unit"))(x, first),
    "rms": lambda x, first: randomised(FirstNorm(WideLayerNorm(WIDTH), "rms"))(x, first),
}


@pytest.mark.parametrize("name", NORMS)
def test_law_no_token_changes_another(name: str) -> None:
    norm, x = NORMS[name], planar(torch.randn(2, 3, WIDTH, dtype=torch.complex64))
    whole = norm(x, FIRST)
    for row in range(2):  # alone, or in a batch with others
        alone = norm(x[:, row : row + 1], FIRST[row : row + 1])
        torch.testing.assert_close(alone, whole[:, row : row + 1], rtol=0, atol=1e-6)
        for token in range(3):
            alone = norm(x[:, row, token], FIRST[row, token])
            torch.testing.assert_close(alone, whole[:, row, token], rtol=0, atol=1e-6)
    x[:, 0, 1] = 1e3 * torch.randn(2, WIDTH)  # and whatever stands beside it
    changed = (norm(x, FIRST) - whole).abs().amax((0, -1)) > 1e-6
    assert changed.tolist() == [[False, True, False], [False, False, False]]


@pytest.mark.parametrize("name", NORMS)
def test_law_no_gradient_crosses_tokens(name: str) -> None:
    x = torch.randn(2, 2, 3, WIDTH, requires_grad=True)
    NORMS[name](x, FIRST)[:, 1, 1].square().sum().backward()
    assert x.grad is not None
    assert x.grad.abs().amax((0, -1)).count_nonzero() <= 1
    assert not x.grad[:, 0].any() and not x.grad[:, 1, ::2].any()


def test_known_norms_are_float32_at_least() -> None:
    x = torch.randn(2, 2, 3, WIDTH).bfloat16()
    for norm in NORMS.values():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert norm(x, FIRST).dtype == torch.float32


def test_known_a_backward_pass_inside_autocast_is_float32() -> None:
    layer, gradients = randomised(ComplexLayerNorm(64)), []
    for enabled in (False, True):
        x = planar(torch.randn(3, 64, dtype=torch.complex64, generator=torch.Generator().manual_seed(0)))
        x.requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            layer(x)[0].pow(3).sum().backward()
        gradients.append(x.grad)
    assert torch.equal(*gradients)
