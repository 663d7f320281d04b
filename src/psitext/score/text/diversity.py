"""How different sentences are from each other, and one number for accuracy and content."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def distinct(sentences: Iterable[Sequence[str]], order: int = 1) -> float:
    """Share of different ones among all runs of ``order`` words (Li et al. 2016); 0.0 where there is none."""
    seen: set[tuple[str, ...]] = set()
    count = 0
    for words in sentences:
        runs = [tuple(words[first : first + order]) for first in range(len(words) - order + 1)]
        seen.update(runs)
        count += len(runs)
    return len(seen) / count if count else 0.0


def g_score(accuracy: float, bleu: float) -> float:
    """Geometric mean of how often the label is right and how much like the test set the sentences are (table 6)."""
    if not 0 <= accuracy <= 1 or not 0 <= bleu <= 1:
        raise ValueError(f"accuracy and BLEU are shares, not {accuracy} and {bleu}")
    return math.sqrt(accuracy * bleu)
