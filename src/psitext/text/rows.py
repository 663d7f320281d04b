"""Files and hub data sets to rows: a line number and a dict of strings each, whatever the format.

What the columns of a row mean is the business of ``examples.py``. Nothing is read ahead of one line (64
records of Parquet).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psitext.errors import UserError, json_fault
from psitext.text.cells.columns import are_numbers, check_columns, counted
from psitext.text.cells.tabular import table_cells
from psitext.text.lines import COMPRESSED, MAX_FIELD, NEEDS, lines, opened

Form: TypeAlias = Literal["txt", "labelled", "tsv", "csv", "jsonl", "parquet"]
ENDINGS: dict[str, Form] = {
    ".txt": "txt", ".text": "txt", ".tokens": "txt",
    ".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
}  # fmt: skip
HUB = "hub:"
MAX_DOCUMENT = 20_000_000  # characters; one record of pre-training text may be a whole book


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its line in the file from 1 (its number for Parquet and the hub), its fields by column."""

    line: int
    fields: dict[str, str]


def rows(
    path: Path | str,
    *,
    columns: Sequence[str] | None = None,
    form: Form | None = None,
    limit: int = MAX_FIELD,
    ragged: bool = False,
    least: int | None = None,
) -> Iterator[Row]:
    """Read one file, or one hub data set ``hub:<name>[:config][@split]``, row by row.

    The ending chooses the format: .txt (one column, ``text``), .tsv (no quoting), .csv (quoting), .jsonl,
    .parquet, each also .gz or .zst. ``form`` overrules it; ``labelled`` means lines "label words ...". A .csv or
    .tsv whose first line has fewer than ``least`` cells by its own separator (two in a header line) may have
    another one: see ``cells.tabular``.
    ``columns`` names the columns of a table without a header line; an empty sequence numbers them "1", "2",
    ... Blank lines are skipped. ``limit``: characters a field. With ``ragged``, rows that are too short come
    with the fields they have instead of being errors.

    Errors, with file and line: no such file, unknown ending, empty file, no rows, damaged compression,
    invalid UTF-8 (with the byte), NUL characters, duplicate or empty headers, too few or too many fields, a
    field over the limit, bad CSV or JSON.
    """
    name = str(path)
    if name.startswith(HUB):
        found = _hub(name, limit)
    else:
        path = Path(path)
        chosen = form or form_of(path)
        if chosen in ("tsv", "csv"):
            cells = table_cells(path, chosen, limit, (2 if columns is None else 1) if least is None else least)
            found = _table(path, cells, None if columns is None else tuple(columns), limit, ragged)
        else:
            readers = {"txt": _txt, "labelled": _labelled, "jsonl": _jsonl, "parquet": _parquet}
            found = readers[chosen](path, limit)
    empty = True
    for row in found:
        empty = False
        yield row
    if empty:
        raise UserError(f"{name} holds no rows")


def column_rows(
    path: Path | str,
    wanted: Mapping[str, str | None],
    *,
    form: Form | None = None,
    limit: int = MAX_FIELD,
    hint: str | None = None,
) -> Iterator[Row]:
    """The rows of a user's table of which some columns are ``wanted``, by the option that names each.

    Numbers as names count the columns, from 1, of a .csv or .tsv without a header line. ``hint`` is advice in place
    of that to use the options.

    Errors: those of ``rows``; a column that is not there, of a table with a header before the first row is given. Of
    JSON, Parquet and the hub, where a null is no field, a column is there if any row has it, and rows may lack it.
    """
    named = {option: name for option, name in wanted.items() if name is not None}
    kind = None if str(path).startswith(HUB) else form or form_of(Path(path))
    countable = kind in ("csv", "tsv")
    numbered = countable and are_numbers(named)
    least = max(map(int, named.values()), default=1) if numbered else None
    seen: dict[str, None] = {}
    for row in rows(path, columns=() if numbered else None, form=form, limit=limit, least=least):
        if kind in ("csv", "tsv", "txt") and not seen:
            check_columns(str(path), named, row.fields, hint, countable=countable)
        seen.update(dict.fromkeys(row.fields))
        yield row
    check_columns(str(path), named, seen, hint)


def counting(path: Path | str, wanted: Mapping[str, str | None]) -> str | None:
    """What is to be said of a table whose ``wanted`` columns are numbers; None of any other."""
    named = {option: name for option, name in wanted.items() if name is not None}
    if not are_numbers(named) or str(path).startswith(HUB) or form_of(Path(path)) not in ("csv", "tsv"):
        return None
    return counted(str(path), named, next(column_rows(path, wanted)).fields.values())


def form_of(path: Path) -> Form:
    """The format that a file's ending stands for, .gz and .zst set aside."""
    bare = path.with_suffix("") if path.suffix in COMPRESSED else path
    if bare.suffix not in ENDINGS:
        named = repr(bare.suffix) if bare.suffix else "a name without an ending"
        raise UserError(f"{path}: psitext reads {', '.join(ENDINGS)} (each also .gz or .zst), not {named}")
    return ENDINGS[bare.suffix]


def named_like_a_table(name: str) -> bool:
    """True for an ending that says what is in a file, packed or not."""
    return name.endswith(tuple(ending + packed for ending in ENDINGS for packed in ("", *COMPRESSED)))


def _txt(path: Path, limit: int) -> Iterator[Row]:
    for number, line in lines(path, limit):
        if line.strip():
            yield Row(number, _fields([("text", line)], f"{path} line {number}", limit))


