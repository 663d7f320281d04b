"""How evenly sentences change along a path through a latent space, judged by the sentences alone.

Two neighbours on the path overlap by Dice's coefficient of their words, each counted as often as it occurs: 1 where
both have the same words, 0 where they share none. What is left to 1 is the change in that step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Smoothness:
    """Figures of a path of S + 1 sentences, S steps."""

    steps: int  # S
    distinct: int  # different sentences on it
    repeated: float  # share of the steps that lead to the same sentence again
    overlap: float  # mean overlap of neighbours, 0 to 1
    largest: float  # share of all change that is in one step: 1 / S of an even path, 1 of one jump, 0 without change

    def record(self) -> dict[str, float]:
        """For a JSON line."""
        return asdict(self)


def smoothness(sentences: Sequence[str]) -> Smoothness:
    """The figures of the sentences of a path, in their order. Errors: fewer than two."""
    if len(sentences) < 2:
        raise ValueError(f"a path has two sentences at least, not {len(sentences)}")
    steps = list(pairwise(sentences))
    overlaps = [overlap(a, b) for a, b in steps]
    changes = [1 - value for value in overlaps]
    total = sum(changes)
    return Smoothness(
        steps=len(steps),
        distinct=len(set(sentences)),
        repeated=sum(a == b for a, b in steps) / len(steps),
        overlap=sum(overlaps) / len(steps),
        largest=max(changes) / total if total else 0.0,
    )


def overlap(first: str, second: str) -> float:
    """Dice's coefficient of the words of two sentences, cut at white space: 2 |A and B| / (|A| + |B|).

    Of two sentences without words it is 1.
    """
    a, b = Counter(first.split()), Counter(second.split())
    words = a.total() + b.total()
    return 2 * (a & b).total() / words if words else 1.0
