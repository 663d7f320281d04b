"""Tiny tokenizers and sentences that the tests of this folder share."""

from __future__ import annotations

from functools import cache

from psitext.text.tokenizer import Tokenizer, train
from psitext.text.tokenizer.causal import CausalTokenizer, learn

SENTENCES = [
    "the old crane stopped in the wind .",
    "a crane flew over the lake",
    "unbelievable , nobody saw it .",
    "nobody saw it",
    "naïve café 🙂 was closed",
    "the wind",
    "stop",
]


@cache
def reader() -> Tokenizer:
    """Whole words for the frequent ones, pieces for the others."""
    return train("wordpiece", SENTENCES * 3, 90)


@cache
def writer() -> CausalTokenizer:
    """Pieces of bytes."""
    return learn("bpe", SENTENCES * 3, 300)
