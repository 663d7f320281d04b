"""One word in several sentences: its static embedding against its contextual states.

Chapter 15.8.1 of Dive into Deep Learning: a static embedding is a function f(x) of the word alone, so "crane"
is one vector in "a crane is flying" and in "a crane driver came"; a contextual state is a function f(x, c(x))
of the word and its context, so it need not be. Letters: S sentences, N tokens of one of them, D and E the
widths of static and contextual vectors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from psitext.errors import UserError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TokenVectors:
    """The tokens of one sentence, special tokens left out.

    ``offsets`` (N, 2) characters [start, end) of every token in the sentence; ``static`` (N, D) embeddings;
    ``contextual`` (N, E) states, real or complex; ``unknown`` (N,) True where the token is [UNK], None where there
    is no such token.
    """

    offsets: npt.NDArray[Any]
    static: npt.NDArray[Any]
    contextual: npt.NDArray[Any]
    unknown: npt.NDArray[np.bool_] | None = None


class Pair(NamedTuple):
    """How alike the word is in two sentences: cosines of its static and of its contextual vectors."""

    first: str
    second: str
    static: float
    contextual: float


@dataclass(frozen=True, slots=True, eq=False)
class WordSimilarity:
    """A word's cosine similarities between S sentences, both (S, S), in the order of ``sentences``.

    ``unknown``: in some sentence the vocabulary lacks the word or a part of it, so what is compared is [UNK].
    """

    word: str
    sentences: tuple[str, ...]
    static: Floats
    contextual: Floats
    unknown: bool = False

    def table(self) -> list[Pair]:
        """One row for every two sentences."""
        return [
            Pair(first, second, float(self.static[i, j]), float(self.contextual[i, j]))
            for (i, first), (j, second) in combinations(enumerate(self.sentences), 2)
        ]


def word_similarity(
    word: str, sentences: Sequence[str], encode: Callable[[Sequence[str]], Sequence[TokenVectors]]
) -> WordSimilarity:
    """Compare ``word``, where it first occurs in each sentence, between all sentences.

    A word of several tokens is the mean of their vectors. Capitals do not matter. ``encode`` gives the tokens
    of every sentence. Errors: fewer than two sentences; a sentence without the word; one that is cut off
    before it; vectors that are not finite.
    """
    if len(sentences) < 2:
        raise UserError(f"comparing {word!r} between sentences takes two of them at least, not {len(sentences)}")
    places = [_place(word, sentence) for sentence in sentences]
    static, contextual, unknown = [], [], False
    for sentence, place, tokens in zip(sentences, places, encode(sentences), strict=True):
        at = _tokens_at(place, tokens, word, sentence)
        if not (np.isfinite(tokens.static[at]).all() and np.isfinite(tokens.contextual[at]).all()):
            raise UserError(
                f"the vectors of {word!r} in {sentence!r} are not finite: the model's training diverged, or its "
                "weights are damaged"
            )
        static.append(tokens.static[at].mean(0))
        contextual.append(tokens.contextual[at].mean(0))
        unknown |= tokens.unknown is not None and bool(tokens.unknown[at].any())
    return WordSimilarity(word, tuple(sentences), cosines(np.stack(static)), cosines(np.stack(contextual)), unknown)


def cosines(vectors: npt.NDArray[Any]) -> Floats:
    """(S, D) vectors -> (S, S) cosine similarities in [-1, 1]; a zero vector gives 0.

    Of complex vectors it is the real part of their overlap: the cosine of (real, imaginary) parts side by
    side.
    """
    wide = vectors.astype(np.complex128 if np.iscomplexobj(vectors) else np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    units = np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0)
    return np.asarray(np.clip((units.conj() @ units.T).real, -1.0, 1.0))


def _place(word: str, sentence: str) -> tuple[int, int]:
    """Characters [start, end) of the word; no "bank" in "bankrupt", where a script has spaces."""
    if not word.strip():
        raise UserError("the word to compare is empty")
    left = "" if _unspaced(word[0]) else r"(?<!\w)"
    right = "" if _unspaced(word[-1]) else r"(?!\w)"
    found = re.search(f"{left}{re.escape(word)}{right}", sentence, re.IGNORECASE)
    if found is None:
        raise UserError(f"the word {word!r} does not occur in the sentence {sentence!r}")
    return found.span()


def _tokens_at(place: tuple[int, int], tokens: TokenVectors, word: str, sentence: str) -> npt.NDArray[np.int64]:
    """Which tokens share a character with the place."""
    start, end = place
    # A sentence that was longer than the model reads has fewer states than tokens.
    offsets = tokens.offsets[: min(len(tokens.static), len(tokens.contextual))]
    at = np.flatnonzero((offsets[:, 0] < end) & (offsets[:, 1] > start))
    if not len(at) or offsets[at].max() < end:
        raise UserError(f"the model does not read {sentence!r} as far as {word!r}; give a shorter sentence")
    return at


def _unspaced(character: str) -> bool:
    """True for kanji, kana, Thai and their like, whose words stand side by side."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))
