"""BLEU of single sentences, as nltk computes it, against references that are many.

Generated sentences have no reference of their own: each is compared with a whole test set, ten thousand sentences, and
for self-BLEU with all other generated ones (Zhu et al. 2018, Texygen; the paper's table 6: words up to three in a row,
smoothing method 1). nltk counts every reference again for every sentence; here the references are counted once, and
what is left of a sentence is a few look-ups. Smoothing and the penalty of short sentences are nltk's own functions.

Letters: S sentences, N words in a row at most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from psitext.errors import UserError

Words: TypeAlias = Sequence[str]
Ngram: TypeAlias = tuple[str, ...]
Smoothing = Literal["method1", "method2", "method3"]

ORDER = 3  # words in a row, of the paper's table 6


@dataclass(frozen=True, slots=True)
class References:
    """Sentences that others are compared with, counted once: of every run of words how often it stands in the sentence
    that has it most often, and in the next one.
    """

    most: dict[Ngram, int]
    second: dict[Ngram, int]
    lengths: Counter[int]  # how many references have so many words
    order: int

    @staticmethod
    def of(sentences: Iterable[Words], order: int = ORDER) -> References:
        """Count the references. Errors: UserError where there is none."""
        most: dict[Ngram, int] = {}
        second: dict[Ngram, int] = {}
        lengths: Counter[int] = Counter()
        for sentence in sentences:
            lengths[len(sentence)] += 1
            for ngram, count in _counted(sentence, order).items():
                best = most.get(ngram, 0)
                if count > best:
                    most[ngram] = count
                    if best:
                        second[ngram] = best
                elif count > second.get(ngram, 0):
                    second[ngram] = count
        if not lengths:
            raise UserError("BLEU compares with reference sentences, and there is none")
        return References(most, second, lengths, order)


def bleu(sentences: Iterable[Words], references: References, smoothing: Smoothing = "method1") -> list[float]:
    """(S,) BLEU of every sentence against all references, each order with the same weight.

    A sentence that shares no word with them has 0, as has one without a word. Errors: nltk is missing.
    """
    return _scores(
        sentences, references.order, smoothing, lambda ngram, own: references.most.get(ngram, 0), references.lengths
    )


def self_bleu(sentences: Sequence[Words], order: int = ORDER, smoothing: Smoothing = "method1") -> list[float]:
    """(S,) BLEU of every sentence against all the others: high where they are alike.

    It grows with S, so only equal numbers of sentences compare. Errors: UserError for fewer than two; nltk is missing.
    """
    if len(sentences) < 2:
        raise UserError(f"self-BLEU compares sentences with each other, so it takes two or more, not {len(sentences)}")
    all_of_them = References.of(sentences, order)

    def among_others(ngram: Ngram, own: int) -> int:
        # A second sentence with as many has left its count in ``second``; then leaving out our own changes nothing.
        best = all_of_them.most[ngram]
        return best if own < best else all_of_them.second.get(ngram, 0)

    return _scores(sentences, order, smoothing, among_others, all_of_them.lengths, leave_out=True)


def _scores(
    sentences: Iterable[Words],
    order: int,
    smoothing: Smoothing,
    most: Callable[[Ngram, int], int],
    lengths: Counter[int],
    leave_out: bool = False,
) -> list[float]:
    """BLEU of every sentence; ``most`` says how often a reference has an n-gram that the sentence has so often."""
    theirs = nltk_bleu()
    smooth = getattr(theirs.SmoothingFunction(), smoothing)
    return [_score(theirs, words, order, smooth, most, _others(lengths, words, leave_out)) for words in sentences]


def _score(
    theirs: Any,
    words: Words,
    order: int,
    smooth: Callable[..., Any],
    most: Callable[[Ngram, int], int],
    lengths: list[range],
) -> float:
    clipped, counts = [0] * order, [max(len(words) - n, 1) for n in range(order)]
    for ngram, own in _counted(words, order).items():
        clipped[len(ngram) - 1] += min(own, most(ngram, own))
    if not clipped[0]:
        return 0.0  # before any smoothing, as nltk has it
    pairs = zip(clipped, counts, strict=True)
    precisions = smooth([theirs.Fraction(*pair, _normalize=False) for pair in pairs], hyp_len=len(words))
    penalty = theirs.brevity_penalty(theirs.closest_ref_length(lengths, len(words)), len(words))
    mean = math.fsum(math.log(part) for part in precisions if part > 0) / order
    return float(penalty * math.exp(mean))


def _others(lengths: Counter[int], words: Words, leave_out: bool) -> list[range]:
    """One reference for every length there is, as something that has this length; of the others where ``leave_out``."""
    alone = leave_out and lengths[len(words)] == 1
    return [range(length) for length in lengths if not (alone and length == len(words))]


def _counted(words: Words, order: int) -> Counter[Ngram]:
    """How often each run of up to ``order`` words is there."""
    return Counter(_ngrams(words, order))


def _ngrams(words: Words, order: int) -> Iterator[Ngram]:
    for size in range(1, order + 1):
        for first in range(len(words) - size + 1):
            yield tuple(words[first : first + size])


def nltk_bleu() -> Any:
    """nltk's module of BLEU. Errors: UserError where nltk is missing."""
    try:
        from nltk.translate import bleu_score
    except ImportError:
        raise UserError("BLEU is nltk's: pip install 'psitext[text]'") from None
    return bleu_score
