"""CSV and TSV: lines to cells, by the separator that the first line shows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

from psitext.errors import UserError
from psitext.text.lines import lines

Cells: TypeAlias = Iterator[tuple[int, list[str]]]  # the line from 1 that a row starts on, and its cells
OWN = {"csv": ",", "tsv": "\t"}
SEPARATORS = ("\t", ";", "|", ",")
FAULTS = {  # what the csv module says, and what there is to do
    "unexpected end of data": "a quoted field never ends",
    "expected after": "something follows the closing quote of a field; a quote within one is written twice",
    "field larger than field limit": "a field is too long; does a closing quote lack?",
}


def table_cells(path: Path, form: Literal["csv", "tsv"], limit: int, least: int) -> Cells:
    """The cells of every row that is not empty; ``limit``: characters a field.

    The ending's separator counts where it cuts the first line into ``least`` cells; else ``separator`` looks for
    another. Tabs in a .tsv know no quoting; everything else is read as CSV.

    Errors: those of ``lines``; what is no CSV.
    """
    found = lines(path, limit)
    head = []
    for number, line in found:
        head.append((number, line))
        if line.strip():
            break
    sign = separator(head[-1][1], OWN[form], least)
    every = chain(head, found)
    return _plain(every) if form == "tsv" and sign == OWN[form] else _quoted(path, every, sign, limit)


def separator(line: str, own: str, least: int = 2) -> str:
    """What separates the cells of a table: ``own``, unless the first line has fewer than ``least`` cells by it and
    another sign makes as many of it, none empty and no two the same; of several signs the one that makes most.
    """
    if len(_cut(line, own)) >= least:
        return own
    others = {sign: cells for sign in SEPARATORS if sign != own and _are_names(cells := _cut(line, sign), least)}
    return max(others, key=lambda sign: len(others[sign]), default=own)


def _are_names(cells: list[str], least: int) -> bool:
    names = [cell.strip() for cell in cells]
    return len(names) >= max(least, 2) and all(names) and len(set(names)) == len(names)


def _cut(line: str, sign: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=sign), [])
    except csv.Error:  # a field that no header has
        return []


def _plain(found: Iterator[tuple[int, str]]) -> Cells:
    for number, line in found:
        if line:
            yield number, line.split("\t")


def _quoted(path: Path, found: Iterator[tuple[int, str]], sign: str, limit: int) -> Cells:
    reader = csv.reader((line + "\n" for _, line in found), delimiter=sign, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = _next_row(reader, limit)
        except csv.Error as error:
            why = next((words for said, words in FAULTS.items() if said in str(error)), str(error))
            raise UserError(f"{path}: the row that starts on line {start} is not valid CSV: {why}") from None
        if cells is None:
            return
        if cells:
            yield start, cells


def _next_row(reader: Iterator[list[str]], limit: int) -> list[str] | None:
    """The next row under a limit of characters a field, which the csv module keeps for the whole process."""
    before = csv.field_size_limit(limit + 1)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)
