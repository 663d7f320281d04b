"""Small corpora that lie in memory, and a vocabulary to go with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psitext.text.pretraining.store import FORMAT, Store, StoreMeta


@dataclass(frozen=True)
class Vocabulary:
    """What masking and pairs ask of a tokenizer: five special ids, then words; every third continues one."""

    vocab_size: int = 500
    pad: int = 0
    unk: int = 1
    cls: int = 2
    sep: int = 3
    mask: int = 4

    @property
    def special(self) -> np.ndarray:
        return np.arange(5)

    @property
    def ordinary(self) -> np.ndarray:
        return np.arange(5, self.vocab_size)

    @property
    def continuation(self) -> np.ndarray:
        return (np.arange(self.vocab_size) % 3 == 0) & (np.arange(self.vocab_size) >= 5)


VOCABULARY = Vocabulary()


@dataclass(frozen=True)
class Numbers(Vocabulary):
    """A tokenizer of texts that are numbers with spaces between them; anything else has no token."""

    fingerprint: str = "0123456789abcdef"

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array([int(word) for word in text.split() if word.isdecimal()], dtype=np.int32) for text in texts]


def store_of(lengths: Sequence[Sequence[int]], seed: int = 0) -> Store:
    """A store of documents given by the lengths of their sentences; its tokens are random words."""
    sizes = np.array([size for document in lengths for size in document])
    tokens = np.random.default_rng(seed).integers(5, VOCABULARY.vocab_size, sizes.sum()).astype(np.uint16)
    meta = StoreMeta(
        format=FORMAT,
        key="",
        tokenizer="",
        vocab_size=VOCABULARY.vocab_size,
        dtype="uint16",
        tokens=len(tokens),
        sentences=len(sizes),
        documents=len(lengths),
        characters=0,
        unknown=0,
        dropped_sentences=0,
        dropped_documents=0,
        sources=(),
        checksums={},
    )
    return Store(Path(), meta, tokens, offsets(sizes), offsets([len(document) for document in lengths]))


def offsets(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
