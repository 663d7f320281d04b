"""Complex linear maps and embeddings on planar tensors, and how their weights begin.

Letters: D width before, F width after; V rows of an embedding.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.nn.complex.layout import apart, check_planar, side_by_side
from psitext.nn.complex.product import complex_product

Initialisation = Literal["fan-in", "paper"]
PAPER_STD = 0.1  # QBERT, sec. 4.3: a variance of 0.01 for each part, whatever the width


class ComplexLinear(nn.Module):
    """z W^T + b (QBERT, eq. 1); (2, ..., D) -> (2, ..., F). Weights (F, D), begun by fan-in."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight_re, self.weight_im = (nn.Parameter(torch.empty(outputs, inputs)) for _ in range(2))
        self.bias_re, self.bias_im = (nn.Parameter(torch.empty(outputs)) if bias else None for _ in range(2))
        initialise_complex(self, "fan-in")

    def forward(self, x: Tensor) -> Tensor:
        """(2, ..., D) -> (2, ..., F)."""
        check_planar(x, self.weight_re.shape[1])
        return complex_product(x, self.weight_re, self.weight_im, _pair(self.bias_re, self.bias_im))

    def extra_repr(self) -> str:
        """The shape, for printing."""
        return _shape(self.weight_re, self.bias_re)


class WidelyLinear(nn.Module):
    """U z + V conj(z) + b: every real-linear map of the 2 D real coordinates; (2, ..., D) -> (2, ..., F).

    U is ``weight``, V is ``conjugate``, (F, D) both. It runs as one real product with ``block()``.
    """

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight_re, self.weight_im = (nn.Parameter(torch.empty(outputs, inputs)) for _ in range(2))
        self.conjugate_re, self.conjugate_im = (nn.Parameter(torch.empty(outputs, inputs)) for _ in range(2))
        self.bias_re, self.bias_im = (nn.Parameter(torch.empty(outputs)) if bias else None for _ in range(2))
        initialise_complex(self, "fan-in")

    def forward(self, x: Tensor) -> Tensor:
        """(2, ..., D) -> (2, ..., F), a view of (..., 2, F) memory; an input of such memory is not copied."""
        check_planar(x, self.weight_re.shape[1])
        bias = _pair(self.bias_re, self.bias_im)
        out = F.linear(side_by_side(x), self.block(), None if bias is None else bias.flatten())
        return apart(out)

    def block(self) -> Tensor:
        """(2 F, 2 D), the map on real coordinates, real parts before imaginary ones."""
        re, im, conjugate_re, conjugate_im = self.weight_re, self.weight_im, self.conjugate_re, self.conjugate_im
        return torch.cat(
            [
                torch.cat([re + conjugate_re, conjugate_im - im], dim=1),
                torch.cat([im + conjugate_im, re - conjugate_re], dim=1),
            ]
        )

    def extra_repr(self) -> str:
        """The shape, for printing."""
        return _shape(self.weight_re, self.bias_re)


class ComplexEmbedding(nn.Module):
    """A complex vector for each of V ids; (...) int64 -> (2, ..., D). Weights (V, D), dense gradients."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.weight_re, self.weight_im = (nn.Parameter(torch.empty(count, width)) for _ in range(2))
        initialise_complex(self, "fan-in")

    def forward(self, ids: Tensor) -> Tensor:
        """(...) -> (2, ..., D)."""
        return torch.stack([F.embedding(ids, self.weight_re), F.embedding(ids, self.weight_im)])

    def extra_repr(self) -> str:
        """The shape, for printing."""
        return f"count={self.weight_re.shape[0]}, width={self.weight_re.shape[1]}"


def initialise_complex(module: nn.Module, how: Initialisation) -> None:
    """Begin the weights of one complex layer: normal, zero biases; modules of other kinds are left alone.

    "fan-in" keeps the power E|z|^2 from input to output: a deviation of 1 / sqrt(2 D) for each part, 1 / sqrt(4 D)
    where two matrices share the work. An embedding takes D as its fan-in, because it is the decoder's matrix as well:
    scores of a normalised state begin with power 1. "paper" is a deviation of 0.1 for each part, which at D = 768
    multiplies power by 15 a layer; normalisations hide it.
    """
    if not isinstance(module, ComplexLinear | WidelyLinear | ComplexEmbedding):
        return
    weights = {name: weight for name, weight in module.named_parameters(recurse=False) if "bias" not in name}
    fan_in = module.weight_re.shape[1]
    std = PAPER_STD if how == "paper" else (len(weights) * fan_in) ** -0.5
    with torch.no_grad():
        for name, parameter in module.named_parameters(recurse=False):
            parameter.normal_(std=std) if name in weights else parameter.zero_()


def _pair(re: Tensor | None, im: Tensor | None) -> Tensor | None:
    return None if re is None or im is None else torch.stack([re, im])


def _shape(weight: Tensor, bias: Tensor | None) -> str:
    return f"inputs={weight.shape[1]}, outputs={weight.shape[0]}, bias={bias is not None}"
