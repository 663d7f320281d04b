"""A tagging task: people, places, animals, things and times in stories; words of two senses depend on the plot."""

from __future__ import annotations

import re

from psitext.text.examples import Example
from psitext.text.toy.grammar import Dice, distinct
from psitext.text.toy.people import NAMES, TOWNS
from psitext.text.toy.stories import tell

TAGS = ("other", "person", "place", "animal", "thing", "time")
_WORDS = {
    "person": """
        sister aunt mother brother uncle father neighbour friends workers customer clerk guests man
        woman judge king queen driver crowd
    """,
    "place": """
        marsh site street tower bridge school bakery farm shop river cave field garden kitchen house
        market beach sea zoo station harbour barn office hill village cinema theatre hall
    """,
    "animal": """
        bird birds fish frogs snails trout perch pike ducks moths flies beetles bees cat elephant goats
        sheep dogs crabs animals
    """,
    "thing": """
        machine book books letters shoes wings engine rope beams steel flag coins letter counter paper
        safe money boat rod hook net fire lamp ball cap gate roses tulips lilies clock clocks watch
        watches lock locks key keys wheels box door shelf table plates cups bread cheese blanket bucket
        wax silver hat ticket train ship bus trap cup computer computers screen cable button desk bottle
        stone stones wall film play show
    """,
    "time": """
        morning evening day night week year years summer
    """,
}
_OF_SENSE = {
    "bird": "animal",
    "machine": "thing",
    "money": "place",
    "river": "place",
    "animal": "animal",
    "club": "thing",
    "player": "person",
    "jug": "thing",
    "season": "time",
    "coil": "thing",
    "water": "place",
    "stamp": "thing",
    "elephant": "animal",
    "luggage": "thing",
    "device": "thing",
}
_TAG = {word: tag for tag, words in _WORDS.items() for word in words.split()}
_TAG |= {name.lower(): "person" for name in NAMES} | {town.lower(): "place" for town in TOWNS}


def tags(count: int, seed: int = 0) -> list[Example]:
    """``count`` different pairs of sentences out of stories, cut into words, each with one of ``TAGS``."""
    return list(distinct(_tagged, lambda one: one.text, "tags", seed, 112, count))


def _tagged(dice: Dice) -> Example:
    story = tell(dice)
    at = dice.below(len(story.sentences) - 1)
    words = tuple(re.findall(r"\w+|[^\w\s]", " ".join(story.sentences[at : at + 2])))
    here = {form: _OF_SENSE[sense] for word, sense in story.plot.senses.items() for form in (word, f"{word}s")}
    found = (here.get(word.lower()) or _TAG.get(word.lower(), "other") for word in words)
    return Example(" ".join(words), words=words, tags=tuple(found))
