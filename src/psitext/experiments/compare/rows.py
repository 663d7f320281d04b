"""The rows of a comparison: read from the user's table, cleaned, counted, and divided once for all contenders.

Only names and rows are looked at here, no model, so that what is wrong with a table is said at once.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from psitext.errors import UserError, near
from psitext.experiments.compare.settings import CompareConfig
from psitext.files import write_atomic
from psitext.randomness import bits
from psitext.text.cells.checks import check_numbers, check_texts, number
from psitext.text.cells.columns import check_apart
from psitext.text.examples import METRICS_OF_KIND, Example, Kind, Task, check_labels, examples
from psitext.text.rows import Row, column_rows
from psitext.text.tables import LIKE_DATA, guessed_task

TASK, TRAIN, DEV = "task.toml", "train.jsonl", "dev.jsonl"
KINDS: tuple[Kind, ...] = ("classification", "regression")
MANY = 10  # numbers up to which labels are surely classes
FAR = 10.0  # training scores that lie or spread so far from 0, or less than a FARth, are slow to learn


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the user's table hold what, and what kind of answer the label is; None where it shows."""

    text: str
    label: str
    pair: str | None = None
    kind: Kind | None = None

    @property
    def named(self) -> dict[str, str]:
        """The columns by the option that names each."""
        named = {"text": self.text, "pair": self.pair, "label": self.label}
        return {option: name for option, name in named.items() if name is not None}


@dataclass(frozen=True, slots=True)
class Rows:
    """The task that a table poses, the rows to train on and to judge by, and what a reader must know about them."""

    task: Task
    train: list[Example]
    dev: list[Example]
    notes: tuple[str, ...] = ()


def read_rows(
    path: str,
    columns: Columns,
    config: CompareConfig,
    *,
    dev: str | None = None,
    metric: str | None = None,
    limit: int | None = None,
) -> Rows:
    """A table as the rows of a comparison; ``limit`` keeps so many, drawn by key.

    Rows without text or label are left out and counted. Without a file ``dev`` a share of the rows judges the rest:
    drawn by a keyed hash of the text, from every label alike, and equal texts stay on one side.

    Errors: those of ``text.rows``; a column that is not there, or named twice; too few rows, or too many; a text
    column of numbers; one label only, or a label column that is none; ``dev`` the same file.
    """
    _check_names(path, columns, dev)
    found, missing = _kept(path, columns, config, limit)
    notes = [missing] if missing else []
    if len(found) < config.least_rows:
        raise UserError(
            f"{path} has {len(found)} rows with text and label, of which nothing can be learnt; a comparison takes at "
            f"least {config.least_rows}, and says little below some hundred"
        )
    check_texts(path, found, columns.named)
    check_numbers(path, found, columns.label, columns.kind, config.few_labels)
    if columns.kind != "regression":
        _check_label(path, found, columns, config)
    task = _with_metrics(
        guessed_task(path, found, columns.text, columns.pair, columns.label, None, columns.kind), metric
    )
    every = _examples(path, found, task)
    if len(set(map(key, every))) == 1:
        raise UserError(
            f"all {len(every):,} rows of {path} have the same text, {every[0].text[:40]!r}, so there is nothing to "
            "compare; name the column of texts with --text"
        )
    if dev is None:
        train, judging = divided(every, config.held_out)
        notes += _repeated(every)
    else:
        train, (others, missing) = every, _kept(dev, columns, config, None, LIKE_DATA)
        judging = _examples(dev, others, task)
        notes += [missing] if missing else []
        notes += _shared(train, judging)
    if not judging:
        raise UserError(f"{path} is too small to hold rows out to judge by; give a file for that with --dev")
    check_labels(train, judging)
    return Rows(task, train, judging, (*notes, *_cases(task), *_taken(task, columns), *_scale(task, train)))


