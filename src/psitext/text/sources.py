"""Corpora to sentences: a stream of sentences and document ends, for pre-training, from any number of files.

The cutting rules are for running English and for scripts that mark sentence ends with signs of their own
(Japanese, Chinese, Hindi, Arabic). They are rules of thumb: a wrong cut costs a pre-training pair, not a
result, so whatever would need a dictionary or a parser is left out. ``docs/data.md`` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from psitext.errors import UserError
from psitext.text.cells.columns import no_column
from psitext.text.lines import MAX_FIELD, lines, split_lines
from psitext.text.rows import HUB, MAX_DOCUMENT, Row, column_rows, form_of, rows

__all__ = ["sentences", "split_sentences", "rows", "Row", "MAX_FIELD", "MAX_DOCUMENT"]

_WIDE = "。！？｡।؟۔"  # they end a sentence whatever follows
_CLOSERS = "\"'”’)]»›」』）】〉》"
_OPENERS = "\"'“‘([«‹`—–-"
# An end: stops (also spaced out, as in ". . ."), then the quotes and brackets that close over them.
_END = re.compile(
    rf"(?P<wide>[{_WIDE}]+[{re.escape(_CLOSERS)}]*)\s*"
    rf"|(?P<stop>[.!?…]+(?:\s+[.!?…]+(?=\s|$))*)(?P<close>[{re.escape(_CLOSERS)}]*)\s+(?=\S)"
)
_STOP = re.compile(rf"[.!?…{_WIDE}]")
# A Japanese quotation goes on as part of its sentence when one of these follows the closing sign.
_QUOTE_GOES_ON = tuple("とってのはがをにもや、,")
_ABBREVIATIONS = frozenset(
    "mr mrs ms mx dr prof st sr jr rev hon gen col capt lt sgt maj gov sen rep messrs mme mlle mgr fr hr esq "
    "pres supt ft mt bros cf vs viz al e.g i.e ph ph.d".split()
)
# These stand before a number ("No. 5", "Dec. 7, 1941", "pp. 3-9"); before a word they may well be an end.
_BEFORE_NUMBERS = frozenset(
    "no nos vol vols fig figs eq eqs sec ch chap p pp art op ca c b d rs "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_NUMBERING = re.compile(r"\s*(?:\d+|[IVXLC]+|[A-Za-z])")
_ACRONYM = re.compile(r"[A-HJ-Z]|(?:[A-Z]\.)+[A-Z]")  # one letter is an initial, but "I" mostly the pronoun
_WORD = 40  # characters before a stop in which its word is looked for
_PENDING = 20_000  # characters of an unfinished hard-wrapped sentence after which it is passed on as it is


def sentences(paths: Sequence[Path | str], *, column: str = "text", unwrap: bool = False) -> Iterator[str | None]:
    """Stream the sentences of a corpus; None ends a document (never twice in a row, never first).

    Plain text: a blank line ends a document, and so does the end of the file; a line end also ends a
    sentence, unless ``unwrap`` joins the hard-wrapped lines of a paragraph first. Tables and hub data sets:
    the ``column`` of one record is one document, its lines are treated the same, and a blank line only ends a
    paragraph. A number as ``column`` counts the columns, from 1, of a .tsv or .csv without a header line.
    Memory: one line of plain text, or one record (64 of Parquet).

    Errors: those of ``rows``, a column that is not there, no text at all.
    """
    if not paths:
        raise UserError("no text was named to read sentences from")
    for path in paths:
        some = told = False
        for piece in _paragraphs(path, column) if unwrap else _lines(path, column):
            if piece is None and told:
                told = False
                yield None
            for sentence in split_sentences(piece or ""):
                some = told = True
                yield sentence
        if not some:
            raise UserError(f"{path} holds no text")


def split_sentences(line: str) -> Iterator[str]:
    """Cut one line after its sentence ends; closing quotes stay with their sentence, spaces at cuts go."""
    begin = 0
    for found in _END.finditer(line):
        if _ends(line, begin, found):
            yield line[begin : found.end("wide") if found["wide"] else found.end("close")].strip()
            begin = found.end()
    if tail := line[begin:].strip():
        yield tail


def _ends(line: str, begin: int, found: re.Match[str]) -> bool:
    """Whether a stop ends the sentence that starts at ``begin``: by the word before it and the sign after."""
    if found["wide"]:
        return found["wide"][-1] in _WIDE or not line.startswith(_QUOTE_GOES_ON, found.end())
    at, stop = found.start("stop"), found["stop"]
    apart = at > 0 and line[at - 1].isspace()
    if apart and len(stop) == 1:
        # Tokenised text sets stops apart, and keeps the dots of abbreviations with their word.
        return not line.startswith(("''", ")", "]"), found.end())
    after = line[found.end() : found.end() + 8].lstrip(_OPENERS)[:1]
    # A letter without case (Japanese, Arabic) may begin a sentence; a small letter goes on with this one.
    if after.islower() or not after.isalnum():
        return False
    if stop != "." or apart:
        return True
    word = line[max(begin, at - _WORD) : at].split()[-1:]
    bare = word[0].lstrip(_OPENERS) if word else ""
    if _NUMBERING.fullmatch(line, begin, at) or _ACRONYM.fullmatch(bare):
        return False  # "1. The valley", "J. R. Tolkien", "the U.S. Army"
    low = bare.lower()
    return low not in _ABBREVIATIONS and not (low in _BEFORE_NUMBERS and after.isdigit())


def _lines(path: Path | str, column: str) -> Iterator[str | None]:
    """The lines of a corpus; None ends a document."""
    form = "hub" if str(path).startswith(HUB) else form_of(Path(path))
    if form == "txt":
        for number, line in lines(Path(path)):
            if len(line) > MAX_FIELD:
                raise UserError(f"{path} line {number} is over {MAX_FIELD:,} characters long; is a line break missing?")
            yield line if line.strip() else None
    else:
        for row in column_rows(path, {"text": column}, limit=MAX_DOCUMENT):
            if column not in row.fields:
                raise no_column(f"{path} line {row.line}", column, row.fields, "name it with --text")
            yield from split_lines(row.fields[column])
            yield None
    yield None


def _paragraphs(path: Path | str, column: str) -> Iterator[str | None]:
    """Hard-wrapped lines joined as far as their sentences need; None ends a document."""
    parts: list[str] = []  # of the sentence that has not ended yet
    size = 0
    for line in _lines(path, column):
        if line is None or not line.strip():
            yield "".join(parts)
            parts, size = [], 0
            if line is None:
                yield None
            continue
        parts.append(_join(parts[-1] if parts else "", line.strip()))
        size += len(parts[-1])
        if size > _PENDING or _STOP.search(line):
            *whole, rest = split_sentences("".join(parts))
            yield from whole
            if len(rest) > _PENDING:
                yield rest
                rest = ""
            parts, size = [rest] if rest else [], len(rest)


def _join(above: str, below: str) -> str:
    """``below`` with what goes between it and the line above: nothing between Chinese or Japanese signs, nor
    after a word's hyphen, else a space.
    """
    last = above[-1:]
    unspaced = "\u2e80" <= last <= "\ua4cf" or "\uf900" <= last <= "\ufaff" or "\uff00" <= last <= "\uffef"
    hyphen = last == "-" and above[-2:-1].isalpha()
    return below if not above or unspaced or hyphen else " " + below
