"""Sentences that are short enough, as texts and as the tokens of two tokenizers, and how many were not.

Source: Li et al. 2020 (Optimus), appendix B.2, which keeps what has at most 64 words and 256 tokens.

Letters: S sentences, N tokens of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from pydantic import Field

from psitext.config import MAX_INT, Config
from psitext.errors import UserError
from psitext.text.batches import Ints
from psitext.text.tokenizer import Ids, Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer

KEPT, EMPTY, MANY_WORDS, MANY_TOKENS = range(4)  # verdicts, in the order of Counts
BLOCK = 1 << 14  # sentences tokenised at a time: what the tokenizers hand back for more would fill the memory


class SentencesConfig(Config):
    """Which sentences are kept, and what an encoder sees of them."""

    max_words: int = Field(default=64, gt=0)  # between white space
    max_tokens: int = Field(default=64, gt=1)  # that are written: the end of the sentence counts, its beginning not
    max_len: int = Field(default=64, gt=2)  # tokens of a row that is read, [CLS] and [SEP] included
    limit: int | None = Field(default=None, gt=0)  # so many are kept, the first; None = all
    held_out: float = Field(default=0.01, ge=0)  # for validation: below 1 a share, else a number of sentences
    word_noise: float = Field(default=0.0, ge=0, lt=1)  # share of the words that the encoder does not see, in training


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the sentences that were read; what fails twice is counted where it failed first."""

    read: int = 0
    kept: int = 0
    empty: int = 0  # no word, or none with a token
    many_words: int = 0
    many_tokens: int = 0  # of the tokenizer that reads or the one that writes

    @property
    def in_words(self) -> str:
        """One line for a log."""
        reasons = {"empty": self.empty, "of too many words": self.many_words, "of too many tokens": self.many_tokens}
        left_out = ", ".join(f"{count:,} {why}" for why, count in reasons.items() if count)
        return f"{self.kept:,} of {self.read:,} sentences" + (f" (left out: {left_out})" if left_out else "")


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of tokens end to end."""

    ids: Ids  # (N,) int32, special tokens included
    offsets: Ints  # (S + 1,) where each row begins

    @property
    def lengths(self) -> Ints:
        """(S,) tokens of every row."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """What was kept, in the order of reading; the same sentence twice stays twice."""

    texts: tuple[str, ...]  # S, words with one space between them
    counts: Counts
    read: Rows  # [CLS] w1 .. wn [SEP]; of a language model, which reads nothing, one pad
    written: Rows  # bos w1 .. wn eos


def gather(
    stream: Iterable[str | None],
    reader: Tokenizer | None,
    writer: CausalTokenizer,
    config: SentencesConfig,
    table: str = "sentences",
) -> Sentences:
    """Keep the sentences of a stream that are within the limits; None, the end of a document, is passed over.

    Without a ``reader``, for a language model, only what is written counts. Memory: the texts, the flat tokens, and
    one block of sentences at work. Errors: nothing is left; the sentence names the keys of the recipe's ``table``.
    """
    texts: list[str] = []
    read, written = _Flat(), _Flat()
    counted = [0, 0, 0, 0]  # by verdict
    room = config.limit or MAX_INT
    lines = (_by_words(text.split(), config) for text in stream if text is not None)
    while len(texts) < room and (block := list(islice(lines, BLOCK))):
        some = [text for verdict, text in block if verdict == KEPT]
        sides = zip(_read(some, reader, writer), writer.encode(some), strict=True)
        for verdict, text in block:
            if verdict == KEPT:
                pieces, tokens = next(sides)
                verdict = _by_tokens(len(pieces), len(tokens), config)
            counted[verdict] += 1
            if verdict == KEPT:
                texts.append(text)
                read.rows.append(pieces)
                written.rows.append(tokens)
                if len(texts) == room:
                    break
        read.close((reader.cls, reader.sep) if reader else None)
        written.close((writer.bos, writer.eos))
    counts = Counts(sum(counted), *counted)
    if not texts:
        raise UserError(
            f"no sentence is left: {counts.in_words}; name other text, or raise a limit, --set {table}.max_words=..., "
            "max_tokens or max_len"
        )
    return Sentences(tuple(texts), counts, read.flat(), written.flat())


def _by_words(words: list[str], config: SentencesConfig) -> tuple[int, str]:
    if not words:
        return EMPTY, ""
    return (KEPT, " ".join(words)) if len(words) <= config.max_words else (MANY_WORDS, "")


def _by_tokens(read: int, written: int, config: SentencesConfig) -> int:
    if not read or not written:
        return EMPTY
    return KEPT if read + 2 <= config.max_len and written + 1 <= config.max_tokens else MANY_TOKENS


def _read(texts: list[str], reader: Tokenizer | None, writer: CausalTokenizer) -> list[Ids]:
    """What an encoder reads of every text; of a language model one pad, which is no special case for anything else."""
    return reader.encode(texts) if reader else [np.array([writer.pad], dtype=np.int32)] * len(texts)


class _Flat:
    """Rows that become flat block by block."""

    def __init__(self) -> None:
        self.rows: list[Ids] = []  # of the block at work
        self._blocks: list[Ids] = []
        self._lengths: list[Ints] = []

    def close(self, ends: tuple[int, int] | None) -> None:
        """Lay the block's rows end to end, each between two special tokens where ``ends`` are given."""
        if not self.rows:
            return
        first, last = (np.array([one], dtype=np.int32) for one in ends) if ends else (self.rows[0][:0],) * 2
        self._blocks.append(np.concatenate([part for row in self.rows for part in (first, row, last)]))
        self._lengths.append(np.array([len(first) + len(row) + len(last) for row in self.rows], dtype=np.int64))
        self.rows = []

    def flat(self) -> Rows:
        """All rows of all blocks."""
        return Rows(np.concatenate(self._blocks), np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))]))
