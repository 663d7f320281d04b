"""The notation of the embedded corpus, and the dice that read it.

A line is a sentence with choices and slots: ``{A} [walked|ran] to the {colour} boat.`` A choice ``[a|b]`` is
made anew each time, with equal chances for its parts; a slot ``{name}`` keeps its value through a whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar

import numpy as np

from psitext.errors import UserError
from psitext.randomness import uniform

T = TypeVar("T")
_BLOCK = 256  # texts whose numbers are drawn in one go
_PATIENCE = 2000  # texts in a row that are all known already


class Dice:
    """A finite stream of uniform numbers in [0, 1), those of one text."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = iter(numbers)

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        return int(next(self._numbers) * limit)

    def chance(self, share: float) -> bool:
        """True in this share of all cases."""
        return next(self._numbers) < share

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(next(self._numbers) * len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """``count`` different ones of the options, in random order."""
        rest = list(options)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


def rolls(purpose: str, seed: int, width: int) -> Iterator[Dice]:
    """Dice with ``width`` numbers for one text after another; the n-th are the same however many are taken."""
    first = 0
    columns = np.arange(width)
    while True:
        rows = np.arange(first, first + _BLOCK)[:, None]
        yield from map(Dice, uniform(seed, "toy", purpose, rows, columns).tolist())
        first += _BLOCK


def distinct(
    make: Callable[[Dice], T], name: Callable[[T], str], purpose: str, seed: int, width: int, count: int
) -> Iterator[T]:
    """``count`` texts of which no two have the same name; a larger count only adds to them.

    Errors: the grammar has too few of them.
    """
    seen: set[bytes] = set()
    known = 0
    for dice in rolls(purpose, seed, width):
        if len(seen) >= count:
            return
        made = make(dice)
        key = blake2b(name(made).encode(), digest_size=8).digest()  # a sixth of the memory of the text
        known = known + 1 if key in seen else 0
        if known > _PATIENCE:
            raise UserError(f"the embedded corpus cannot make {count:,} different {purpose}; it made {len(seen):,}")
        if not known:
            seen.add(key)
            yield made


def expand(line: str, dice: Dice, slots: Mapping[str, str]) -> str:
    """The line with its choices made and its slots filled."""
    return "".join([part if type(part) is str else dice.pick(part) for part in _parts(line)]).format_map(slots)


@lru_cache(maxsize=4096)
def _parts(line: str) -> tuple[str | list[str], ...]:
    """The line cut into fixed text and choices."""
    pieces = re.split(r"\[([^\]]*)\]", line)
    return tuple(piece.split("|") if at % 2 else piece for at, piece in enumerate(pieces))
