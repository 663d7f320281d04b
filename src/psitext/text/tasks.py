"""Tasks by name, and their splits.

The records are ``recipes/tasks/*.toml``. A split is looked for in GLUE's own folder layout first, then in
the layout of the shared data folder, so whoever has the official files gets them; where only part of them is
there, the split says so in its notes. Splits that a data set lacks are made by a rule (``_chosen``) that
looks at the text alone: adding, removing or reordering rows moves no other row, and equal texts never end up
on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from psitext.config import RECIPES, build, read_toml
from psitext.errors import UserError, near
from psitext.randomness import bits, uniform
from psitext.text import toy
from psitext.text.cells.checks import check_texts
from psitext.text.cells.columns import no_column
from psitext.text.examples import Carve, Example, File, Task, check_labels, examples
from psitext.text.lines import COMPRESSED
from psitext.text.rows import HUB, Row, rows
from psitext.text.tables import load_like, load_table

__all__ = ["TASKS", "Task", "Example", "Split", "load_task", "load_split", "read_split"]
__all__ += ["load_table", "load_like", "check_labels"]

TOY = "toy:"
_TOYS: dict[str, Callable[[int], Sequence[Example]]] = {
    "reviews": toy.reviews, "questions": toy.questions, "pairs": toy.pairs, "tags": toy.tags,
}  # fmt: skip
_GLUE_FOLDERS = ("", "glue", "GLUE", "glue_data")


@dataclass(frozen=True, slots=True)
class Split:
    """The examples of one split, and what a reader of results must know about where they come from."""

    name: str
    examples: list[Example]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()
    dropped: int = 0

    def __str__(self) -> str:
        dropped = (f"{self.dropped:,} rows left out",) if self.dropped else ()
        return "; ".join((f"{self.name}: {len(self.examples):,} examples", *self.notes, *dropped))


def _record(path: Path) -> Task:
    return build(Task, {"name": path.stem, **read_toml(path)}, path.name)


TASKS: dict[str, Task] = {path.stem: _record(path) for path in sorted((RECIPES / "tasks").glob("*.toml"))}


def load_task(name_or_toml: str) -> Task:
    """A task that ships with psitext, by name, or one in a TOML file of the user's (docs/data.md shows one).

    Errors: an unknown name (with the near ones); in a file, what ``config.build`` finds wrong.
    """
    if name_or_toml in TASKS:
        return TASKS[name_or_toml]
    if name_or_toml.endswith(".toml"):
        path = Path(name_or_toml)
        own = {"name": path.stem, "folder": str(path.resolve().parent)}
        return build(Task, {**own, **read_toml(path, "task")}, str(path))
    raise UserError(
        f"no task called {name_or_toml!r}{near(name_or_toml, TASKS) or ';'} `psitext tasks` lists all, and the name of "
        "a .toml file stands for a task of your own: its kind, columns, labels and files"
    )


def load_split(task: Task, split: str, data_dir: Path | None = None, *, limit: int | None = None) -> list[Example]:
    """The examples of a split; ``read_split`` also tells where they come from."""
    return read_split(task, split, data_dir, limit=limit).examples


def read_split(task: Task, split: str, data_dir: Path | None = None, *, limit: int | None = None) -> Split:
    """Read a split; ``a+b`` puts two together (``train+dev`` undoes a split made by rule).

    ``data_dir`` None stands for the folder that PSITEXT_DATA names. ``limit`` keeps that many examples, drawn
    by key (files may be sorted by label) and left in order; a smaller limit keeps a subset of a larger one's.

    Errors: an unknown split, no data folder, no such file in it (with the names that were looked for), and
    everything that is wrong in the file, with its line.
    """
    wholes: dict[str, _Whole] = {}  # every file is read once
    parts = [_part(task, name, data_dir, wholes) for name in split.split("+")]
    found = [example for part in parts for example in part.examples]
    notes = [note for part in parts for note in part.notes]
    if limit is not None and limit < len(found):
        order = np.argsort(bits(0, "limit", np.arange(len(found))), kind="stable")
        notes.append(f"{limit:,} of {len(found):,} examples, drawn at random")
        found = [found[index] for index in np.sort(order[: max(limit, 0)])]
    files = tuple(dict.fromkeys(file for part in parts for file in part.files))
    return Split(split, found, files, tuple(dict.fromkeys(notes)), sum(whole.dropped for whole in wholes.values()))


@dataclass(frozen=True, slots=True)
class _Whole:
    """Everything that the files of a split hold, before other splits are made of it."""

    examples: list[Example]
    keys: list[str]  # what decides where an example goes
    files: tuple[str, ...]
    note: str
    dropped: int


def _part(task: Task, split: str, data_dir: Path | None, wholes: dict[str, _Whole]) -> Split:
    """One split, read from its files or made of another split's."""
    if split not in task.splits:
        raise UserError(f"task {task.name!r} has no split {split!r}; it has: {', '.join(task.splits)}")
    origin = task.carve[split].of if split in task.carve else split
    carves = {name: carve for name, carve in task.carve.items() if carve.of == origin}
    by = next((carve.by for carve in carves.values()), None)
    if origin not in wholes:
        wholes[origin] = _whole(task, origin, data_dir, by)
    whole = wholes[origin]
    notes = [whole.note] if whole.note else []
    if not carves:
        return Split(split, whole.examples, whole.files, tuple(notes), whole.dropped)
    chosen = _chosen(whole.keys, carves, split)
    found = [example for example, kept in zip(whole.examples, chosen, strict=True) if kept]
    if not found:
        raise UserError(f"{whole.files[0]} has too few rows to make a split {split!r} of it")
    rule = f"by a keyed hash of the {by or 'text'}"
    if split in carves:
        notes.append(f"made of {origin}: about {carves[split].share:.0%} of it, {rule}")
    else:
        shares = " and ".join(f"{name} (about {carve.share:.0%})" for name, carve in carves.items())
        notes.append(f"without the rows that make up {shares}, {rule}")
    return Split(split, found, whole.files, tuple(notes), whole.dropped)


