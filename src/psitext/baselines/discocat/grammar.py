"""A small pregroup grammar: which types a word may have, and how the types of a sentence cancel.

Simple types are n and s with adjoints; ``(base, turns)`` writes n.l as ("n", -1), n as ("n", 0), n.r as ("n", 1).
Neighbours a, a.r and a.l, a cancel, as do all neighbours (b, k), (b, k + 1); a sentence is grammatical when one simple
type, s or n, is left (Lambek 1999). Contractions alone decide this (his switching lemma), so a stack is parser enough.
lambeq has no grammar that works without a download, hence this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from pydantic import field_validator

from psitext.config import Config, build, read_toml

Simple: TypeAlias = tuple[str, int]
Link: TypeAlias = tuple[int, int]

WHOLE = ("s", "n")  # what may be left of a text: a sentence or a noun phrase
_WHOLES = tuple((base, 0) for base in WHOLE)
RELATIVE = "relative"  # the class whose words may be mere wires
_SHIPPED = Path(__file__).with_name("lexicon.toml")
_ENDINGS = ("s", "es")
_SIGNS = frozenset(".,!?")  # of no type: they say nothing about who does what
_MOST_STATES = 20_000  # parser states of one text; a hand-written lexicon needs a few hundred


class Lexicon(Config):
    """Types by word class, words by word class."""

    types: dict[str, tuple[str, ...]]
    words: dict[str, str]  # names between spaces

    @field_validator("types")
    @classmethod
    def _right_types(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for found in value.values():
            for text in found:
                if not text.split() or any(base not in WHOLE for base, _ in simple_types(text)):
                    raise ValueError(f"{text!r} is no type; a type is like 'n.r s n.l'")
        return value

    @field_validator("words")
    @classmethod
    def _known_classes(cls, value: dict[str, str], info: object) -> dict[str, str]:
        known = getattr(info, "data", {}).get("types", {})
        if strange := [name for name in value if name not in known]:
            raise ValueError(f"the class {strange[0]!r} has no types; classes are: {', '.join(known)}")
        return value

    def all_types(self) -> tuple[str, ...]:
        """Every type that a word can have, in the order of the file."""
        return tuple(dict.fromkeys(text for found in self.types.values() for text in found))


@dataclass(frozen=True, slots=True)
class Parse:
    """A grammatical text: its words but for the signs, their types, and which simple types cancel, inner ones first.

    ``links`` number the simple types of all words from left to right.
    """

    words: tuple[str, ...]
    types: tuple[str, ...]
    links: tuple[Link, ...]
    relative: tuple[int, ...]  # places of the relative pronouns


class Grammar:
    """A lexicon made ready to parse with."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.entries: dict[str, dict[str, bool]] = {}  # word -> type -> whether a relative pronoun's
        for name, words in lexicon.words.items():
            for word in words.split():
                entry = self.entries.setdefault(word, {})
                for text in lexicon.types[name]:
                    entry.setdefault(text, name == RELATIVE)

    def types_of(self, word: str) -> dict[str, bool]:
        """The types of a word, its own or those of its stem; empty for one that the lexicon does not know."""
        stems = [word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)]
        return next((self.entries[form] for form in [word, *stems] if form in self.entries), {})

    def parse(self, tokens: Sequence[str]) -> Parse | None:
        """The first parse in the order of the lexicon, or None for a text that the grammar does not cover."""
        words = tuple(token for token in tokens if token not in _SIGNS)
        choices = [self.types_of(word) for word in words]
        if not words or not all(choices):
            return None
        found = _reduce([{text: simple_types(text) for text in choice} for choice in choices])
        if found is None:
            return None
        types, links = found
        relative = tuple(place for place, text in enumerate(types) if choices[place][text])
        return Parse(words, types, links, relative)


def read_lexicon(path: str | None = None) -> Lexicon:
    """The lexicon in a TOML file; without one, that which ships with psitext."""
    file = Path(path) if path else _SHIPPED
    return build(Lexicon, read_toml(file), str(path or file.name))


@cache
def simple_types(text: str) -> tuple[Simple, ...]:
    """``"n.r s n.l"`` -> (("n", 1), ("s", 0), ("n", -1))."""
    parts = (part.split(".") for part in text.split())
    return tuple((base, turns.count("r") - turns.count("l")) for base, *turns in parts)


_Stack: TypeAlias = tuple[tuple[Simple, int], ...]  # simple types that nothing has cancelled yet, and their numbers


def _reduce(choices: Sequence[dict[str, tuple[Simple, ...]]]) -> tuple[tuple[str, ...], tuple[Link, ...]] | None:
    """One type for every word and the links by which all but one simple type cancel; depth first, cancelling first."""
    coming = [set[Simple]()]  # the simple types that may still come, from every word on
    for choice in reversed(choices):
        coming.insert(0, coming[0].union(*choice.values()))
    states: list[tuple[_Stack, int, tuple[str, ...], tuple[Link, ...]]] = [((), 0, (), ())]
    seen = set[tuple[int, tuple[Simple, ...]]]()  # how a stack came about makes no difference to what comes of it
    while states and len(seen) < _MOST_STATES:
        stack, count, types, links = states.pop()
        place, left = len(types), tuple(simple for simple, _ in stack)
        lonely = sum((base, turns + 1) not in coming[place] for base, turns in left)
        if (place, left) in seen or lonely > 1:
            continue
        seen.add((place, left))
        if place == len(choices):
            if len(left) == 1 and left[0] in _WHOLES:
                return types, links
            continue
        for text, found in reversed(choices[place].items()):
            ways = [(stack, links)]
            for offset, simple in enumerate(found):
                ways = [way for old in ways for way in _take(*old, simple, count + offset)]
            states += [(rest, count + len(found), (*types, text), linked) for rest, linked in ways]
    return None


def _take(stack: _Stack, links: tuple[Link, ...], simple: Simple, number: int) -> list[tuple[_Stack, tuple[Link, ...]]]:
    """What the next simple type can do: lie on the stack, and (tried first, so last here) cancel its top."""
    ways = [((*stack, (simple, number)), links)]
    if stack and stack[-1][0] == (simple[0], simple[1] - 1):
        ways.append((stack[:-1], (*links, (stack[-1][1], number))))
    return ways
