"""Stories: short documents with a hero, a friend, a town, things and a plot.

What is hidden or comes next can be learnt: names, pronouns, colours and things stay the same through a story,
words go with their plots, moments follow one another, and who likes a film claps and does not fall asleep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from psitext.text.examples import Example
from psitext.text.toy.grammar import Dice, distinct, expand
from psitext.text.toy.people import FIRST_PERSON, cast
from psitext.text.toy.plots import ANYWHERE, EVENING, PLOTS, Plot
from psitext.text.toy.reviews import OTHERS, speakers, verdict

_EVENINGS = 0.4  # the share of stories with an opinion in them, which is what the reviews are about
_PRONOUNS = {"A": re.compile(r"\{(he|him|his|He|His)\}"), "B": re.compile(r"\{(she|her|hers|She)\}")}
_OWNERS = ("his", "His", "hers")
_WIDTH = 96  # random numbers a story; it takes some 70 at most


@dataclass(frozen=True, slots=True)
class Story:
    """The sentences of a story and the plot that they follow."""

    plot: Plot
    sentences: tuple[str, ...]


def stories(count: int, seed: int = 0) -> Iterator[list[str]]:
    """``count`` different documents of 4 to 8 sentences; a larger count adds to the same documents."""
    told = distinct(tell, lambda story: " ".join(story.sentences), "stories", seed, _WIDTH, count)
    return (list(story.sentences) for story in told)


def pairs(count: int, seed: int = 0) -> list[Example]:
    """``count`` different pairs of sentences: labels ``next``, if one follows the other in a story, and ``other``.

    The second sentence of the others comes from another story, which has the same plot in two cases of eleven.
    """
    return list(distinct(_pair, lambda one: f"{one.text}\t{one.pair}", "pairs", seed, 2 * _WIDTH, count))


def tell(dice: Dice) -> Story:
    """One story, as the dice fall."""
    slots = cast(dice)
    plot = EVENING if dice.chance(_EVENINGS) else dice.pick(PLOTS)
    slots |= zip("xy", dice.pick(plot.things), strict=False)
    good = dice.chance(0.5)
    if plot is EVENING:
        slots |= FIRST_PERSON if dice.chance(0.5) else {}
        slots |= speakers(dice, slots, dice.pick(("{B}", *OTHERS)))
    moments = _moments(plot.text)
    free = [moment for moment in moments if moment not in plot.always]
    fewest = max(4 - len(plot.always), 0)
    told = dice.sample(free, fewest + dice.below(len(free) + 1 - fewest))
    sentences: list[str] = []
    met: set[str] = set()
    for moment in sorted({*plot.always, *told}):
        line = dice.pick([text for sign, text in moments[moment] if sign in ("", "+" if good else "-")])
        opinion = verdict(dice, good, slots).removesuffix(".") if line.startswith("=") else ""
        sentences.append(opinion + expand(_introduced(line.removeprefix("="), met), dice, slots))
    if dice.chance(0.2):
        at = 1 + dice.below(len(sentences) - 1)
        sentences.insert(at, expand(_introduced(dice.pick(ANYWHERE), set()), dice, slots))
    return Story(plot, tuple(sentences))


def _introduced(line: str, met: set[str]) -> str:
    """The line with a name instead of the first pronoun of whoever the story has not named yet; adds to ``met``."""
    for name, pronoun in _PRONOUNS.items():
        known = name in met or f"{{{name}}}" in line
        if not known and (found := pronoun.search(line)):
            owner = "'s" if found[1] in _OWNERS else ""
            line = f"{line[: found.start()]}{{{name}}}{owner}{line[found.end() :]}"
        if f"{{{name}}}" in line:
            met.add(name)
    return line


def _pair(dice: Dice) -> Example:
    one = tell(dice).sentences
    at = dice.below(len(one) - 1)
    if dice.chance(0.5):
        return Example(one[at], one[at + 1], label="next")
    strange = [sentence for sentence in tell(dice).sentences if sentence not in one]
    return Example(one[at], dice.pick(strange), label="other")


@cache
def _moments(text: str) -> dict[int, list[tuple[str, str]]]:
    """The lines of each moment, with the sign of those that need an opinion to be good or bad."""
    moments: dict[int, list[tuple[str, str]]] = {}
    for line in text.strip().splitlines():
        number, _, sentence = line.partition(" ")
        moments.setdefault(int(number[0]), []).append((number[1:], sentence))
    return moments
