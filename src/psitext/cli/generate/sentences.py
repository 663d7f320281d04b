"""Sentences in, from arguments that are sentences or files of them; sentences out, to the terminal or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from psitext.cli.generate.options import LINES

if TYPE_CHECKING:
    from psitext.model import Model


def read(*groups: Sequence[str], column: str | None = None) -> list[list[str]]:
    """The sentences of each group of arguments; one that is a file gives all of its sentences, without empty ones.

    Errors: an empty argument; a file without any sentence; a column where nothing is a file; standard input.
    """
    from psitext.cli import early
    from psitext.errors import UserError

    given = [argument for group in groups for argument in group]
    early.texts_only(given)
    if column is not None and not any(map(_is_file, given)):
        raise UserError(f"--text names the column {column!r} of a file, and only sentences are given")
    return [[text for argument in group for text in _sentences(argument, column)] for group in groups]


def looked(model: str, out: Path | None, read: Sequence[str] = ()) -> None:
    """Refuse what can be refused by names alone, before anything is read."""
    from psitext.cli import early

    early.model(model)
    early.ending(out, LINES, "sentences")
    early.output(out, read, "sentences")


def kept(records: Sequence[dict[str, Any]], out: Path) -> None:
    """Write JSON lines."""
    from psitext.files import write_atomic

    write_atomic(out, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    typer.echo(f"{len(records):,} lines: {out}")


def line(text: str) -> str:
    """A written sentence as one line of a terminal: it may hold line ends and control characters."""
    from psitext.cli.terminal import plain

    return plain(" ".join(text.split()))


def tell_unknown(model: Model, texts: Sequence[str]) -> None:
    """Say how many sentences are mostly of words or signs that the model has never read."""
    reader = model.tokenizer
    strange = sum(2 * int((ids == reader.unk).sum()) > len(ids) for ids in reader.encode(texts))
    if strange:
        which = "1 sentence is" if strange == 1 else f"{strange:,} sentences are"
        typer.echo(
            f"{which} mostly of words or signs that this model does not know, so its latent says little", err=True
        )


def tell_cut(model: Model, *groups: Sequence[str]) -> None:
    """Say how many sentences are longer than the model reads."""
    from psitext.cli import terminal

    terminal.tell_cut(model.longer([text for group in groups for text in group]), model, "sentences")


def _sentences(argument: str, column: str | None) -> list[str]:
    """One argument's."""
    from psitext.errors import UserError
    from psitext.text.cells.columns import no_value
    from psitext.text.rows import HUB, column_rows, form_of, named_like_a_table

    if not _is_file(argument):
        if not argument.strip():
            raise UserError("a sentence is empty; it takes one word at least")
        return [argument]
    hub = argument.startswith(HUB)
    # A file whose ending says nothing is read as a sentence a line.
    form = None if hub else form_of(Path(argument)) if named_like_a_table(argument) else "txt"
    name = column if column is not None and form != "txt" else "text"
    full, empty = [], 0
    for row in column_rows(argument, {"text": name}, form=form):
        if name not in row.fields:
            raise no_value(f"{argument} line {row.line}", name)
        text = row.fields[name].strip()
        empty += not text
        full += [text] if text else []
    if not full:
        raise UserError(f"{argument} holds no sentence: its column {name!r} is empty in every row")
    if empty:
        rows_are = "1 row is" if empty == 1 else f"{empty:,} rows are"
        typer.echo(f"{argument}: {rows_are} empty in the column {name!r}; left out", err=True)
    return full


def _is_file(argument: str) -> bool:
    """What is there as a file or folder, is a hub name, or is one word with a table's ending."""
    from psitext.text.rows import HUB, named_like_a_table

    named = named_like_a_table(argument) and not any(sign.isspace() for sign in argument)
    return named or argument.startswith(HUB) or os.path.exists(argument)  # noqa: PTH110 - False for a text too long
