"""What a RAC is compared with on the same words: recurrent networks, a dense matrix product state, word vectors alone.

Letters: B texts, T words, d features of a word, H width of a state.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from psitext.encoders.words import WordReader, WordsConfig
from psitext.nn.numerics import autocast
from psitext.state import SentenceState
from psitext.text.batches import Batch


class RecurrentConfig(WordsConfig):
    """``cell``: "tanh", Elman's network; "gru"; "mps", h_t = (I + sum_s x_s A^s) h_{t-1}, a uniform matrix product
    state with a full matrix for every feature.
    """

    family: Literal["recurrent"] = "recurrent"
    cell: Literal["tanh", "gru", "mps"] = "tanh"
    width: int = Field(default=20, gt=0)  # H

    @property
    def real_width(self) -> int:
        """Real numbers in a state."""
        return self.width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"a recurrent network ({self.cell}) of width {self.width} on words of {self.features} features"


class Recurrent(WordReader):
    """Texts -> SentenceState with real ``vector`` (B, H): the state after the last word."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        self.config = config
        if config.cell == "mps":
            self.net: nn.Module = Chain(config.features, config.width)
        else:
            self.net = (nn.RNN if config.cell == "tanh" else nn.GRU)(config.features, config.width)

    def forward(self, batch: Batch) -> SentenceState:
        """Run over every text; one without words stays in the first state."""
        with autocast(batch.ids.device, "fp32"):
            x, lengths = self.words(batch)
            if isinstance(self.net, Chain):
                return SentenceState(self.net(x, lengths))
            last = x.new_zeros(x.shape[1], self.config.width)
            if lengths is None:
                return SentenceState(self.net(x)[1][0])
            some = (lengths > 0).nonzero().flatten()
            if not len(some):
                return SentenceState(last)
            packed = pack_padded_sequence(x[:, some], lengths[some].cpu(), enforce_sorted=False)
            return SentenceState(last.index_copy(0, some, self.net(packed)[1][0]))


class Chain(nn.Module):
    """``cores`` (d, H, H) and ``first`` (H,), the state before any word."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.cores = nn.Parameter(torch.empty(features, width, width).normal_(std=1 / math.sqrt(features * width)))
        self.first = nn.Parameter(torch.full((width,), 1 / math.sqrt(width)))

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """(T, B, d) words -> (B, H)."""
        state = self.first.expand(x.shape[1], -1)
        wide = self.cores.permute(2, 0, 1).flatten(1)  # (H, d H): one product for all features
        for step, word in enumerate(x):
            moves = (state @ wide).view(len(state), len(self.cores), -1)  # (B, d, H)
            moved = state + (word[:, :, None] * moves).sum(1)
            state = moved if lengths is None else torch.where((step < lengths)[:, None], moved, state)
        return state


class VectorsConfig(WordsConfig):
    """``how``: "bag", the mean of a text's word vectors; "flatten", all T of them side by side, with which the paper
    trains its word vectors before the circuit.
    """

    family: Literal["vectors"] = "vectors"
    how: Literal["bag", "flatten"] = "bag"

    @property
    def width(self) -> int:
        """Numbers in a state."""
        return self.features * (self.steps if self.how == "flatten" else 1)

    real_width = width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"word vectors of {self.features} features, {'their mean' if self.how == 'bag' else 'side by side'}"


class Vectors(WordReader):
    """Texts -> SentenceState with real ``vector`` (B, d) or (B, T d); no word knows its context."""

    def __init__(self, config: VectorsConfig) -> None:
        super().__init__(config)
        self.config = config

    def forward(self, batch: Batch) -> SentenceState:
        """Average, or lay side by side; what is missing at the end of a short text is 0."""
        x, lengths = self.words(batch)
        if lengths is not None:
            x = x * (torch.arange(len(x), device=x.device)[:, None] < lengths)[..., None]
        if self.config.how == "bag":
            count = torch.full((x.shape[1],), len(x), device=x.device) if lengths is None else lengths
            return SentenceState(x.sum(0) / count.clamp_min(1)[:, None])
        flat = x.movedim(0, 1).flatten(1)
        return SentenceState(nn.functional.pad(flat, (0, self.config.width - flat.shape[1])))
