"""Columns that are not what they are taken for: texts that are numbers, numbers that are spelled otherwise."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from psitext.errors import UserError
from psitext.text.cells.columns import listed
from psitext.text.rows import HUB, Row, form_of

ENDLESS = ("nan", "inf", "infinity")
_COMMA = re.compile(r"[+-]?\d+,\d+")


def number(text: str) -> float | None:
    """The finite number that a cell holds, None where it holds none."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def check_texts(
    path: Path | str, found: Iterable[Row], wanted: Mapping[str, str | None], hint: str | None = None
) -> None:
    """Refuse columns of texts ("text", "pair": by the options that name them) that hold numbers only, and name those
    that hold words. No more rows are read than tell. ``hint`` is advice in place of that to use the options.

    The first line of a table whose columns are counted may be a header, and is no text beside numbers.
    """
    named = {option: name for option in ("text", "pair") if (name := wanted.get(option)) is not None}
    untold, first, words = dict(named), dict[str, Row](), Counter[str]()
    for at, row in enumerate(found):
        for name, cell in row.fields.items():
            words[name] += 0 if number(cell) is not None else len(cell.split())
        for option, name in named.items():
            cell = row.fields.get(name, "").strip()
            if cell and number(cell) is not None:
                first.setdefault(option, row)
            elif cell and (at or not name.isdecimal() or _is_text(cell)):
                untold.pop(option, None)
        if not untold:
            return
    which = next((option for option in untold if option in first), None)
    if which is None:
        return
    row, column = first[which], named[which]
    plain = not str(path).startswith(HUB) and form_of(Path(path)) == "txt"
    where = str(path) if plain else f"the column {column!r} of {path}"
    told = f"{where} holds numbers only ({row.fields[column].strip()!r} on line {row.line}), which are no sentences"
    others = [name for name, count in words.most_common() if count and name not in wanted.values()]
    of_words = f" (with words: {listed(others)})" if others else ""
    advice = f"name the column of texts with --{which}" if hint is None else hint
    raise UserError(told if plain else f"{told}; {advice}{of_words}")


def _is_text(cell: str) -> bool:
    """True of a cell that is no name of a column, having more than one word."""
    return len(cell.split()) > 1


def check_numbers(
    path: Path | str,
    found: Sequence[Row],
    label: str,
    kind: Literal["classification", "regression"] | str | None,
    few: int,
) -> None:
    """Refuse scores that are not finite, and those with decimal commas, in a column that is one of numbers.

    Up to ``few`` different values that are all written with a comma may be classes, unless ``kind`` says otherwise.
    """
    first = {row.fields.get(label, "").strip(): row for row in reversed(found)}
    odd = {value: row for value, row in first.items() if number(value) is None}
    strange = [value for value in odd if value.lower().lstrip("+-") in ENDLESS]
    commas = [value for value in odd if _COMMA.fullmatch(value)]
    if not odd or len(strange) + len(commas) < len(odd) or kind == "classification":
        return
    if strange and (len(odd) < len(first) or kind == "regression"):
        line = odd[strange[-1]].line
        raise UserError(
            f"{path} line {line} has {strange[-1]!r} among the numbers of its column {label!r}; leave such rows out, "
            "or empty the field"
        )
    if commas and (len(odd) < len(first) or len(first) > few or kind == "regression"):
        dotted = commas[-1].replace(",", ".")
        raise UserError(
            f"{path} line {odd[commas[-1]].line} has {commas[-1]!r} in its column {label!r}, which seems to be a "
            f"number with a decimal comma; write {dotted}"
        )
