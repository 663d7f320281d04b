"""Linear layers with a non-linearity between them: what plays a game over vectors."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SLOPE = 0.2  # of what is below 0: in a game no unit should fall silent for good (Radford et al. 2016)


def perceptron(*widths: int) -> nn.Sequential:
    """(..., widths[0]) -> (..., widths[-1]) through leaky units of the widths between; torch's initial weights."""
    if len(widths) < 2:
        raise ValueError(f"layers lead from one width to another, not {widths}")
    parts: list[nn.Module] = []
    for number, (first, second) in enumerate(pairwise(widths)):
        parts += ([nn.LeakyReLU(SLOPE)] if number else []) + [nn.Linear(first, second)]
    return nn.Sequential(*parts)


def with_class(vectors: Tensor, label: Tensor, classes: int) -> Tensor:
    """(B, D) vectors and (B,) classes -> (B, D + K), the class as a one among zeros."""
    return torch.cat([vectors, F.one_hot(label, classes).to(vectors.dtype)], dim=-1)
