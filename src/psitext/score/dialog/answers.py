"""What several answers to one context are worth against the one that was given: recall, precision, F1.

Source: Zhao et al. 2017; Gu et al. 2019, whose script takes nltk's sentence BLEU of up to three words with equal
weights and the seventh smoothing of Chen and Cherry 2014. That smoothing counts a token more than there is, so of short
sentences it can exceed 1.

Letters: N contexts, K answers to each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from psitext.score.text import distinct
from psitext.score.text.bleu import nltk_bleu

Floats = npt.NDArray[np.float64]
WEIGHTS = (1 / 3, 1 / 3, 1 / 3)  # of words, pairs, threes


def bleu(reference: Sequence[str], answer: Sequence[str]) -> float:
    """BLEU of an answer's words against those of the reference; 0 of nothing. Errors: nltk missing."""
    if not answer or not reference:
        return 0.0
    theirs = nltk_bleu()
    smooth = theirs.SmoothingFunction().method7
    return float(theirs.sentence_bleu([list(reference)], list(answer), WEIGHTS, smooth))


def table(
    references: Sequence[str],
    answers: Sequence[Sequence[str]],
    cut: Callable[[str], list[str]],
    similarity: Callable[[Sequence[str], Sequence[str]], float] = bleu,
) -> Floats:
    """(N, K) how near each answer is to the reference of its context; ``cut`` makes words of a text."""
    rows = []
    for reference, some in zip(references, answers, strict=True):
        words, known = cut(reference), dict[str, float]()
        for answer in some:
            if answer not in known:
                known[answer] = similarity(words, cut(answer))
        rows.append([known[answer] for answer in some])
    return np.asarray(rows, dtype=np.float64)


def relevance(found: Floats) -> dict[str, float]:
    """``recall``, the mean over (N, K) similarities of each context's best; ``precision``, of each context's mean; and
    their harmonic mean ``f1``.
    """
    recall, precision = float(found.max(1).mean()), float(found.mean(1).mean())
    both = recall + precision
    return {"recall": recall, "precision": precision, "f1": 2 * recall * precision / both if both else 0.0}


def distinct_within(answers: Sequence[Sequence[str]], cut: Callable[[str], list[str]], order: int = 2) -> float:
    """The share of different runs of ``order`` words in the K answers to a context, averaged over contexts (Gu et al.
    2019): 1 says that no two answers share one, 1 / K that all are the same.
    """
    return float(np.mean([distinct(map(cut, some), order) for some in answers]))
