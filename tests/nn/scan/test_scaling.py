"""Powers of two beside states: exact, no larger than needed, and in time."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psitext.nn.scan.scaling import headroom, least_exponent, rescaled, steps_between

BIASED, FREE = torch.tensor([[0]]), torch.tensor([[-(2**30)]])


def test_known_headroom_is_a_third_of_the_exponents() -> None:
    assert headroom(torch.float32) == 42
    assert headroom(torch.float64) == 341


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_law_powers_of_two_are_exact(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    lowest, highest = round(math.log2(info.tiny)), int(math.log2(info.max))
    exponents = torch.arange(lowest, highest, dtype=torch.int32)[None]
    vector = torch.tensor([0.0, 2.0, -3.0], dtype=dtype)[None, :, None].expand(-1, -1, exponents.shape[1])
    after, factor = rescaled(vector, exponents, FREE)  # the largest component is 3: k grows by 2
    assert torch.equal(after, exponents + 2) and (factor == 0.25).all()
    powers = torch.tensor([math.ldexp(1.0, k) for k in exponents[0].tolist()], dtype=dtype)
    after, factor = rescaled(powers[None, None], torch.zeros_like(exponents), FREE)
    assert torch.equal(powers * factor[0], torch.full_like(powers, 0.5))
    assert torch.equal(after, exponents + 1)


@given(
    mantissa=st.floats(0.5, 1, exclude_max=True),
    size=st.integers(-140, 120),
    k=st.integers(0, 300),
    biased=st.booleans(),
)
def test_law_a_state_has_one_scale_however_it_came(mantissa: float, size: int, k: int, biased: bool) -> None:
    """h 2^-k' with k' doublings more or less ends up as the same vector, unless digits were subnormal."""
    least = BIASED if biased else FREE
    vector = torch.full((1, 2, 1), mantissa, dtype=torch.float64) * 2.0**size
    after, factor = rescaled(vector, torch.tensor([[k]], dtype=torch.int32), least)
    scaled = vector * factor[:, None]
    assert (vector * 2.0 ** int(k - after) == scaled).all(), "the state is the same"
    assert after == (max(0, k + size) if biased else k + size)
    assert scaled.amax() == mantissa if not biased or k + size >= 0 else scaled.amax() < 0.5
    twice, one = rescaled(scaled, after, least)
    assert twice == after and one == 1


def test_known_a_state_of_0_has_no_scale_and_keeps_gradients_finite() -> None:
    exponent = torch.tensor([[0, 20, 5000]], dtype=torch.int32)
    after, factor = rescaled(torch.zeros(1, 4, 3), exponent, BIASED)
    assert after.tolist() == [[0, 0, 0]] and factor.tolist() == [[1.0, 2.0**20, 2.0**42]]


def test_known_subnormal_states_are_scaled_as_far_as_a_factor_goes() -> None:
    after, factor = rescaled(torch.full((1, 2, 1), 2.0**-140), torch.tensor([[300]], dtype=torch.int32), BIASED)
    assert after == 300 - 126 and factor == 2.0**126


def test_known_least_exponents() -> None:
    weight = torch.ones(3, 2, 3)
    weight[0, :, 2], weight[1, 0, 2] = 0, 0
    found = least_exponent(weight)
    assert found[0] < -(2**20) and found[1:].tolist() == [[0], [0]]


@given(seed=st.integers(0, 2**31 - 1), width=st.integers(1, 6), scale=st.floats(0.1, 30))
def test_law_no_state_outgrows_its_room_between_two_looks(seed: int, width: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(1, width, width + 1, generator=generator).double()
    gates = scale * torch.randn(1, width, 50, 2, generator=generator).double()
    steps = steps_between(weight.float(), gates.float())
    state, product = torch.ones(width + 1, 2).double(), torch.eye(width).double()
    for step in range(min(steps, 50)):
        state[:-1] = (weight[0] @ state) * gates[0, :, step]
        product = gates[0, :, step, :1] * (weight[0, :, :-1] @ product)
    if steps > 1:
        assert state.abs().max() <= 2.0**42 and product.abs().sum(0).max() <= 2.0**42


def test_known_weights_that_are_not_finite_are_looked_at_after_every_step() -> None:
    for bad in (torch.nan, torch.inf):
        assert steps_between(torch.full((1, 2, 3), bad), torch.ones(1, 2, 4, 3)) == 1
    assert steps_between(torch.ones(1, 2, 3), torch.ones(1, 2, 0, 3)) == 1
    assert steps_between(torch.zeros(1, 2, 3), torch.ones(1, 2, 4, 3)) == 42
