"""Sorting by length and back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psitext.nn.scan.sequences import Sequences

LENGTHS = torch.tensor([2, 0, 4, 2])


def test_known_the_longest_comes_first() -> None:
    found = Sequences.of(LENGTHS, 5, 4)
    assert found.alive == (3, 3, 1, 1) and found.order is not None and found.order.tolist() == [2, 0, 3, 1]
    assert found.last_words() == {-1: slice(3, 4), 1: slice(1, 3), 3: slice(0, 1)}
    numbered = torch.arange(20.0).view(5, 4)
    assert found.sorted(numbered).tolist() == [[2, 0, 3, 0], [6, 4, 7, 0], [10, 0, 0, 0], [14, 0, 0, 0]]
    state = torch.arange(20.0).view(5, 4)  # after 0 to 4 steps
    assert found.ends(state, 4, 4).tolist() == [16, 9, 10, 3]
    assert found.ends(state, 1, 3).tolist() == [4, 5, 6]


def test_known_whole_lines_are_worked_on() -> None:
    found = Sequences.of(torch.tensor([3] * 2 + [2] * 14 + [1] * 3 + [0]), 4, 20)
    assert found.alive == (19, 16, 2) and found.groups == ((0, 1, 20), (1, 3, 16))
    assert [view.shape for view in found.each_step(torch.zeros(2, 3, 3, 20))] == [(2, 3, n) for n in (20, 16, 16)]
    assert found.every_step(lambda n: torch.tensor(n)) == [20, 16, 16]
    ones = torch.ones(3, 20)
    found.clear(ones)
    assert ones.sum(1).tolist() == [20, 16, 16]


def test_known_equal_lengths_are_left_alone() -> None:
    found, tensor = Sequences.of(None, 5, 4), torch.zeros(5, 4)
    assert found.sorted(tensor) is tensor and found.restored(tensor, states=True) is tensor
    assert found.groups == ((0, 5, 4),) and found.last_words() == {4: slice(0, 4)}
    assert Sequences.of(None, 0, 4).last_words() == {-1: slice(0, 4)}


@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_law_there_and_back_only_ends_are_lost(lengths: list[int]) -> None:
    found = Sequences.of(torch.tensor(lengths), 6, len(lengths))
    tensor = torch.rand(2, 6, len(lengths)) + 1
    there = torch.arange(6)[:, None] < torch.tensor(lengths)
    assert torch.equal(found.restored(found.sorted(tensor), states=True), tensor * there)
    assert found.order is not None
    last = tensor[:, 0]
    assert torch.equal(found.restored(last.index_select(-1, found.order), states=False), last)


@pytest.mark.parametrize("lengths", [[1, 2], [1, 2, 7, 0], [1, -1, 2, 0], [[1, 2, 3, 0]]])
def test_known_lengths_that_do_not_fit_are_refused(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match=r"instead of \(4,\) from 0 to 6"):
        Sequences.of(torch.tensor(lengths), 6, 4)
