"""Which sentences have their labels: keyed draws, the same for every encoder, the smaller inside the larger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psitext.errors import UserError
from psitext.experiments.lowresource.protocol import FewLabels
from psitext.randomness import generator
from psitext.text.examples import Example, Task


@dataclass(frozen=True, slots=True)
class Sides:
    """Sentences to draw labelled ones from, and sentences to judge by, with as many of each class."""

    pool: list[Example]
    test: list[Example]
    shared: int  # sentences that were taken out of the pool because the test has them, too


def per_label(labels: Sequence[object], count: int, seed: int, purpose: str = "per label") -> list[int]:
    """Places of ``count`` rows of every label, ascending. Of one seed and purpose fewer rows are part of more.

    Errors: labels that are no names, a label with fewer rows.
    """
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        if not isinstance(label, str):
            raise UserError("rows are drawn by label where labels are names of classes; these have none, or numbers")
        places.setdefault(label, []).append(place)
    chosen: list[int] = []
    for label, some in places.items():
        if len(some) < count:
            raise UserError(f"{count:,} rows of every label are asked for, and {label!r} has {len(some):,}")
        order = generator(seed, purpose, label).permutation(len(some))[:count]
        chosen += [some[place] for place in order]
    return sorted(chosen)


def sides(task: Task, train: Sequence[Example], dev: Sequence[Example], few: FewLabels) -> Sides:
    """Both sides of a task for a protocol. No sentence of the test, however spaced or capitalised, is in the pool."""
    if task.kind != "classification":
        raise UserError(f"labels of each class are counted in a classification; {task.name} is a {task.kind}")
    test = [dev[place] for place in per_label([one.label for one in dev], few.test, few.seed, "test")]
    seen = {_words(one) for one in test}
    left = [one for one in train if _words(one) not in seen]
    labels = [one.label for one in left]
    least = min(labels.count(label) for label in task.labels)
    if least < few.counts[-1]:
        raise UserError(f"{task.name} has {least:,} training rows of a class, and {few.counts[-1]:,} are asked for")
    pool = [left[place] for place in per_label(labels, min(few.pool, least), few.seed, "pool")]
    return Sides(pool, test, len(train) - len(left))


def trial(labels: Sequence[object], count: int, number: int, few: FewLabels) -> npt.NDArray[np.int64]:
    """Places in the pool of the labelled sentences of one trial."""
    return np.asarray(per_label(labels, count, few.seed + number, "trial"), dtype=np.int64)


def _words(example: Example) -> tuple[str, ...]:
    return tuple(f"{example.text}\t{example.pair or ''}".casefold().split())
