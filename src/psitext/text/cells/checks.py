"""Columns that are not what they are taken for: texts that are numbers, numbers that are spelled otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from psitext.errors import UserError
from psitext.text.rows import Row

ENDLESS = ("nan", "inf", "infinity")
_COMMA = re.compile(r"[+-]?\d+,\d+")


def number(text: str) -> float | None:
    """The finite number that a cell holds, None where it holds none."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def check_texts(path: Path | str, found: Sequence[Row], wanted: Mapping[str, str]) -> None:
    """Refuse columns of texts ("text", "pair": by the options that name them) that hold numbers only."""
    for option in ("text", "pair"):
        name = wanted.get(option)
        told = [row for row in found if name is not None and row.fields.get(name, "").strip()]
        if not told or any(number(row.fields[str(name)]) is None for row in told):
            continue
        raise UserError(
            f"the column {name!r} of {path} holds numbers only ({told[0].fields[str(name)]!r} on line {told[0].line}), "
            f"which are no sentences; name the column of texts with --{option}"
        )


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
