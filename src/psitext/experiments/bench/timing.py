"""Processor time of two ways to do the same work, taken in turns.

Seconds mean little: other work on the machine stretches them, its caches and clock change from minute to minute. So
both sides run in one process on one thread, step by step in random order; what counts is processor time; and the
result is the median over rounds of the ratio within a round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

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
class Measured:
    """What one benchmark found."""

    name: str
    unit: str  # of ours and theirs
    ours: float
    theirs: float
    ratio: float  # how many times faster psitext is
    losses: tuple[float, float] | None = None  # mean training loss of the last quarter of the steps: ours, theirs
    rows: int = 0  # texts trained on


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


def _in_turns(sides: tuple[Steps, Steps], seed: int, number: int) -> Iterator[tuple[int, Callable[[], object]]]:
    """The steps of both sides, each side's in its own order, in random turns."""
    turns = [side for side in (0, 1) for _ in sides[side]]
    waiting = [iter(steps) for steps in sides]
    for side in generator(seed, "turns", number).permutation(turns).tolist():
        yield side, next(waiting[side])


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: several wait for one another on a busy machine, and then count the waiting."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