def write_rows(rows: Rows, folder: Path) -> Path:
    """Write the rows as files of a task, which fine-tuning reads; returns the task's file."""
    task = rows.task
    for name, part in ((TRAIN, rows.train), (DEV, rows.dev)):
        write_atomic(folder / name, "".join(json.dumps(_record(task, one)) + "\n" for one in part))
    fields = {"name": task.name, "kind": task.kind, "text": task.text, "label": task.label, "headline": task.headline}
    fields |= {"pair": task.pair} if task.pair is not None else {}
    lines = [f"{key} = {_toml(str(value))}" for key, value in fields.items()]
    lines += [f"{key} = [{', '.join(map(_toml, some))}]" for key, some in _lists(task).items()]
    lines += ["", "[files]", f'train = "{TRAIN}"', f'dev = "{DEV}"', ""]
    write_atomic(folder / TASK, "\n".join(lines))
    return folder / TASK


def _lists(task: Task) -> dict[str, tuple[str, ...]]:
    return {"metrics": task.metrics, **({"labels": task.labels} if task.labels else {})}


def _record(task: Task, one: Example) -> dict[str, object]:
    pair = {task.pair: one.pair} if task.pair is not None else {}
    return {task.text: one.text, **pair, str(task.label): one.label}


def _toml(text: str) -> str:
    """A basic string of TOML, which is JSON's but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def divided(every: Sequence[Example], share: float) -> tuple[list[Example], list[Example]]:
    """Rows to train on and to judge by: of every label about ``share`` of its different texts, by a keyed hash.

    Each in the order of the table. A label with fewer texts than 1 / (2 share) is not judged.
    """
    groups: defaultdict[str | None, dict[bytes, None]] = defaultdict(dict)
    seen: dict[bytes, str | None] = {}
    for one in every:
        label = one.label if isinstance(one.label, str) else None  # scores are one group
        groups[seen.setdefault(key(one), label)][key(one)] = None
    held: set[bytes] = set()
    for keys in groups.values():
        held.update(sorted(keys)[: int(share * len(keys) + 0.5)])
    train = [one for one in every if key(one) not in held]
    return train, [one for one in every if key(one) in held]


def key(one: Example) -> bytes:
    """What is the same for texts that differ in case and spacing only; sorting by it is a draw."""
    text = "\t".join(" ".join(part.casefold().split()) for part in (one.text, one.pair or ""))
    return blake2b(text.encode(), digest_size=8, person=b"compare").digest()


def _check_names(path: str, columns: Columns, dev: str | None) -> None:
    check_apart(columns.named)
    if columns.kind not in (None, *KINDS):
        raise UserError(f"--kind is classification or regression, not {columns.kind!r}{near(str(columns.kind), KINDS)}")
    if dev is not None and os.path.realpath(dev) == os.path.realpath(path):
        raise UserError(f"{dev} is given to train on and to judge by (--dev), which would judge nothing")


def _kept(
    path: str, columns: Columns, config: CompareConfig, limit: int | None, hint: str | None = None
) -> tuple[list[Row], str]:
    """The rows that have text and label, ``limit`` of them at most, with these columns only; how many lacked one."""
    found: list[Row] = []
    total = missing = characters = 0
    for row in column_rows(path, columns.named, hint=hint):
        total += 1
        fields = {name: row.fields[name] for name in columns.named.values() if name in row.fields}
        if not all(fields.get(name, "").strip() for name in columns.named.values()):
            missing += 1
            continue
        found.append(Row(row.line, fields))
        characters += sum(map(len, fields.values()))
        if limit is not None and len(found) >= 2 * limit + 1000:
            found = _drawn(found, limit)
            characters = sum(len(text) for one in found for text in one.fields.values())
        _check_size(path, len(found) if limit is None else 0, characters, config)
    if missing > config.most_missing * total:
        either = " or ".join(map(repr, columns.named.values()))
        raise UserError(
            f"{missing:,} of the {total:,} rows of {path} have an empty {either}; fill them in or take them out, or "
            f"name other columns with --{' and --'.join(columns.named)}"
        )
    if limit is not None and len(found) > limit:
        found = _drawn(found, limit)
    note = f"{missing:,} of {total:,} rows of {Path(path).name} have no text or no label and are left out"
    return found, note if missing else ""


def _drawn(found: Sequence[Row], limit: int) -> list[Row]:
    """So many rows, by a key of their lines, in their order; those of a smaller limit are among those of a larger."""
    order = np.argsort(bits(0, "limit", np.array([row.line for row in found])), kind="stable")
    return [found[index] for index in np.sort(order[:limit])]


def _check_size(path: str, count: int, characters: int, config: CompareConfig) -> None:
    if count > config.most_rows or characters > config.most_characters:
        most = f"{config.most_rows:,} rows and {config.most_characters:,} characters"
        raise UserError(f"{path} has more than the {most} that a comparison reads; --limit 20000 takes a sample of it")


def _check_label(path: str, found: Sequence[Row], columns: Columns, config: CompareConfig) -> None:
    """Refuse what is no column of classes, and say what it seems to be."""
    values = Counter(row.fields[columns.label].strip() for row in found)
    if len(values) <= config.few_labels or len(found) >= config.least_a_label * len(values):
        return
    if all(number(value) is not None for value in values):
        if columns.kind is None and any(float(value) != int(float(value)) for value in values):
            return  # fractions: scores
        seems = "if it is a score, say --kind regression; if it is an id, name the label's column with --label"
    else:
        seems = "it looks like an id, a name or a text; name the label's column with --label"
    raise UserError(
        f"the column {columns.label!r} of {path} has {len(values):,} different values in {len(found):,} rows, too many "
        f"to be classes; {seems}"
    )


def _with_metrics(task: Task, metric: str | None) -> Task:
    """The task under another headline, where one is asked for."""
    if metric is None:
        return task
    known = [name for name in METRICS_OF_KIND[task.kind] if name != "f1" or len(task.labels) == 2]
    if metric not in known:
        raise UserError(
            f"--metric: {metric!r} does not measure a {task.kind} of {task.name}{near(metric, known)}"
            f"{'' if near(metric, known) else '; these do: ' + ', '.join(known)}"
        )
    return task.model_copy(update={"metrics": tuple(dict.fromkeys((metric, *task.metrics))), "headline": metric})


def _examples(path: str, found: Sequence[Row], task: Task) -> list[Example]:
    return [one for _, one in examples(found, task, path, checked=True) if one is not None]


def _repeated(every: Sequence[Example]) -> list[str]:
    """What is to be said of texts that occur more than once in one table."""
    labels: defaultdict[bytes, list[object]] = defaultdict(list)
    for one in every:
        labels[key(one)].append(one.label)
    more = len(every) - len(labels)
    unclear = sum(len(set(some)) > 1 for some in labels.values())
    notes = [f"{more:,} rows repeat the text of another; equal texts are all to train on, or all to judge by"]
    notes += [f"{unclear:,} texts occur with more than one label"] if unclear else []
    return notes if more else []


def _shared(train: Sequence[Example], dev: Sequence[Example]) -> list[str]:
    """What is to be said of rows to judge by whose text is trained on."""
    known: Mapping[bytes, None] = dict.fromkeys(map(key, train))
    both = sum(key(one) in known for one in dev)
    told = f"{both:,} of the {len(dev):,} rows to judge by have a text that is trained on, too, which flatters scores"
    return [told] if both else []


def _cases(task: Task) -> list[str]:
    """What is to be said of labels that are one but for their case."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for label in task.labels:
        alike[label.casefold()].append(label)
    return [
        f"the labels {' and '.join(map(repr, some))} differ in case only, and are taken as {len(some)} classes"
        for some in alike.values()
        if len(some) > 1
    ]


def _taken(task: Task, columns: Columns) -> list[str]:
    """What is to be said of labels that may be meant as scores."""
    if columns.kind is not None or len(task.labels) <= MANY or any(number(name) is None for name in task.labels):
        return []
    told = f"{columns.label!r} holds {len(task.labels)} numbers, taken as classes"
    return [f"{told}; --kind regression makes scores of them"]


def _scale(task: Task, train: Sequence[Example]) -> list[str]:
    """A warning of scores that a network starting at 0 comes to slowly."""
    if task.kind != "regression":
        return []
    scores = np.asarray([one.label for one in train], dtype=np.float64)
    if scores.std() == 0:
        raise UserError(f"all scores of {task.name} are {scores[0]:g}; there is nothing to learn")
    if abs(scores.mean()) <= FAR and 1 / FAR <= scores.std() <= FAR:
        return []
    where = f"mean {scores.mean():.4g}, deviation {scores.std():.4g}"
    return [f"scores lie far from 0 or 1 ({where}), which fine-tuning comes to slowly; scaled ones compare more fairly"]
