"""The law of the words that a model has read: how often each of them, and how long the texts were.

It is what a metric of word vectors needs, C = E[Phi~ Phi~^T], under which entanglement does not depend on the scale
of word vectors, and what a mean word is the mean of. Words are taken as independent, which they are not: a law of
whole texts would be another matter. Where short texts are filled from the front, a place holds the filler with the
share of the texts that are too short to reach it, and each place has a law of its own.
Letters: V words, d width of a word vector, p = d + 1, T places, S texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from psitext.encoders.words import MARKS
from psitext.errors import UserError
from psitext.explain.mps.chain import word_root
from psitext.text.supervised import SupervisedSource


@dataclass(frozen=True, slots=True, eq=False)
class WordLaw:
    """Counts of the words of some texts, as a model read them: cut, and without unknown ones where it drops these.

    Errors: no word at all.
    """

    words: Tensor  # (V,) int64, how often each was read
    lengths: Tensor  # (L + 1,) int64, how many texts had 0 ... L words

    def __post_init__(self) -> None:
        if not bool(self.words.any()):
            raise UserError("these texts hold no word that the model knows, so there is no law of words")

    @property
    def typical(self) -> int:
        """The mean number of words in a text, rounded; 1 at least."""
        counts = self.lengths.double()
        mean = float((counts * torch.arange(len(counts))).sum() / counts.sum())
        return max(round(mean), 1)

    def mean_word(self, vectors: Tensor) -> Tensor:
        """E[Phi] of word vectors (V, d): (d,) in double. f of it is the mean of f over random words in its place."""
        counts = self.words.double()
        return counts @ vectors.double() / counts.sum()

    def filled(self, places: int) -> Tensor:
        """(T,) in double: the share of texts whose place t of T holds the filler, those of T - t words or fewer."""
        shares = self.lengths.double().cumsum(0) / self.lengths.sum()
        left = torch.arange(places - 1, -1, -1)  # words that have room behind a place
        return shares[left.clamp_max(len(shares) - 1)]


def counted(source: SupervisedSource) -> WordLaw:
    """The law of a source's texts. Errors: as ``WordLaw``."""
    ids = torch.from_numpy(source.ids).long()
    ends = torch.from_numpy(source.offsets[1:]) - 1
    words = torch.ones(len(ids), dtype=torch.bool)
    words[torch.from_numpy(source.offsets[:-1])] = False
    words[ends] = False
    lengths = torch.from_numpy(source.lengths() - MARKS).clamp_min(0)
    return WordLaw(torch.bincount(ids[words], minlength=source.tokenizer.vocab_size), torch.bincount(lengths))


def place_roots(law: WordLaw, vectors: Tensor, filler: Tensor | None, places: int) -> list[Tensor]:
    """T roots (p, k) of the metrics of T places: C_t = (1 - s_t) E_w[Phi~ Phi~^T] + s_t Phi~_0 Phi~_0^T.

    ``vectors`` (V, d) of the words; ``filler`` Phi_0 (d,) with its shares s_t, None where nothing is filled. Places of
    the same law have the same tensor. Errors: those of ``word_root``.
    """
    root = word_root(vectors, law.words)
    if filler is None:
        return [root] * places
    ahead = torch.cat([filler.double(), filler.new_ones(1, dtype=torch.float64)])[None]
    made, roots = {0.0: root}, []
    for share in law.filled(places).tolist():
        if share not in made:
            rows = torch.cat([(1 - share) ** 0.5 * root.mT, share**0.5 * ahead])
            made[share] = torch.linalg.qr(rows, mode="r").R.mT
        roots.append(made[share])
    return roots


def same_everywhere(roots: Sequence[Tensor]) -> bool:
    """Whether all places have one law."""
    return all(a is b for a, b in pairwise(roots))
