"""An automaton: a linear recurrence with a full matrix for every feature of a word, what a compressed RAC is.

    h_t = sum_s Phi~_s(w_t) A^s h_{t-1},    Phi~ = [Phi; 1],    h_0 = first

A uniform matrix product state, or weighted automaton over word vectors; a RAC is one with A^s = diag(W~_I[:, s]) W~_H.
Letters: B texts, T words, d features of a word, p = d + 1, D numbers of a state.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import nn

from psitext.encoders.words import WordReader, WordsConfig
from psitext.nn.numerics import autocast, binary_exponent, scaled
from psitext.state import Bond
from psitext.text.batches import Batch


class AutomatonConfig(WordsConfig):
    """Shape of an automaton."""

    family: Literal["automaton"] = "automaton"
    bond: int = Field(default=8, gt=0)  # D

    @property
    def width(self) -> int:
        """Real numbers in a state."""
        return self.bond

    real_width = width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"a linear recurrence of bond dimension {self.bond} on words of {self.features} features"


class Automaton(WordReader):
    """Texts -> Bond with real ``vector`` (B, D) and ``log_scale`` (B,): the state after the last word.

    ``core`` (D, p, D) takes the state before a word to the one after it, h_r = sum h_l Phi~_s core[l, s, r]; fresh
    ones keep a state nearly as it is. ``first`` (D,) is the state before any word.
    """

    def __init__(self, config: AutomatonConfig) -> None:
        super().__init__(config)
        self.config = config
        spread = 1 / math.sqrt(config.features * config.bond)
        self.core = nn.Parameter(torch.empty(config.bond, config.features + 1, config.bond).normal_(std=spread))
        self.first = nn.Parameter(torch.full((config.bond,), 1 / math.sqrt(config.bond)))
        with torch.no_grad():
            self.core[:, -1] = torch.eye(config.bond)

    def forward(self, batch: Batch) -> Bond:
        """Run over every text; one without words stays in the first state."""
        with autocast(batch.ids.device, "fp32"):
            x, lengths = self.words(batch)
            state = self.first.expand(x.shape[1], -1)
            exponent = state.new_zeros(len(state))
            wide = self.core.flatten(1)  # (D, p D): one product for all features
            for step, word in enumerate(x):
                moves = (state @ wide).view(len(state), -1, self.config.bond)  # (B, p, D)
                moved = moves[:, -1] + (word[:, :, None] * moves[:, :-1]).sum(1)
                # A power of two costs no rounding, and a constant in both factors of a state no gradient.
                shift = binary_exponent(moved.detach().abs().amax(-1)).to(moved.dtype)
                moved = scaled(moved, shift[:, None])
                if lengths is not None:
                    moved = torch.where((step < lengths)[:, None], moved, state)
                    shift = shift * (step < lengths)
                state, exponent = moved, exponent + shift
        return Bond(state, exponent * math.log(2))
