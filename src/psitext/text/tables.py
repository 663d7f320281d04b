"""A user's own table, read as a task whose kind and labels are found out from its label column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from psitext.config import build
from psitext.errors import UserError
from psitext.text.cells.checks import check_numbers, check_texts, number
from psitext.text.cells.columns import check_apart
from psitext.text.examples import METRICS_OF_KIND, Example, Kind, Task, examples
from psitext.text.rows import HUB, Row, column_rows, form_of

_FEW = 10  # different values up to which numbers are classes
LIKE_DATA = "its columns must be those of the file to train on"  # advice about a file to judge by


def load_table(
    path: Path | str,
    *,
    text: str,
    pair: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    kind: Kind | None = None,
) -> tuple[list[Example], Task]:
    """Read a user's own table (or hub data set) and find out what task it is.

    Words are classes, in alphabetical order unless ``labels`` gives one; numbers are classes too, by size,
    unless some are fractions and there are more than ten different ones: then they are scores. ``kind``
    overrules that. Numbers as column names count the columns of a table without a header line. A second file
    of the same kind (dev, test, texts to predict) is read with ``load_like``.

    Errors: those of ``rows``; one column named twice; no such column; an empty label; numbers mixed with
    words; one label only; as many labels as a column of names would have.
    """
    wanted = {"text": text, "pair": pair, "label": label}
    check_apart(wanted)
    found = list(column_rows(path, wanted))
    task = guessed_task(path, found, text, pair, label, labels, kind)
    return _examples(path, found, task), task


def load_like(path: Path | str, task: Task, *, labelled: bool = True, hint: str | None = None) -> list[Example]:
    """Read a further file of a task's kind; with ``labelled`` False no label column is needed, nor read.

    Of plain text a line is a text, whatever its task calls the column. ``hint`` is advice where a column is missing,
    in place of that to name it with an option.
    """
    plain = not str(path).startswith(HUB) and form_of(Path(path)) == "txt"
    changes = {**({} if labelled else {"label": None}), **({"text": "text"} if plain else {})}
    asked = task.model_copy(update=changes)
    wanted = {"text": asked.text, "pair": asked.pair, "label": asked.label}
    found = list(column_rows(path, wanted, hint=hint))
    check_texts(path, found, wanted, hint)
    return _examples(path, found, asked)


def _examples(path: Path | str, found: Sequence[Row], task: Task) -> list[Example]:
    return [example for _, example in examples(found, task, str(path), checked=True) if example is not None]


def check_source(task: str | None, own: Mapping[str, object]) -> None:
    """Refuse a task together with what is said of a file of one's own (``data``, ``dev``, ``text``, ...)."""
    given = next((key for key, value in own.items() if value is not None), None)
    if task is None or given is None:
        return
    if given == "data":
        raise UserError("task (--task) and data (--data) both say what to train on; give one of them")
    raise UserError(f"{given} (--{given}) is about a file of your own (--data); a task says it itself")


def guessed_task(
    path: Path | str,
    found: Sequence[Row],
    text: str,
    pair: str | None,
    label: str | None,
    labels: Sequence[str] | None,
    kind: Kind | None,
) -> Task:
    """The task record of a table, from what its label column holds."""
    tree: dict[str, object] = {"name": _short(path), "text": text, "pair": pair, "label": label}
    if label is None:
        return build(Task, {**tree, "kind": kind or "classification"}, str(path))
    check_texts(path, found, {"text": text, "pair": pair, "label": label})
    values = {row.fields.get(label, "").strip(): row.line for row in reversed(found)}  # first line of each
    if "" in values:
        raise UserError(f"{path} line {values['']} has an empty {label!r}; fill it in, or leave the row out")
    if not labels and kind in (None, "regression"):
        check_numbers(path, found, label, kind, _FEW)
    chosen = kind or ("classification" if labels else _kind(path, label, values))
    tree["kind"] = chosen
    if chosen == "classification":
        tree["labels"] = list(labels) if labels else _names(path, label, values, len(found))
        tree["metrics"] = ["accuracy", "macro_f1"]
    else:
        tree["metrics"] = METRICS_OF_KIND[chosen]
    return build(Task, tree, str(path))


def _kind(path: Path | str, label: str, values: Mapping[str, int]) -> Kind:
    numbers = {value: amount for value in values if (amount := number(value)) is not None}
    if 0 < len(numbers) < len(values):
        figure = min(numbers, key=values.__getitem__)
        word = min(values.keys() - numbers.keys(), key=values.__getitem__)
        mixed = f"{figure!r} on line {values[figure]} and {word!r} on line {values[word]}"
        header = label.isdecimal() and values[word] == 1 and len(numbers) == len(values) - 1
        named = f"; if line 1 is a header, give names in place of numbers, as in --label {word}" if header else ""
        raise UserError(f"{path} mixes numbers and words in its column {label!r}: {mixed}{named}")
    fractions = any(amount != int(amount) for amount in numbers.values())
    return "regression" if fractions and len(numbers) > _FEW else "classification"


def _names(path: Path | str, label: str, values: Mapping[str, int], count: int) -> list[str]:
    """Class names in the order of their values, numbers by size."""
    if len(values) == 1:
        raise UserError(f"{path} has but one label in its column {label!r}: {next(iter(values))!r}")
    if len(values) > 20 and len(values) > count / 2:
        many = f"{len(values):,} different values in {count:,} rows"
        raise UserError(f"{path} has {many} of {label!r}, which does not look like a label column")
    return sorted(values, key=lambda value: (number(value) or 0.0, value))


def _short(path: Path | str) -> str:
    """A task name out of a path or hub name: reviews.csv.gz is reviews."""
    return Path(str(path).removeprefix(HUB).partition(":")[0]).name.split(".")[0] or "table"