def _whole(task: Task, origin: str, data_dir: Path | None, by: str | None) -> _Whole:
    file, paths = _find(task, origin, data_dir)
    found, keys, dropped = [], [], 0
    for row, example in _read(task, file, paths, hidden=task.hides(origin)):
        dropped += example is None
        if example is None:
            continue
        if by is not None and by not in row.fields:
            raise no_column(example.source, by, row.fields)
        found.append(example)
        keys.append(row.fields[by] if by else f"{example.text}\t{example.pair or ''}")
    if not found:
        raise UserError(f"{paths[0][0]} holds no rows of the split {origin!r} of {task.name}")
    if task.hides(origin):
        _all_or_none(found, task)
    if task.folder:
        texts = (Row(one.line, {task.text: one.text, task.pair or "": one.pair or ""}) for one in found)
        check_texts(paths[0][0], texts, {"text": task.text, "pair": task.pair}, "let the task's file name another")
    return _Whole(found, keys, tuple(path for path, _ in paths), file.note, dropped)


def _read(
    task: Task, file: File, paths: Sequence[tuple[str, str | None]], *, hidden: bool
) -> Iterator[tuple[Row, Example | None]]:
    """The rows of a split with their examples; None for rows that are left out."""
    for path, label in paths:
        if path.startswith(TOY):
            yield from _toy(path)
            continue
        found = rows(path, columns=file.columns, form=file.form, ragged=file.drop_short)
        if file.where:
            found = _where(found, file.where, path)
        if label is not None:
            found = (Row(row.line, row.fields | {task.label or "": label}) for row in found)
        yield from examples(found, task, path, hidden=hidden, drop_short=file.drop_short)


