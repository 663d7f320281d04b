"""Word vectors of whole texts in the order of time, as a recurrent encoder reads them.

Source: NJP 24 053032, section 2.2; the choices that it leaves open are options. Letters: B texts, T steps, V words,
d features of a word.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from psitext.config import Config
from psitext.nn.dropout import Dropout
from psitext.text.batches import Batch

MARKS = 2  # [CLS] and [SEP] frame every text and are no words


class WordsConfig(Config):
    """The words that a recurrent encoder reads."""

    vocab_size: int = Field(default=30_522, gt=0)  # V
    features: int = Field(default=32, gt=0)  # d, the paper's d_I
    max_len: int = Field(default=512, gt=MARKS)  # T + 2: tokens of the longest text, its two marks included
    # What fills a text up to T words, from the front: "word", one more word with a vector that is learnt (the paper's
    # 0 of a Keras embedding); "zero", the vector 0; "none", nothing: short texts take fewer steps.
    pad: Literal["none", "word", "zero"] = "none"
    words: Literal["joint", "frozen"] = "joint"  # whether word vectors are trained along
    spread: float = Field(default=0.05, gt=0)  # new vectors lie within +-; Keras' default. Of rare words it is noise
    dropout: float = Field(default=0.0, ge=0, lt=1)  # of features
    word_dropout: float = Field(default=0.0, ge=0, lt=1)  # of whole words, whose vector is then 0
    pool: Literal["last"] = "last"  # the state after the last word

    @property
    def steps(self) -> int:
        """T, the most words of a text."""
        return self.max_len - MARKS


class Words(nn.Module):
    """Texts -> their word vectors in time, real (T, B, d), and how many of them count, (B,); None: all.

    ``token`` holds the vectors (V, d), ``filler`` (d,) that of the padding where it is a word.
    """

    def __init__(self, config: WordsConfig) -> None:
        super().__init__()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.features)
        self.dropout, self.word_dropout = Dropout(config.dropout), Dropout(config.word_dropout)
        self.filler = nn.Parameter(torch.empty(config.features)) if config.pad == "word" else None
        for weight in (self.token.weight, self.filler):
            if weight is not None:
                nn.init.uniform_(weight, -config.spread, config.spread)
                weight.requires_grad_(config.words == "joint")

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Look up every word; a text without any has none that count."""
        x, count = self._looked_up(batch)
        return self.dropout(x * self.word_dropout(torch.ones_like(x[..., :1]))), count

    def _looked_up(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        count = (batch.lengths - MARKS).clamp_min(0)  # (B,)
        if self.config.pad == "none":
            steps = torch.arange(int(count.max()), device=count.device)[:, None]  # (T, 1)
            return self.token(_at(batch, steps, steps < count)), count
        steps = torch.arange(self.config.steps, device=count.device)[:, None] - (self.config.steps - count)  # (T, B)
        there = (steps >= 0)[..., None]
        filler = self.token.weight.new_zeros(()) if self.filler is None else self.filler
        return torch.where(there, self.token(_at(batch, steps, there[..., 0])), filler), None


class WordReader(nn.Module):
    """What encoders share that read words one after the other: their ``words``."""

    def __init__(self, config: WordsConfig) -> None:
        super().__init__()
        self.words = Words(config)

    @property
    def token(self) -> nn.Embedding:
        """The vectors of words, (V, d)."""
        return self.words.token


def principal(vectors: Tensor, counts: Tensor, features: int) -> Tensor:
    """(V, d) word vectors made of another model's (V, E): their coordinates along the d directions in which words that
    occur as often as ``counts`` (V,) say vary most, in descending order, from the mean word. All are divided by one
    number, so that a feature of such a word has a mean square of 1. Computed in double; a direction's sign is that of
    its largest number.

    Errors: ValueError for more features than there are numbers, or no count.
    """
    if not 0 < features <= vectors.shape[1] or not bool(counts.any()):
        raise ValueError(f"{features} directions of {tuple(vectors.shape)} vectors, {int(counts.sum())} words")
    share = (counts.double() / counts.double().sum())[:, None]
    centred = vectors.double() - (share * vectors.double()).sum(0)
    directions = torch.linalg.eigh(centred.T @ (share * centred)).eigenvectors.flip(1)[:, :features]  # (E, d)
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    found: Tensor = centred @ (directions * largest.sign())
    size = (share * found.square()).sum().div(features).sqrt()
    return (found / size if bool(size) else found).to(vectors.dtype)


def _at(batch: Batch, steps: Tensor, there: Tensor) -> Tensor:
    """The ids (T, B) of the words number ``steps`` of every text, counted behind its [CLS]; the [CLS] where no word is
    ``there``.
    """
    return batch.ids.flatten()[batch.starts + torch.where(there, steps + 1, 0)]