def _labelled(path: Path, limit: int) -> Iterator[Row]:
    for number, line in lines(path, limit):
        where, words = f"{path} line {number}", line.split(maxsplit=1)
        if len(words) == 1:
            raise UserError(f"{where} must be a label, a space and a text, not {words[0]!r}")
        if words:
            yield Row(number, _fields([("label", words[0]), ("text", words[1].rstrip())], where, limit))


def _table(
    path: Path,
    cells: Iterable[tuple[int, list[str]]],
    names: tuple[str, ...] | None,
    limit: int,
    ragged: bool,
) -> Iterator[Row]:
    """Cells to rows; the first line is the header unless the names are given (an empty tuple: numbered)."""
    for number, values in cells:
        where = f"{path} line {number}"
        if names is None:
            names = _header(where, [value.strip() for value in values])
            continue
        names = names or tuple(str(place) for place in range(1, len(values) + 1))
        if len(values) > len(names) or (len(values) < len(names) and not ragged):
            many = "few" if len(values) < len(names) else "many"
            belong = f"{len(names)} belong ({', '.join(names)})"
            raise UserError(f"{where} has too {many} fields: {len(values)}, where {belong}")
        yield Row(number, _fields(zip(names, values, strict=False), where, limit))


def _header(where: str, names: list[str]) -> tuple[str, ...]:
    for place, name in enumerate(names, 1):
        if not name and len(names) > 1 and place > 1:  # the first may lack a name: an index column
            raise UserError(f"{where}: column {place} of the header has no name")
        if name in names[: place - 1]:
            raise UserError(f"{where}: the header names the column {name!r} twice")
    return tuple(names)


def _jsonl(path: Path, limit: int) -> Iterator[Row]:
    for number, line in lines(path, limit):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            record = json.loads(line, object_pairs_hook=_unique)
        except json.JSONDecodeError as error:
            raise UserError(f"{where} column {error.colno} is not valid JSON: {json_fault(error.msg)}") from None
        except (ValueError, RecursionError) as error:  # a key twice, a number too long, brackets too deep
            raise UserError(f"{where} is not usable JSON: {error}") from None
        if not isinstance(record, dict):
            raise UserError(f"{where} must be a JSON object, {{...}}, and is {line.strip()[:20]!r}")
        yield Row(number, _fields(record.items(), where, limit))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it has the key {next(name for name in names if names.count(name) > 1)!r} twice")
    return record


def _parquet(path: Path, limit: int) -> Iterator[Row]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise UserError(f"{path}: {NEEDS.format('pyarrow', 'data')}") from None
    number = 0
    with opened(path) as file, tempfile.TemporaryFile() as unpacked:
        try:
            if path.suffix in COMPRESSED:  # Parquet is read from its end, which a compressed stream cannot do
                shutil.copyfileobj(file, unpacked)
            table = pyarrow.parquet.ParquetFile(unpacked if path.suffix in COMPRESSED else file)
            _header(str(path), list(table.schema_arrow.names))
            for batch in table.iter_batches(batch_size=64):
                for record in batch.to_pylist():
                    number += 1
                    yield Row(number, _fields(record.items(), f"{path} record {number}", limit))
        except (pyarrow.ArrowException, OSError, EOFError, zlib.error, ValueError) as error:
            where = f"after record {number}: {_first_line(error)}"
            why = f"cannot be read as Parquet ({where})" if path.stat().st_size else "is empty"
            raise UserError(f"{path} {why}") from None


def _hub(source: str, limit: int) -> Iterator[Row]:
    """Stream a data set through ``datasets``, which from version 4 on runs no code that comes with data."""
    named, _, split = source.removeprefix(HUB).partition("@")
    name, _, config = named.partition(":")
    if not name:
        raise UserError(f"{source!r} names no data set; the form is hub:<name>[:config][@split]")
    try:
        import datasets
    except ImportError:
        raise UserError(f"{source}: {NEEDS.format('datasets', 'hf')}") from None
    if int(datasets.__version__.partition(".")[0]) < 4:
        raise UserError(f"{source} needs datasets 4 or newer (older ones may run code that comes with the data)")
    number = 0
    try:
        data = datasets.load_dataset(name, config or None, split=split or "train", streaming=True)
        classes = {key: kind for key, kind in (data.features or {}).items() if hasattr(kind, "int2str")}
        for record in data:
            number += 1
            for key, kind in classes.items():  # class numbers become names; a hidden label stays -1
                value = record[key]
                record[key] = kind.int2str(value) if value is not None and value >= 0 else value
            yield Row(number, _fields(record.items(), f"{source} record {number}", limit))
    except UserError:
        raise
    except Exception as error:  # of dozens of kinds: the network, the disk, the format, the names
        where = f" after record {number}" if number else ""
        raise UserError(f"{source} cannot be loaded{where}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _fields(pairs: Iterable[tuple[str, Any]], where: str, limit: int) -> dict[str, str]:
    """Values as strings, checked; null is an absent field, lists and objects are JSON text."""
    fields = {}
    for name, value in pairs:
        if value is None:
            continue
        text = value if isinstance(value, str) else _written(value)
        if len(text) > limit:
            raise UserError(f"{where}: {name!r} holds {len(text):,} characters; at most {limit:,} are read")
        if "\0" in text:
            raise UserError(f"{where}: {name!r} holds a NUL character")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UserError(f"{where}: {name!r} holds half a surrogate pair, which is no text") from None
        fields[name] = text
    return fields


def _written(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
