"""Corpora of one sentence a line (PTB, Yahoo, Yelp, SNLI), whose lines are not to be cut at stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from psitext.errors import UserError
from psitext.text.cells.columns import no_column
from psitext.text.lines import COMPRESSED
from psitext.text.rows import ENDINGS, HUB, MAX_DOCUMENT, Form, column_rows, form_of


def corpus_lines(paths: Sequence[Path | str], *, column: str = "text") -> Iterator[str]:
    """Every line of plain text, and the ``column`` of every row of a table, whole; blank lines are left out.

    The ending says what a file is, as in ``rows``, each also .gz or .zst; one that stands for no format there (the
    classes of ``sentiment.dev.0``, ``rt-polarity.pos``) is plain text. A number as ``column`` counts the columns, from
    1, of a .tsv or .csv without a header line. White space around a line goes, and a line end inside a field stays.

    Errors: those of ``rows``; a column that is not there; no text at all.
    """
    if not paths:
        raise UserError("no text was named to read lines from")
    for path in paths:
        form = None if str(path).startswith(HUB) else _form(Path(path))
        name = "text" if form == "txt" else column
        told = False
        for row in column_rows(path, {"text": name}, form=form, limit=MAX_DOCUMENT):
            if name not in row.fields:
                raise no_column(f"{path} line {row.line}", name, row.fields, "name it with --text")
            if text := row.fields[name].strip():
                told = True
                yield text
        if not told:
            raise UserError(f"{path} holds no text in the column {name!r}")


def _form(path: Path) -> Form:
    """The format of a file, plain text where its ending stands for none; a .json is none of both."""
    bare = path.with_suffix("") if path.suffix in COMPRESSED else path
    return "txt" if bare.suffix not in ENDINGS and bare.suffix != ".json" else form_of(path)
