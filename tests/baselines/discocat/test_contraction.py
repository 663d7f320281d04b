"""baselines/discocat/contraction.py against one einsum over everything, and far outside the range of floats."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("opt_einsum", reason="opt_einsum comes with the extra qnlp")

from psitext.baselines.discocat.contraction import plan

LETTERS = "abcdefgh"


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], tuple[int, ...], set[int]]:
    """Operands over a few wires (a wire may have any number of ends), open wires, and which operands are constant."""
    wires = draw(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple), min_size=1, max_size=6))
    used = sorted({wire for found in wires for wire in found})
    output = draw(st.lists(st.sampled_from(used), unique=True, max_size=2))
    constant = draw(st.sets(st.integers(1, len(wires)), max_size=3)) - {len(wires)}
    return wires, tuple(output), constant


@settings(max_examples=40)
@given(networks(), st.sampled_from([torch.float64, torch.complex128]))
def test_parity_with_one_einsum(
    network: tuple[list[tuple[int, ...]], tuple[int, ...], set[int]], dtype: torch.dtype
) -> None:
    wires, output, constant = network
    sizes = {wire: 2 + wire % 2 for found in wires for wire in found}
    torch.manual_seed(0)
    batch = 3
    shapes = [[sizes[wire] for wire in found] for found in wires]
    constants = {place: torch.randn(shapes[place], dtype=dtype) for place in constant}
    given = {
        place: torch.randn(batch, *shape, dtype=dtype) for place, shape in enumerate(shapes) if place not in constant
    }
    value, log_scale = plan(wires, sizes, output, constants)(given)
    terms = [
        ("" if place in constant else "Z") + "".join(LETTERS[w] for w in found) for place, found in enumerate(wires)
    ]
    equation = f"{','.join(terms)}->Z{''.join(LETTERS[wire] for wire in output)}"
    expected = torch.einsum(equation, [(constants | given)[place] for place in range(len(wires))])
    found = value * log_scale.exp().view(-1, *[1] * len(output))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_known_products_below_the_smallest_float_keep_direction_and_logarithm() -> None:
    words = 400
    vectors = {place: torch.tensor([[1e-3, 2e-3]]) for place in range(words)}
    value, log_scale = plan([(0,)] * words, {0: 2}, (0,), {})(vectors)
    assert torch.isfinite(value).all() and value.abs().max() > 0
    logarithm = (value.double().log() + log_scale.double()).squeeze()
    expected = words * torch.tensor([math.log(1e-3), math.log(2e-3)], dtype=torch.float64)
    torch.testing.assert_close(logarithm[1], expected[1], rtol=1e-5, atol=0)


def test_law_rescaling_leaves_gradients_alone() -> None:
    """d log v / d x of a long product is 1 / x, whatever was taken out on the way."""
    torch.manual_seed(0)
    vectors = {place: (torch.rand(1, 2, dtype=torch.float64) + 0.5).requires_grad_() for place in range(40)}
    value, log_scale = plan([(0,)] * 40, {0: 2}, (0,), {})(vectors)
    (value * log_scale.exp().unsqueeze(1))[0, 0].log().backward()
    for vector in vectors.values():
        assert vector.grad is not None
        torch.testing.assert_close(vector.grad[0, 0], 1 / vector.detach()[0, 0])
