"""What may be typed into the page and uploaded to it; everything beyond is refused in one sentence.

The bounds keep an answer within seconds on one core, so that nobody waits long for anybody. What comes is not the
page's own choice of types, either: whoever reaches the port may send anything.
"""

from __future__ import annotations

import math
from pathlib import Path

from psitext.errors import UserError
from psitext.text.lines import split_lines

CHARACTERS = 1_000  # of a sentence
SENTENCES = 8  # at once, apart from a file's
ROWS = 1_000  # of a file; the rest is left out, and the page says so
MB = 1 << 20  # bytes, as browsers count them
FILE_BYTES = 2 * MB
FILES = (".txt", ".csv", ".tsv", ".jsonl")
BODY_BYTES = FILE_BYTES + 100_000  # of any request; an upload has a few lines around the file
SEED = 2**31 - 1


def sentence(given: object, what: str) -> str:
    """One text, without the white space around it. Errors: none, a long one, half a surrogate pair."""
    text = typed(given, what).strip()
    if not text:
        raise UserError(f"{what} is empty; type a few words")
    if len(text) > CHARACTERS:
        raise UserError(f"{what} has {len(text):,} characters; at most {CHARACTERS:,} are read")
    return whole(text, what)


def sentences(given: object, least: int = 1, most: int = SENTENCES) -> list[str]:
    """A text a line, blank lines left out. Errors: too few, too many; as ``sentence``."""
    lines = [line for line in split_lines(typed(given, "the sentences")) if line.strip()]
    if len(lines) < least:
        raise UserError(f"type {'a sentence' if least == 1 else f'{least} sentences'} at least, one a line")
    if len(lines) > most:
        raise UserError(f"there are {len(lines):,} sentences; at most {most} are shown together, one a line")
    return [sentence(line, f"sentence {number}") for number, line in enumerate(lines, 1)]


def typed(given: object, what: str) -> str:
    """What was typed; nothing is the empty text. Errors: something else than a text."""
    if not isinstance(given, str | None):
        raise UserError(f"{what} must be a text, not a {type(given).__name__}")
    return given or ""


def whole(text: str, what: str) -> str:
    """The text, unless no encoding can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{what} holds half a surrogate pair, which is no text") from None
    return text


def number(given: object, least: float, most: float, what: str) -> float:
    """A number within its bounds. Errors: none, one that is not finite, one outside."""
    try:
        found = float(given) if isinstance(given, int | float) else math.nan
    except OverflowError:
        found = math.inf
    if not least <= found <= most:
        shown = f"{found:g}" if isinstance(given, int | float) else "what is none"
        raise UserError(f"{what} is a number from {least:g} to {most:,.15g}, not {shown}")
    return found


def integer(given: object, least: int, most: int, what: str) -> int:
    """A whole number within its bounds. Errors: as ``number``; a fraction."""
    found = number(given, least, most, what)
    if found != int(found):
        raise UserError(f"{what} is a whole number, not {found:g}")
    return int(found)


def size(count: int) -> str:
    """So many bytes in MB, rounded up."""
    return f"{math.ceil(100 * count / MB) / 100:g} MB"


def uploaded(given: object) -> Path:
    """Where gradio has put a file. Errors: none is there, which is also what is left of one that was refused."""
    path = given.get("path") if isinstance(given, dict) else None
    if not isinstance(path, str):
        raise UserError(f"there is no file to read: choose one of {', '.join(FILES)} with at most {size(FILE_BYTES)}")
    return Path(path)
