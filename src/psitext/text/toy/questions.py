"""Questions on a passage about several people: the answer is what is told of the right one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from psitext.text.examples import Example
from psitext.text.toy.grammar import Dice, distinct, expand
from psitext.text.toy.people import COLOURS, NAMES, TOWNS

JOBS = tuple("teacher doctor driver clerk baker painter farmer sailor nurse judge".split())
THINGS = tuple("lamp bottle trunk pitcher watch hat boat cap blanket bucket key flag".split())
ANIMALS = tuple("crane seal bat mouse cat dog goat elephant trout duck".split())
PLACES = tuple("marsh garden barn cave market station harbour kitchen school zoo".split())
DRINKS = tuple("milk lemonade water coffee tea".split())
# Nobody shares a value with anybody else in a passage, so every question has one answer.
_VALUES = {
    "A": NAMES,
    "town": TOWNS,
    "job": JOBS,
    "thing": THINGS,
    "colour": COLOURS,
    "animal": ANIMALS,
    "place": PLACES,
    "drink": DRINKS,
}


@dataclass(frozen=True, slots=True)
class Fact:
    """Ways to tell one thing about a person A, and questions with the slot that answers them."""

    told: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]


FACTS = (
    Fact(
        ("{A} lived in {town}.", "The house of {A} was in {town}.", "In {town} lived {A}."),
        (
            ("Where did {A} live?", "town"),
            ("Who lived in {town}?", "A"),
            ("In which town was the house of {A}?", "town"),
        ),
    ),
    Fact(
        ("{A} was a {job}.", "{A} worked as a {job}.", "The {job} was called {A}."),
        (("What was {A}?", "job"), ("Who was the {job}?", "A"), ("Who worked as a {job}?", "A")),
    ),
    Fact(
        (
            "{A} had a {colour} {thing}.",
            "The {colour} {thing} was {A}'s.",
            "{A} bought the {colour} {thing}.",
        ),
        (
            ("What did {A} have?", "thing"),
            ("Who had the {colour} {thing}?", "A"),
            ("What colour was the {thing}?", "colour"),
        ),
    ),
    Fact(
        (
            "{A} knew [the|a young] {animal} in the {place}.",
            "In the {place} the {animal} knew {A}.",
            "The {animal} in the {place} knew {A}.",
        ),
        (
            ("Where was the {animal}?", "place"),
            ("Which animal knew {A}?", "animal"),
            ("Who knew the {animal}?", "A"),
        ),
    ),
    Fact(
        ("{A} drank {drink}.", "{A} asked for {drink}.", "The {drink} was for {A}."),
        (("What did {A} drink?", "drink"), ("Who drank {drink}?", "A")),
    ),
)


def questions(count: int, seed: int = 0) -> list[Example]:
    """``count`` different questions (``text``) on passages (``pair``) of 4 to 6 sentences about two or three people.

    ``answer`` is the character range of the answer in the passage. A larger count adds to the same questions.
    """
    return list(distinct(_question, lambda one: f"{one.text}\t{one.pair}", "questions", seed, 96, count))


def _question(dice: Dice) -> Example:
    people = 2 + dice.below(2)
    drawn = {slot: dice.sample(values, people) for slot, values in _VALUES.items()}
    persons = [{slot: values[one] for slot, values in drawn.items()} for one in range(people)]
    known = [(fact, person) for fact in FACTS for person in persons]
    told = dice.sample(known, 4 + dice.below(3))
    fact, person = told[0]
    wording, slot = dice.pick(fact.asked)
    at = dice.below(len(told))
    passage, answer = "", (0, 0)
    for tale, whom in [*told[1 : at + 1], told[0], *told[at + 1 :]]:
        sentence = expand(dice.pick(tale.told), dice, whom)
        if tale is fact and whom is person:
            found = re.search(rf"\b{person[slot]}\b", sentence)
            assert found, f"{sentence!r} does not tell the {slot} that is asked for"
            answer = (len(passage) + found.start(), len(passage) + found.end())
        passage += sentence + " "
    return Example(expand(wording, dice, person), passage.rstrip(), answer=answer)
