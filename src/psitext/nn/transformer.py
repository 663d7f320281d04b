"""One transformer block for every family; what differs between them is handed in.

Letters: R rows, T tokens, D width, H heads, E = D / H width of a head, F hidden width of the feed-forward net, P
states that are asked for, Q of them at most in one row. A leading "..." may hold the planar axis of a complex
activation: nothing here looks at it, so complex parts in give a complex block.

Source: Vaswani et al. 2017; post-normalisation as in BERT (Devlin et al. 2019) and chapter 15.8 of Dive into Deep
Learning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.nn.dropout import dropout as drop
from psitext.nn.numerics import float32_scores

# score(q, k, v, mask, dropout) -> attended values (..., R, H, Q, E); q: (..., R, H, Q, E), k and v: (..., R, H, T, E),
# where Q = T unless fewer states are asked for; mask broadcasts to (R, H, Q, T), True = may attend.
Score = Callable[[Tensor, Tensor, Tensor, Tensor | None, float], Tensor]


FEW = 32  # keys up to which a fused attention in bfloat16 costs more than it saves


def dot_product(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, scale: float | None = None
) -> Tensor:
    """softmax(q k^T / sqrt(E)) v, real, or with ``scale`` in the place of 1 / sqrt(E); softmax in float32.

    On a CPU the formula is written out where that is faster: torch's fused kernel knows no dropout there and falls back
    to a path that draws and checks more than is needed, and in bfloat16 it takes 1.6 times as long with gradients (128
    tokens), and without them in rows of ``FEW`` keys or less. Every query may attend to something (see ``Batch.mask``),
    so no row of the softmax is empty.
    """
    written_out = dropout > 0 or (q.dtype == torch.bfloat16 and (torch.is_grad_enabled() or k.shape[-2] <= FEW))
    if q.device.type != "cpu" or not written_out:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale)
    scores = (q * (q.shape[-1] ** -0.5 if scale is None else scale)) @ k.transpose(-1, -2)  # (..., R, H, Q, T)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return drop(float32_scores(scores).softmax(-1).to(v.dtype), dropout) @ v


@dataclass(frozen=True, slots=True)
class Asked:
    """The P places of (R, T) rows whose states are asked for, ordered so that attention runs over R rows of Q queries.

    A state is a function of its own query and of all keys and values. So of the last block what nobody reads need
    not be computed: neither its attention nor its feed-forward net, three quarters of the block's products.
    """

    at: Tensor  # (P,) flat places, ascending
    queries: Tensor  # (R * Q,) the flat places of every row; a row that has fewer repeats its first place
    back: Tensor  # (P,) where each of ``at`` stands among the queries

    @classmethod
    def of(cls, places: Tensor, rows: int, width: int) -> Self:
        """Order ``places`` (any order, repetitions allowed) of ``rows`` rows of ``width`` places."""
        at = places.unique()
        row = at // width
        counts = row.bincount(minlength=rows)
        most = int(counts.max())
        number = torch.arange(len(at), device=at.device) - (counts.cumsum(0) - counts)[row]  # within its row
        back = row * most + number
        queries = (torch.arange(rows, device=at.device) * width).repeat_interleave(most)
        return cls(at, queries.index_copy(0, back, at), back)

    def spread(self, states: Tensor, shape: torch.Size) -> Tensor:
        """(..., P, D) states at their places in (..., R, T, D) rows; nan elsewhere, so that reading what was not asked
        shows.
        """
        unread = states.new_full((*states.shape[:-2], shape.numel(), states.shape[-1]), torch.nan)
        rows: Tensor = unread.index_copy(-2, self.at, states).unflatten(-2, shape)
        return rows

    def of_mask(self, mask: Tensor | None) -> Tensor | None:
        """The (R, 1, T, T) mask for the queries alone, (R, 1, Q, T); one that is the same for all queries stays."""
        if mask is None or mask.shape[-2] == 1:
            return mask
        rows: Tensor = mask.flatten(0, 2)[self.queries]  # (R * Q, T)
        return rows.unflatten(0, (len(mask), 1, -1))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a block is built from."""

    qkv: Callable[[int], nn.Module]  # width D -> a module (..., D) -> (..., 3 D): queries, keys, values
    out: Callable[[int], nn.Module]  # width D -> a module (..., D) -> (..., D)
    linear: Callable[[int, int], nn.Module]
    norm: Callable[[int], nn.Module]
    activation: Callable[[Tensor], Tensor]
    score: Score
    dropout: Callable[[float], nn.Module]


class Attention(nn.Module):
    """Multi-head self-attention; (..., R, T, D) -> (..., R, T, D), or (..., P, D) for what is asked."""

    def __init__(self, width: int, heads: int, parts: Parts, dropout: float) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} is not a multiple of {heads} heads")
        self.heads = heads
        self.dropout = dropout
        self.score = parts.score
        self.qkv = parts.qkv(width)
        self.out = parts.out(width)

    def forward(self, x: Tensor, mask: Tensor | None, asked: Asked | None = None) -> Tensor:
        """Attend where ``mask`` is True."""
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if asked is not None:
            q = q.flatten(-3, -2).index_select(-2, asked.queries).unflatten(-2, (x.shape[-3], -1))  # (..., R, Q, D)
            mask = asked.of_mask(mask)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(-2, -3) for part in (q, k, v))
        attended = self.score(q, k, v, mask, self.dropout if self.training else 0.0)  # (..., R, H, Q, E)
        attended = attended.transpose(-2, -3).flatten(-2)
        if asked is not None:
            attended = attended.flatten(-3, -2).index_select(-2, asked.back)  # (..., P, D)
        return self.out(attended)  # type: ignore[no-any-return]


class Block(nn.Module):
    """Attention, then a feed-forward net, each added to its input and normalised; (..., R, T, D) -> (..., R, T, D)."""

    def __init__(
        self, width: int, heads: int, hidden: int, parts: Parts, *, dropout: float, attention_dropout: float
    ) -> None:
        super().__init__()
        self.attention = Attention(width, heads, parts, attention_dropout)
        self.attention_norm = parts.norm(width)
        self.up = parts.linear(width, hidden)
        self.down = parts.linear(hidden, width)
        self.feed_norm = parts.norm(width)
        self.activation = parts.activation
        self.dropout = parts.dropout(dropout)

    def forward(
        self, x: Tensor, mask: Tensor | None, asked: Asked | None = None, first: Tensor | None = None
    ) -> Tensor:
        """One layer of the stack; with ``asked`` its (..., P, D) states alone.

        ``first`` (R, T) bool is True on the first token of each sentence, for norms that treat it apart: they are
        called ``norm(x, first)``, and ``norm(x)`` without it.
        """
        attended = self.attention(x, mask, asked)
        if asked is not None:
            x = x.flatten(-3, -2).index_select(-2, asked.at)
            first = None if first is None else first.flatten()[asked.at]
        apart = () if first is None else (first,)
        x = self.attention_norm(x + self.dropout(attended), *apart)
        return self.feed_norm(x + self.dropout(self.down(self.activation(self.up(x)))), *apart)  # type: ignore[no-any-return]
