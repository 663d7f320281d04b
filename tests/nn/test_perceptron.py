"""Layers, and a class beside a vector."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from psitext.nn.perceptron import SLOPE, perceptron, with_class


def test_known_layers() -> None:
    made = perceptron(3, 5, 2)
    assert [type(part) for part in made] == [nn.Linear, nn.LeakyReLU, nn.Linear]
    first, second = made[0], made[2]
    x = torch.randn(4, 3)
    hidden = first(x)
    assert torch.allclose(made(x), second(torch.where(hidden > 0, hidden, SLOPE * hidden)), atol=1e-6)
    assert len(perceptron(3, 2)) == 1
    with pytest.raises(ValueError, match="one width to another"):
        perceptron(3)


def test_known_the_class_stands_beside_the_vector() -> None:
    both = with_class(torch.tensor([[0.5], [0.25]]), torch.tensor([2, 0]), 3)
    assert both.tolist() == [[0.5, 0, 0, 1], [0.25, 1, 0, 0]]
