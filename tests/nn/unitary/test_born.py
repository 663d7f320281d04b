"""Born's rule and groups of outcomes."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from psitext.nn.unitary.born import Outcomes, probabilities


def test_known_probabilities_are_squared_moduli() -> None:
    ket = torch.tensor([[0.6j, -0.8], [0.5 + 0.5j, 0.5 - 0.5j]])
    assert_close(probabilities(ket), torch.tensor([[0.36, 0.64], [0.5, 0.5]]))
    zero = torch.zeros(1, 2, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(probabilities, torch.randn(2, 3, dtype=torch.complex128, requires_grad=True))
    (gradient,) = torch.autograd.grad(probabilities(zero).sum(), zero)
    assert torch.equal(gradient, torch.zeros_like(zero)), "no 0 / 0 where an amplitude is 0"


@given(st.integers(1, 70), st.integers(1, 70))
def test_law_groups_are_runs_of_equal_size_that_lose_nothing(width: int, groups: int) -> None:
    if groups > width:
        with pytest.raises(ValueError, match="basis states cannot make"):
            Outcomes(width, groups)
        return
    outcomes = Outcomes(width, groups)
    probs = torch.rand(2, width, dtype=torch.float64)
    edges = [*outcomes.starts, width]
    sizes = {after - before for before, after in pairwise(edges)}
    assert sizes <= {width // groups, width // groups + 1}
    expected = torch.stack([probs[:, a:b].sum(-1) for a, b in pairwise(edges)], dim=-1)
    assert_close(outcomes.grouped(probs), expected)
    assert outcomes.grouped(probs).shape == (2, outcomes.count)


def test_known_groups_of_a_power_of_two_are_the_first_qubits() -> None:
    """Big-endian: 2 groups of 8 states read qubit 0, and 4 groups qubits 0 and 1."""
    ket = torch.randn(2, 2, 2, dtype=torch.complex128)
    probs = probabilities(ket)
    assert_close(Outcomes(8, 2).grouped(probs.flatten()), probs.sum((1, 2)))
    assert_close(Outcomes(8, 4).grouped(probs.flatten()), probs.sum(2).flatten())
    assert [Outcomes(8, groups).qubits for groups in (2, 4, 8, 3, None)] == [1, 2, 3, None, 3]
    assert Outcomes(768, 8).qubits is None, "768 states are measured whole"
    assert Outcomes(768).count == 768 and Outcomes(768).starts[:3] == [0, 1, 2]
    assert torch.equal(Outcomes(8).grouped(probs.flatten()), probs.flatten())
