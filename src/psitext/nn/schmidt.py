"""Schmidt coefficients of vectors, and the entropies of what is entangled; in double precision, by singular values.

A vector (D,) read as a matrix of ``rows`` rows is a state of two parts, the first of which has the leading places of
the index: of a ket of n qubits, big-endian, the first k qubits are ``rows`` = 2^k. The singular values of the
normalised matrix are the Schmidt coefficients lambda; lambda^2 are the probabilities whose entropy is the entanglement
of the two parts.

Everything has gradients. Those of entropies exist for equal coefficients too, because a singular value's own needs no
difference of any two; coefficients that are exactly 0 take no part, where the slope of an entropy would be infinite.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from psitext.errors import UserError


def schmidt(vector: Tensor, rows: int) -> Tensor:
    """Real or complex (..., D) -> lambda (..., min(rows, D / rows)): not squared, descending, squares sum to 1.

    The vectors need no norm, but a direction. Raises ValueError where one is 0 or not finite, or D is no multiple of
    ``rows``.
    """
    width = vector.shape[-1]
    if rows < 1 or width % rows:
        raise ValueError(f"a vector of {width} components is no matrix of {rows} rows")
    double = vector.to(torch.complex128 if vector.is_complex() else torch.float64)
    largest = double.detach().abs().amax(-1, keepdim=True) if width else double.real.new_zeros(())
    if not bool(((largest > 0) & largest.isfinite()).all()):
        raise ValueError("a vector that is 0 or not finite has no Schmidt coefficients")
    matrix = (double / largest).unflatten(-1, (rows, width // rows))  # squares neither overflow nor vanish
    values: Tensor = torch.linalg.svdvals(matrix)
    normalised: Tensor = values / torch.linalg.vector_norm(values, dim=-1, keepdim=True)
    return normalised


def entropy(schmidt: Tensor, base: float = 2.0, order: float = 1.0) -> Tensor:
    """Entropy of lambda (..., R), whose squares p sum to 1: (...) in units of log ``base``.

    ``order`` 1 is von Neumann's, -sum p log p; others are Renyi's, log(sum p^order) / (1 - order), infinity
    -log max p.
    """
    if not (base > 1 and order > 0):
        raise UserError(f"an entropy has a base above 1 and an order above 0, not {base:g} and {order:g}")
    probs = schmidt.square()  # of lambda = 1e-170 it is 0
    if math.isinf(order):
        nats = -probs.amax(-1).log()
    else:
        there = torch.where(probs > 0, probs, 1.0)  # log 1 = 0, and so is its share of the gradient
        nats = -(probs * there.log()).sum(-1) if order == 1 else _renyi(probs, there, order)
    return nats.clamp_min(0.0) / math.log(base)


def _renyi(probs: Tensor, there: Tensor, order: float) -> Tensor:
    powers = torch.where(probs > 0, there.pow(order), 0.0)
    return powers.sum(-1).log() / (1 - order)


def entropy_bits(schmidt: Tensor) -> Tensor:
    """Von Neumann entropy of lambda (..., R), -sum lambda^2 log2 lambda^2: (...), from 0 to log2 R."""
    return entropy(schmidt)


def rank(schmidt: Tensor, tolerance: float | None = None) -> Tensor:
    """How many of lambda (..., R) are above ``tolerance`` times the largest; (...) int64.

    By default R times the epsilon of the dtype, which is about what rounding makes of a coefficient that is 0.
    """
    least = schmidt.shape[-1] * torch.finfo(schmidt.dtype).eps if tolerance is None else tolerance
    return (schmidt > least * schmidt.amax(-1, keepdim=True)).sum(-1)
