"""Affine heads for the four downstream kinds of chapter 15.8: one text, two texts, every token, an answer span.

Letters: B sequences, R rows, T tokens a row, L tokens of the longest sequence, D width, K classes or tags.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from psitext.config import Config
from psitext.errors import UserError
from psitext.nn.dropout import Dropout
from psitext.nn.numerics import float32_scores
from psitext.state import SentenceState, State, side_by_side
from psitext.text.batches import Batch

Prediction = dict[str, Tensor]


class AffineConfig(Config):
    """Settings of an affine head."""

    kind: Literal["affine"] = "affine"
    dropout: float = Field(default=0.1, ge=0, lt=1)


class SequenceHead(nn.Module):
    """Classes or a score for a whole text or pair: {"logits": (B, K)}; a regression has K = 1."""

    def __init__(self, width: int, outputs: int, config: AffineConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, outputs)
        _start(self.output)

    def reads(self, batch: Batch) -> Tensor:
        """No token's state."""
        return batch.starts[:0]

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Read the sentence vector; complex ones as real and imaginary parts side by side."""
        return {"logits": self.output(self.dropout(state.to_real()))}


class TokenHead(nn.Module):
    """A tag for every token: {"token_logits": (R, T, K)}."""

    def __init__(self, width: int, outputs: int, config: AffineConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, outputs)
        _start(self.output)

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Read the state of every token; complex ones as real and imaginary parts side by side."""
        return {"token_logits": self.output(self.dropout(side_by_side(tokens_of(state))))}


class SpanHead(nn.Module):
    """First and last token of an answer: {"span_logits": (B, L, 2)}, -inf outside the second text.

    A token of the question or of the padding can never be part of the answer, so the softmax runs over the passage
    only.
    """

    def __init__(self, width: int, config: AffineConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, 2)
        _start(self.output)

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Score every token of the passage as first and as last."""
        scores, real = batch.sequences(self.output(self.dropout(side_by_side(tokens_of(state)))))  # (B, L, 2), (B, L)
        passage, _ = batch.sequences(batch.segments)  # (B, L)
        return {"span_logits": float32_scores(scores).masked_fill(~(real & (passage == 1))[..., None], float("-inf"))}


def tokens_of(state: State) -> Tensor:
    """The (R, T, D) token states, real or complex; a family without them cannot tag or find spans."""
    if not isinstance(state, SentenceState) or state.tokens is None:
        raise UserError(f"a {type(state).__name__} has no token states, which tagging, spans and masked words need")
    return state.tokens


def _start(output: nn.Linear) -> None:
    with torch.no_grad():
        output.weight.normal_(std=0.02)
        output.bias.zero_()
