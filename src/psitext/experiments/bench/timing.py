"""Processor time of two ways to do the same work, taken in turns.

Seconds mean little: other work on the machine stretches them, its caches and clock change from minute to minute. So
both sides run in one process on one thread, step by step in random order; what counts is processor time; and the
result is the median over rounds of the ratio within a round.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from psitext.randomness import generator

Steps = Sequence[Callable[[], object]]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians over rounds."""

    ours: float  # processor seconds of a round
    theirs: float
    ratio: float  # theirs over ours: how many times faster psitext is


@dataclass(frozen=True, slots=True)
class Growth:
    """Time as a power of a size."""

    exponent: float  # fitted over all sizes
    last: float  # between the two largest, where what does not grow weighs least


@dataclass(frozen=True, slots=True)
class Measured:
    """What one benchmark found."""

    name: str
    unit: str  # of ours and theirs
    ours: float
    theirs: float
    ratio: float  # how many times faster psitext is
    losses: tuple[float, float] | None = None  # mean training loss of the last quarter of the steps: ours, theirs
    rows: int = 0  # texts trained on
    growth: Growth | None = None  # where both sides are psitext's, at the smallest and the largest of several sizes


def compare(rounds: Iterable[tuple[Steps, Steps]], *, clock: Clock = time.process_time, seed: int = 0) -> Timing:
    """Time rounds of the same work done in two ways; the first round only warms up."""
    times: list[tuple[float, float]] = []
    for number, sides in enumerate(rounds):
        spent = [0.0, 0.0]
        for side, step in _in_turns(sides, seed, number):
            began = clock()
            step()
            spent[side] += clock() - began
        times.append((spent[0], spent[1]))
    if len(times) < 2:
        raise ValueError("a comparison takes a round to warm up and at least one to measure")
    ours, theirs = zip(*times[1:], strict=True)
    ratios = [their / our for our, their in times[1:]]
    return Timing(statistics.median(ours), statistics.median(theirs), statistics.median(ratios))


def grown(
    steps: Sequence[Callable[[], object]],
    sizes: Sequence[int],
    rounds: int,
    *,
    clock: Clock = time.process_time,
    seed: int = 0,
) -> tuple[list[float], Growth]:
    """Median seconds of a step of each size, ascending, in random order within a round, and how they grow.

    A step of a small size is done as often as makes it as much work as the largest, were time proportional to size.
    """
    times: list[list[float]] = [[] for _ in sizes]
    for number in range(rounds + 1):
        for at in generator(seed, "sizes", number).permutation(len(sizes)).tolist():
            calls = max(1, round(sizes[-1] / sizes[at]))
            began = clock()
            for _ in range(calls):
                steps[at]()
            times[at].append((clock() - began) / calls)
    medians = [statistics.median(some[1:]) for some in times]  # the first round only warms up
    at, of = [math.log(size) for size in sizes], [math.log(seconds) for seconds in medians]
    return medians, Growth(statistics.linear_regression(at, of).slope, (of[-1] - of[-2]) / (at[-1] - at[-2]))


def _in_turns(sides: tuple[Steps, Steps], seed: int, number: int) -> Iterator[tuple[int, Callable[[], object]]]:
    """The steps of both sides, each side's in its own order, in random turns."""
    turns = [side for side in (0, 1) for _ in sides[side]]
    waiting = [iter(steps) for steps in sides]
    for side in generator(seed, "turns", number).permutation(turns).tolist():
        yield side, next(waiting[side])
