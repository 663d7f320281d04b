"""What complex attention makes of q k^H: three scores, and the projection of a layer that has no query matrix.

Letters as in nn/transformer.py, with the planar axis first: q (2, R, H, Q, E), k and v (2, R, H, T, E). Masks apply
after modulus or part was taken, where -inf still means "not at all"; softmax in float32; dropout drops complex weights
whole.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from psitext.nn.complex.layout import apart, check_planar, modulus, planar_dropout, side_by_side
from psitext.nn.dropout import dropout as drop
from psitext.nn.numerics import float32_scores
from psitext.nn.transformer import dot_product


def modulus_score(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """softmax(|q k^H| / sqrt(E)) v (QBERT, eqs. 3 and 5): convex weights, blind to the phases of queries and keys."""
    weights = _softmax(modulus(_hermitian(q, k)), mask).to(v.dtype)  # (R, H, Q, T)
    return apart(drop(weights, dropout) @ side_by_side(v))


def split_score(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """(softmax(Re q k^H / sqrt(E)) + i softmax(Im q k^H / sqrt(E))) v (QBERT, eqs. 3 and 4): complex weights."""
    weights = _softmax(_hermitian(q, k), mask).to(v.dtype)  # (2, R, H, Q, T)
    re, im = planar_dropout(weights, dropout)
    return apart(re @ side_by_side(v) + im @ side_by_side(torch.stack([-v[1], v[0]])))


def real_score(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """softmax(Re q k^H / sqrt(E)) v (Eilers and Jiang 2023, eq. 8): real attention over 2 E coordinates."""
    check_planar(q)
    scale = q.shape[-1] ** -0.5
    return apart(dot_product(side_by_side(q), side_by_side(k), side_by_side(v), mask, dropout, scale))


def _hermitian(q: Tensor, k: Tensor) -> Tensor:
    """q k^H / sqrt(E), planar (2, R, H, Q, T), in float32 at least: one real product of twice the rows and columns."""
    check_planar(q)
    rows: Tensor = _Rows.apply(q, q.shape[-1] ** -0.5)  # type: ignore[no-untyped-call]
    return float32_scores(rows @ side_by_side(k).mT).unflatten(-2, (2, -1)).movedim(-3, 0)  # type: ignore[no-any-return]


class _Rows(torch.autograd.Function):
    """factor (q_re, q_im), and in the rows below factor (q_im, -q_re); (2, ..., Q, E) -> (..., 2 Q, 2 E).

    Re q conj(k) is the product of (q_re, q_im) with (k_re, k_im), and Im q conj(k) is Re(-i q conj(k)).
    """

    @staticmethod
    def forward(q: Tensor, factor: float) -> Tensor:
        count, size = q.shape[-2:]
        rows = q.new_empty(*q.shape[1:-2], 2 * count, 2 * size)
        upper, lower = (apart(half) for half in rows.split(count, dim=-2))
        torch.mul(q, factor, out=upper)
        torch.mul(q[1], factor, out=lower[0])
        torch.mul(q[0], -factor, out=lower[1])
        return rows

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        upper, lower = (apart(half) for half in grad.chunk(2, dim=-2))
        return torch.stack([upper[0] - lower[1], upper[1] + lower[0]]).mul_(ctx.factor), None


def _softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    # Adding -inf costs a quarter of filling it in.
    return (scores + scores.new_zeros(mask.shape).masked_fill_(~mask, float("-inf"))).softmax(-1)


class KeyValue(nn.Module):
    """Queries are the states themselves, keys and values are learned: QBERT's W^K and W^V without W^Q.

    ``kv`` maps (..., D) to (..., 2 D), keys before values.
    """

    def __init__(self, kv: nn.Module) -> None:
        super().__init__()
        self.kv = kv

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., 3 D), as a projection of queries, keys and values would give."""
        kv = self.kv(x)
        return torch.cat([x.to(kv.dtype), kv], dim=-1)
