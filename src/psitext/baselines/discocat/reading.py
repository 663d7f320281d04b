"""Texts as readings: a shape, which thousands of texts share, and the words that fill it.

A shape is turned into a lambeq diagram once, its words standing as "0", "1", ...; what depends on the words comes in
as rows of tables afterwards. So lambeq's work is done once a shape, and texts of one shape are contracted together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lambeq import AtomicType, Rewriter, cups_reader, spiders_reader, stairs_reader
from lambeq.backend.grammar import Cup, Diagram, Ty, Word

from psitext.baselines.bag_of_words import words as tokens
from psitext.baselines.discocat.grammar import Grammar, Lexicon, Link, read_lexicon, simple_types
from psitext.baselines.discocat.settings import DiscocatConfig

LINEAR: dict[str, Any] = {"cups": cups_reader, "stairs": stairs_reader, "spiders": spiders_reader}
TYPES = {"cups": "s.r s", "stairs": "s", "spiders": "s"}  # of every word in a linear reader
OUTSIDE = "<unk>"  # a word of no text; `tokens` never makes one with such brackets
_WIRES = Rewriter(["subject_rel_pronoun", "object_rel_pronoun"])  # Sadrzadeh, Clark and Coecke 2013
_PRONOUN = "that"  # a name by which the rewriter knows relative pronouns


@dataclass(frozen=True, slots=True)
class Shape:
    """All of a diagram but its words."""

    reader: str
    types: tuple[str, ...]  # of the words
    links: tuple[Link, ...] = ()  # pregroup: which simple types cancel
    wires: tuple[int, ...] = ()  # pregroup: places of words that are wires without parameters


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a filled shape. ``covered`` is False where the grammar gave up and a linear reader stood in."""

    shape: Shape
    words: tuple[str, ...]  # one for each type of the shape
    covered: bool = True


class TextReader:
    """Texts to readings, by the reader that the settings name."""

    def __init__(self, config: DiscocatConfig, lexicon: Lexicon | None = None) -> None:
        grammatical = config.reader == "pregroup"
        self.config = config
        self.grammar = Grammar(lexicon or read_lexicon(config.lexicon)) if grammatical else None
        self.linear: str = config.fallback if config.reader == "pregroup" else config.reader

    def __call__(self, text: str) -> Reading:
        """One text; an empty one counts as one unknown word."""
        found = tuple(tokens(text)) or (OUTSIDE,)
        parse = self.grammar.parse(found) if self.grammar else None
        if parse is None:
            return Reading(linear(self.linear, len(found)), found, covered=self.grammar is None)
        wires = parse.relative if self.config.pronouns == "wires" else ()
        return Reading(Shape("pregroup", parse.types, parse.links, wires), parse.words)

    def types(self) -> Iterator[str]:
        """Every type that a word can have in a reading, so that each has a row for unknown words."""
        grammatical = self.grammar.lexicon.all_types() if self.grammar else ()
        yield from dict.fromkeys([*grammatical, TYPES[self.linear]])


def linear(reader: str, words: int) -> Shape:
    """The shape that a linear reader gives a number of words."""
    return Shape(reader, (TYPES[reader],) * words)


def diagram(shape: Shape) -> Any:
    """The lambeq diagram of a shape; the word at place 3 is called "3", other boxes keep their names."""
    names = [str(place) for place in range(len(shape.types))]
    if shape.reader != "pregroup":
        return LINEAR[shape.reader].sentence2diagram(names, tokenised=True)
    names = [_PRONOUN if place in shape.wires else name for place, name in enumerate(names)]
    words = [Word(name, ty(text)) for name, text in zip(names, shape.types, strict=True)]
    cups = [(Cup, left, right) for left, right in sorted(shape.links, key=lambda link: link[1] - link[0])]
    found = Diagram.create_pregroup_diagram(words, cups)
    return _WIRES(found) if shape.wires else found


def ty(text: str) -> Any:
    """``"n.r s n.l"`` as a lambeq type."""
    atoms = {"n": AtomicType.NOUN, "s": AtomicType.SENTENCE}
    found = Ty()
    for base, turns in simple_types(text):
        atom = atoms[base]
        for _ in range(abs(turns)):
            atom = atom.r if turns > 0 else atom.l
        found = found @ atom
    return found
