"""Kets as points: overlaps, the Fubini-Study distance, and the geodesics between them.

Kets that differ by a phase are one point, a ray. The distance of two rays is the angle theta between them,

    cos theta = |<a|b>|,   0 <= theta <= pi / 2   (radians; of qubits half the angle on the Bloch sphere),

and the shortest way from one to the other, with b turned by the phase that makes <a|b> real and not negative, is

    |t> = cos(t theta) |a> + sin(t theta) |u>,    |u> = (|b> - cos theta |a>) / sin theta,

on which the distance from a grows evenly, t theta (Bengtsson and Zyczkowski 2017, section 4.5). Where a and b are
orthogonal (antipodal on the Bloch sphere), no phase is singled out and infinitely many ways are the shortest: the one
taken keeps b as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.nn.kets.qubits import wide
from psitext.nn.numerics import ORTHOGONAL


def overlap(first: Tensor, second: Tensor) -> Tensor:
    """<first|second> of the unit vectors, conjugate-linear in the first; (..., D), (..., D) -> complex128 (...)."""
    a, b = _both(first, second)
    return (a.conj() * b).sum(-1)


def fidelity(first: Tensor, second: Tensor) -> Tensor:
    """|<first|second>|^2, from 0 to 1; (..., D), (..., D) -> float64 (...)."""
    return overlap(first, second).abs().square().clamp_max(1.0)


def fidelities(first: Tensor, second: Tensor) -> Tensor:
    """Of each with each: (A, D), (B, D) -> float64 (A, B)."""
    a, b = _both(first, second)
    return (a.conj() @ b.T).abs().square().clamp_max(1.0)


def angle(first: Tensor, second: Tensor) -> Tensor:
    """The Fubini-Study distance in radians, from 0 to pi / 2; (..., D), (..., D) -> float64 (...).

    By its tangent: the arccosine of an overlap loses half the digits of small angles.
    """
    a, b = _both(first, second)
    along = (a.conj() * b).sum(-1)
    return torch.atan2(torch.linalg.vector_norm(b - along[..., None] * a, dim=-1), along.abs())


def angles(first: Tensor, second: Tensor) -> Tensor:
    """Of each with each: (A, D), (B, D) -> float64 (A, B)."""
    return torch.stack([angle(row, second) for row in first]) if len(first) else fidelities(first, second)


def geodesic(start: Tensor, end: Tensor, share: Tensor | float) -> Tensor:
    """Unit vectors at shares of the shortest ways; (..., D), (..., D), (...) -> complex128 (..., D), broadcast.

    At 0 it is the start, at 1 the end's ray, in the phase of the formula above. Errors: a share outside [0, 1].
    """
    share = torch.as_tensor(share, dtype=torch.float64, device=start.device)
    if not bool(((share >= 0) & (share <= 1)).all()):
        raise UserError("a geodesic goes from t = 0 to t = 1; a share outside of that is on no way between two kets")
    a, b = _both(start, end)
    along = (a.conj() * b).sum(-1, keepdim=True)
    size = along.abs()
    phase = torch.where(size > ORTHOGONAL, along.conj() / size, 1.0)
    rest = phase * (b - along * a)
    height = torch.linalg.vector_norm(rest, dim=-1, keepdim=True)
    side = torch.where(height > 0, rest / height, 0.0)
    turn = share[..., None] * torch.atan2(height, size)
    return wide(turn.cos() * a + turn.sin() * side)


def _both(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    if first.shape[-1] != second.shape[-1]:
        raise UserError(
            f"kets of width {first.shape[-1]} and {second.shape[-1]} have no overlap; encode both with one model"
        )
    return wide(first), wide(second)