def _where(found: Iterator[Row], wanted: Mapping[str, str], path: str) -> Iterator[Row]:
    for row in found:
        if missing := [name for name in wanted if name not in row.fields]:
            raise no_column(path, missing[0], row.fields)
        if all(row.fields[name] == value for name, value in wanted.items()):
            yield row


def _toy(path: str) -> Iterator[tuple[Row, Example]]:
    """``toy:<what>:<count>``: generated examples, numbered like lines."""
    name, _, count = path.removeprefix(TOY).partition(":")
    if name not in _TOYS or not count.isdecimal():
        raise UserError(f"{path!r} is no generated text; the form is toy:<{'|'.join(_TOYS)}>:<count>")
    for number, example in enumerate(_TOYS[name](int(count)), 1):
        yield Row(number, {}), replace(example, source=path, line=number)


def _find(task: Task, split: str, data_dir: Path | None) -> tuple[File, list[tuple[str, str | None]]]:
    """The first of a split's files that is there: its paths, each with the label that its name tells."""
    for file in task.files[split]:
        if file.path.startswith((HUB, TOY)):
            return file, [(file.path, None)]
    roots = _roots(task, data_dir)
    for file in task.files[split]:
        for root in roots:
            for tail in ("", *COMPRESSED):
                if found := _matching(root, file.path + tail, tuple(task.label_values)):
                    return file, found
    names = ", ".join(file.path for file in task.files[split])
    where = f"in {roots[0]}; it looks for {names} (or .gz, .zst)"
    raise UserError(f"task {task.name!r} finds no file for {split!r} {where}")


def _roots(task: Task, data_dir: Path | None) -> list[Path]:
    named = data_dir or (Path(os.environ["PSITEXT_DATA"]) if os.environ.get("PSITEXT_DATA") else None)
    if named is not None and not named.is_dir():
        raise UserError(f"the data folder {named} is not there")
    own = [Path(task.folder)] if task.folder else []
    roots = own + ([named / folder for folder in _GLUE_FOLDERS] if named is not None else [])
    if not roots:
        raise UserError(f"task {task.name!r} needs its files: name their folder with --data-dir or PSITEXT_DATA")
    return roots


def _matching(root: Path, pattern: str, values: Sequence[str]) -> list[tuple[str, str | None]]:
    """Files that a pattern stands for; of a pattern with {label}, all or none of the labels."""
    if "{label}" not in pattern:
        return [(path, None) for path in _paths(root, pattern)]
    found: list[tuple[str, str | None]] = []
    for value in values:
        found += ((path, value) for path in _paths(root, pattern.replace("{label}", value)))
    return found if len({value for _, value in found}) > 1 else []


def _paths(root: Path, pattern: str) -> list[str]:
    whole = root / pattern  # which is the pattern itself where that is absolute
    if "*" in pattern:
        base = root if whole != Path(pattern) else Path(whole.anchor)
        return sorted(str(path) for path in base.glob(str(whole.relative_to(base))))
    return [str(whole)] if whole.is_file() else []


def _chosen(keys: Sequence[str], carves: Mapping[str, Carve], split: str) -> npt.NDArray[np.bool_]:
    """Which rows belong to ``split``: each carve takes its share of [0, 1), the rest stays with the origin.

    A row lies where the keyed uniform number of its key lies; case and spacing of the key do not count.
    """
    words = (" ".join(key.casefold().split()).encode() for key in keys)
    digests = b"".join(blake2b(word, digest_size=8).digest() for word in words)
    place = uniform(0, "split", np.frombuffer(digests, dtype="<u8"))
    low = 0.0
    for name, carve in carves.items():
        if name == split:
            return (place >= low) & (place < low + carve.share)
        low += carve.share
    return place >= low


def _all_or_none(found: Sequence[Example], task: Task) -> None:
    """A split of hidden labels may have them (MRPC's test set), but not some of them."""
    bare = [example for example in found if example.label is None and not example.tags and example.answer is None]
    if 0 < len(bare) < len(found):
        raise UserError(f"{bare[0].source} line {bare[0].line} has no label for {task.name}, and other lines have one")
