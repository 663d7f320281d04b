"""QCLS-end2end: a sentence as the normalised mean of its words' complex vectors, which is linear until measured.

Source: arXiv 2302.13812, section 5, where it stands for quantum models that are trained on a task from nothing.
QCLS-transformer needs no code of its own: it is a QBERT that was never pre-trained. Letters: R rows, T tokens, B
sentences, D complex width.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import nn

from psitext.config import Config
from psitext.encoders.bert import vectors_of
from psitext.nn.complex.layout import to_complex
from psitext.nn.complex.linear import ComplexEmbedding, initialise_complex
from psitext.nn.numerics import unit
from psitext.state import SentenceState
from psitext.text.batches import Batch


class QclsConfig(Config):
    """Shape of a QCLS-end2end."""

    family: Literal["qcls"] = "qcls"
    vocab_size: int = Field(default=30_522, gt=0)  # V
    width: int = Field(default=768, gt=0)  # D, complex
    max_len: int = Field(default=512, gt=0)  # longest text; nothing is learnt about places
    pool: Literal["mean"] = "mean"
    init: Literal["fan-in", "paper"] = "fan-in"

    @property
    def real_width(self) -> int:
        """Real numbers in a state."""
        return 2 * self.width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"the mean of word vectors of complex width {self.width}"


class Qcls(nn.Module):
    """Rows of tokens -> SentenceState with complex ``vector`` (B, D) of unit norm; no token knows its context."""

    def __init__(self, config: QclsConfig) -> None:
        super().__init__()
        self.config = config
        self.token = ComplexEmbedding(config.vocab_size, config.width)
        initialise_complex(self.token, how=config.init)

    def forward(self, batch: Batch) -> SentenceState:
        """Average the tokens of every sequence, special ones included, so that even an empty text has a state."""
        words = to_complex(self.token(batch.ids))  # (R, T, D)
        return SentenceState(unit(vectors_of(words, batch, "mean")))
