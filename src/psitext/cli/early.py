"""What can be refused before anything heavy is loaded: names of recipes, tasks and models, and small files.

The commands check everything again where it is used; here a mistake costs a third of a second instead of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from psitext.config import Tree, read_recipe, with_overrides
from psitext.errors import UserError, near
from psitext.model.shipped import located, missing
from psitext.text.examples import check_labels, no_column
from psitext.text.rows import HUB, rows
from psitext.text.tables import check_source
from psitext.text.tasks import load_like, load_table, load_task

SMALL = 2_000_000  # bytes of a file that may be read twice


def recipe(name: str, settings: Sequence[str]) -> Tree:
    """The recipe's values before they are checked, with the settings laid over them."""
    return with_overrides(read_recipe(name), settings)


def labelled(tree: Tree, name: str | None, files: dict[str, str | None]) -> None:
    """The task or the user's own files of a fine-tuning; ``files`` holds what the options say (train, text, ...)."""
    check_source(name, {"data" if key == "train" else key: value for key, value in files.items()})
    wanted = name if name is not None else tree.get("task")
    if isinstance(wanted, str) and files.get("train") is None:
        task(wanted)
    table = tree.get("data")
    said = dict(table) if isinstance(table, Mapping) else {}
    data = said | {key: value for key, value in files.items() if value is not None}
    path = data.get("train")
    if name is not None or path is None or not _are_names(data) or not _small(path):
        return
    train, found = load_table(
        path, text=data.get("text", "text"), pair=data.get("pair"), label=data.get("label", "label")
    )
    if data.get("dev") is not None and _small(data["dev"]):
        check_labels(train, load_like(data["dev"], found))


def choice(option: str, name: str | None, choices: Sequence[str]) -> None:
    """A name out of a few, where the option is given."""
    if name is not None and name not in choices:
        raise UserError(f"{option} is one of {', '.join(choices)}, not {name!r}{near(name, choices)}")


def task(name: str) -> None:
    """A task by name or by its TOML file."""
    load_task(name)


def ending(out: Path | None, endings: Sequence[str], what: str) -> None:
    """The ending of a file to write."""
    if out is not None and out.suffix not in endings:
        raise UserError(f"{what} are written as {', '.join(endings)}, not as {out.name!r}")


def table(path: str, text: str | None, pair: str | None) -> None:
    """A file of texts: that it is there, that it has rows and the named columns."""
    if path.startswith(HUB):
        return
    first = next(iter(rows(path, columns=() if text is not None and text.isdecimal() else None)))
    for name in (text, pair):
        if name is not None and name not in first.fields:
            raise no_column(path, name, first.fields)


def model(name: str) -> None:
    """A model by path, or by name one that comes with psitext; one from the hub or in Hugging Face's layout is looked
    at when it is loaded.
    """
    if not name:
        raise UserError(
            "the name of the model is empty; give a run, a model folder, hf:<folder or hub id>, or a name that "
            "`psitext models` lists"
        )
    if not name.startswith("hf:") and not located(name).exists():
        raise missing(name)


def _are_names(data: Mapping[str, object]) -> bool:
    """False where a value has another type than a name; the check of the recipe as a whole says which."""
    return all(isinstance(data.get(key, ""), str) for key in ("train", "dev", "text", "pair", "label"))


def _small(path: str) -> bool:
    """True for a file that is quickly read, and for one that is not there, whose reader says so."""
    return not str(path).startswith(HUB) and (not Path(path).is_file() or Path(path).stat().st_size < SMALL)
