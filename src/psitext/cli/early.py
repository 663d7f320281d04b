"""What can be refused before anything heavy is loaded: names of recipes, tasks and models, and small files.

The commands check everything again where it is used; here a mistake costs a third of a second instead of several.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from psitext.config import Tree, read_recipe, with_overrides
from psitext.errors import UserError, near
from psitext.files import check_place
from psitext.model.shipped import located, missing
from psitext.text.cells.checks import check_texts
from psitext.text.cells.columns import check_apart
from psitext.text.examples import check_labels
from psitext.text.rows import HUB, column_rows, form_of, named_like_a_table
from psitext.text.tables import LIKE_DATA, check_source
from psitext.text.tasks import load_like, load_table, load_task

SUMS = "checksums.json"  # what a model's folder has; a test compares it
SMALL = 2_000_000  # bytes of a file that may be read twice


def recipe(name: str, settings: Sequence[str]) -> Tree:
    """The recipe's values before they are checked, with the settings laid over them."""
    return with_overrides(read_recipe(name), settings)


def labelled(tree: Tree, name: str | None, files: dict[str, str | None]) -> None:
    """The task or the user's own files of a fine-tuning; ``files`` holds what the options say (train, text, ...)."""
    check_source(name, {"data" if key == "train" else key: value for key, value in files.items()})
    wanted = name if name is not None else tree.get("task")
    if isinstance(wanted, str) and files.get("train") is None:
        task_or_data(wanted)
    written = tree.get("data")
    said = dict(written) if isinstance(written, Mapping) else {}
    data = said | {key: value for key, value in files.items() if value is not None}
    path = data.get("train")
    if name is not None or path is None or not _are_names(data):
        return
    columns = {"text": data.get("text", "text"), "pair": data.get("pair"), "label": data.get("label", "label")}
    if not _small(path):
        table(path, **columns)
        return
    train, found = load_table(path, **columns)
    if data.get("dev") is not None and _small(data["dev"]):
        check_labels(train, load_like(data["dev"], found, hint=LIKE_DATA))


def choice(option: str, name: str | None, choices: Sequence[str]) -> None:
    """A name out of a few, where the option is given."""
    if name is not None and name not in choices:
        raise UserError(f"{option} is one of {', '.join(choices)}, not {name!r}{near(name, choices)}")


def task(name: str) -> None:
    """A task by name or by its TOML file."""
    load_task(name)


def task_or_data(name: str) -> None:
    """The same, of a verb that takes a table of one's own by --data."""
    if named_like_a_table(name):
        raise UserError(f"--task {name} names a table, not a task; a labelled file of your own is named with --data")
    task(name)


def ending(out: Path | None, endings: Sequence[str], what: str) -> None:
    """The ending of a file to write."""
    if out is not None and out.suffix not in endings:
        raise UserError(f"{what} are written as {', '.join(endings)}, not as {out.name!r}")


def output(out: Path | None, read: Sequence[str | Path | None] = (), what: str = "texts", option: str = "-o") -> None:
    """A file to write: that it can be written, and is none of those that are read, nor a model's."""
    if out is None:
        return
    for name in read:
        # os.path: False, not an error, for a text too long to be a path.
        if name is not None and out.exists() and os.path.exists(name) and out.samefile(name):  # noqa: PTH110
            raise UserError(f"{option} {out} would overwrite the {what} that are read; name another file")
    if out.is_file() and any((folder / SUMS).is_file() for folder in out.absolute().parents[:2]):
        raise UserError(f"{option} {out} is a file of a model; name another file")
    check_place(out)


def folder(out: Path | None) -> None:
    """A folder that takes its place as a whole."""
    if out is not None:
        check_place(out, folder=True)


def inside(out: Path | None, name: str) -> None:
    """A folder that is filled by and by, ``name`` for one of its files."""
    if out is not None and os.path.exists(out) and not os.path.isdir(out):  # noqa: PTH110, PTH112 - never an error
        folder(out)  # which says what is there; of a file below it only a part of the path would be wrong
    elif out is not None:
        check_place(out / name)


def table(path: str, text: str | None, pair: str | None = None, label: str | None = None) -> None:
    """A file of texts: that it is there, that it has rows and the named columns, and texts in those of texts.

    Of a large file the first rows are looked at, which in JSON need not have them all.
    """
    if path.startswith(HUB):
        return
    plain = form_of(Path(path)) == "txt"
    wanted = {"text": "text" if plain and text is not None else text, "pair": pair, "label": label}
    found = column_rows(path, wanted)
    check_texts(path, chain([next(found)], found), wanted)
    if _small(path):
        deque(found, maxlen=0)


def scored(
    name: str | None, data: str | None, text: str | None = None, pair: str | None = None, label: str | None = None
) -> None:
    """What a finished model is scored on: a task by name, or a file of one's own and its columns."""
    check_apart({"text": text, "pair": pair, "label": label})
    if name is not None:
        task(name)
    if data is not None:
        table(data, text, pair, label)


def texts_only(arguments: Sequence[str]) -> None:
    """Arguments that are texts or files: standard input is neither."""
    if "-" in arguments:
        raise UserError("standard input is not read; name a file with a text column in place of '-'")


def ket(text: str | None, bond: int | None = None) -> None:
    """A text whose ket is made, and the bond of a matrix-product state of it."""
    if text is not None and not text.strip():
        raise UserError("--text is empty; a ket is made from at least one word")
    if bond is not None and bond < 1:
        raise UserError(f"--bond {bond} holds nothing; 1 is a product state, and each doubling takes a qubit more")


def model(name: str) -> None:
    """A model by path, or by name one that comes with psitext; one from the hub or in Hugging Face's layout is looked
    at when it is loaded.
    """
    if not name.startswith("hf:") and not located(name).exists():
        raise missing(name)


def _are_names(data: Mapping[str, object]) -> bool:
    """False where a value has another type than a name; the check of the recipe as a whole says which."""
    return all(isinstance(data.get(key, ""), str) for key in ("train", "dev", "text", "pair", "label"))


def _small(path: str) -> bool:
    """True for a file that is quickly read, and for one that is not there, whose reader says so."""
    return not str(path).startswith(HUB) and (not Path(path).is_file() or Path(path).stat().st_size < SMALL)
