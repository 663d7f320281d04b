"""What a row means: the record that describes a task, and the example that a row of it becomes.

A task is data (``recipes/tasks/*.toml``, or a user's own file): which columns hold the texts, how labels are
written and named, what is measured. Labels are names from here on; numbers of classes are made once, from the
order of ``Task.labels``, so no two parts can disagree about which number means what.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import Field, ValidationInfo, field_validator

from psitext.config import Config
from psitext.errors import UserError
from psitext.text.cells.columns import no_column, no_value
from psitext.text.rows import Form, Row

Kind: TypeAlias = Literal["classification", "regression", "tagging", "span"]
# The metrics of score/metrics.py that make sense for a kind of task; the first is the default headline.
METRICS_OF_KIND: dict[str, tuple[str, ...]] = {
    "classification": ("accuracy", "f1", "macro_f1", "matthews"),
    "regression": ("pearson", "spearman", "rmse"),
    "tagging": ("tag_accuracy",),
    "span": ("span_f1", "span_exact"),
}
IGNORED = -1  # as a number among targets: not counted (no next sentence, a word's later pieces, an answer cut off)
HIDDEN = ("", "-1", "-1.0", "-", "?")  # ways in which a test file says that it keeps the label to itself


@dataclass(frozen=True, slots=True)
class Example:
    """One thing to learn from or to predict, and where it stands.

    ``label`` is a class name, a score, or None where it is hidden, not asked for, or elsewhere: a tagging
    example has ``words`` and one of ``tags`` for each; a span example asks ``text`` of the passage ``pair``
    and has its ``answer`` there, a character range [start, end). ``line`` counts from 1 in ``source``.
    """

    text: str
    pair: str | None = None
    label: str | float | None = None
    source: str = ""
    line: int = 0
    words: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    answer: tuple[int, int] | None = None


class File(Config):
    """One file that may hold a split.

    ``path`` is relative to the data folder (or the folder of the task's own file); its .gz or .zst is found
    too; ``*`` stands for several files; ``{label}`` stands for every key of the task's ``label_values``, so
    that the file tells the label; ``hub:<name>[:config][@split]`` is a hub data set.
    """

    path: str
    note: str = ""  # what a reader of results must know: part of the official rows, tokenised text ...
    columns: tuple[str, ...] | None = None  # names, where the file has no header line
    form: Form | None = None  # the format, where the ending does not tell it
    where: dict[str, str] = Field(default_factory=dict)  # only rows with these values belong to the split
    drop_short: bool = False  # leave out (and count) rows with too few fields, known damage of a release


class Carve(Config):
    """A split that the data set lacks: a share of another split, chosen by a keyed hash of the text."""

    of: str
    share: float = Field(gt=0, lt=1)
    by: str | None = None  # the column whose equal values stay together (a document); None: the texts themselves


class Task(Config):
    """Everything that is to be known about a task, as data."""

    name: str
    title: str = ""
    kind: Kind
    text: str  # column of the (first) text; of the question of a span task; of the words of a tagging task
    pair: str | None = None  # column of the second text, or of the passage
    label: str | None = None  # column of the label, the tags or the answer text; None: of text to predict
    start: str | None = None  # span: column of the answer's first character; None: the answer must occur once
    label_values: dict[str, str] = Field(
        default_factory=dict
    )  # label as the file writes it -> name; names stand for themselves
    labels: tuple[str, ...] = ()  # names in class order
    low: float | None = None  # range of a regression's scores
    high: float | None = None
    drop: tuple[str, ...] = ()  # labels whose rows are left out, and counted
    tag_marks: tuple[str, ...] = ()  # tagging: patterns taken off a tag, one after another, until it is known
    metrics: tuple[str, ...] = ()
    headline: str = ""
    hidden_test: bool = False  # the labels of splits named test... are not published
    files: dict[str, tuple[File, ...]] = Field(default_factory=dict)
    carve: dict[str, Carve] = Field(default_factory=dict)
    folder: str = ""  # where a user's own task file stands; load_task fills it in
    note: str = ""
    terms: str = ""  # licence or terms of the data, as far as known

    @field_validator("files", mode="before")
    @classmethod
    def _bare_paths(cls, value: Any) -> Any:
        """A split may be a path, a list of paths, or a list of tables."""
        if not isinstance(value, dict):
            return value
        listed = {split: [found] if isinstance(found, str | dict) else found for split, found in value.items()}
        return {
            split: [{"path": file} if isinstance(file, str) else file for file in found]
            if isinstance(found, list | tuple)
            else found
            for split, found in listed.items()
        }

    @field_validator("labels")
    @classmethod
    def _right_labels(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        kind, named = info.data.get("kind"), info.data.get("label_values", {}).values()
        if kind in ("regression", "span") and value:
            raise ValueError(f"a {kind} task has no label names")
        if kind == "tagging" and not value:
            value = tuple(dict.fromkeys(named))
        if kind == "tagging" or (kind == "classification" and info.data.get("label")):
            if len(set(value)) != len(value) or len(value) < 2:
                raise ValueError("there must be two or more label names, all different")
            if strange := [name for name in named if name not in value]:
                raise ValueError(f"label_values leads to {strange[0]!r}, which is not among them")
        return value

    @field_validator("tag_marks")
    @classmethod
    def _right_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression ({error})") from None
        return value

    @field_validator("metrics")
    @classmethod
    def _right_metrics(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        right = METRICS_OF_KIND.get(info.data.get("kind", ""), ())
        if strange := [name for name in value if name not in right]:
            raise ValueError(f"{strange[0]!r} does not measure such a task; these do: {', '.join(right)}")
        if "f1" in value and len(info.data.get("labels", ())) > 2:
            raise ValueError("'f1' is for two classes; 'macro_f1' takes any number")
        return value or right[:1]

    @field_validator("headline")
    @classmethod
    def _right_headline(cls, value: str, info: ValidationInfo) -> str:
        metrics = info.data.get("metrics", ())
        if value and value not in metrics:
            raise ValueError(f"the headline must be one of the metrics ({', '.join(metrics)})")
        return value or next(iter(metrics), "")

    @field_validator("carve")
    @classmethod
    def _right_carves(cls, value: dict[str, Carve], info: ValidationInfo) -> dict[str, Carve]:
        for split, carve in value.items():
            if carve.of not in info.data.get("files", {}) or split in info.data.get("files", {}):
                raise ValueError(f"{split!r} must be made of a split that has files, and have none itself")
            siblings = [other for other in value.values() if other.of == carve.of]
            if sum(other.share for other in siblings) >= 1 or len({other.by for other in siblings}) > 1:
                raise ValueError(f"what is made of {carve.of!r} must leave some of it, and agree on 'by'")
        return value

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of all splits: of training, development, test, and others."""
        order = ("train", "dev", "test", "")
        names = (*self.files, *self.carve)
        return tuple(sorted(names, key=lambda name: next(order.index(head) for head in order if name.startswith(head))))

    @property
    def dev_splits(self) -> tuple[str, ...]:
        """The splits to evaluate on while developing: ``dev``, or where it is missing every ``dev...``."""
        return ("dev",) if "dev" in self.splits else tuple(name for name in self.splits if name.startswith("dev"))

    def hides(self, split: str) -> bool:
        """Whether the labels of this split are not published."""
        return self.hidden_test and split.startswith("test")


def examples(
    found: Iterable[Row],
    task: Task,
    source: str,
    *,
    hidden: bool = False,
    drop_short: bool = False,
    checked: bool = False,
) -> Iterator[tuple[Row, Example | None]]:
    """Every row with its example, which is None where ``task.drop`` or ``drop_short`` leaves the row out.

    ``checked`` says that the columns are there, though the first row may lack a value. With ``hidden``, a label that
    is absent or marked as kept back is None; otherwise it is an error, as are a missing column, an unknown label, a
    score that is no number or out of range, tags that do not fit the words, an answer that is not in the passage: one
    sentence with ``source``, line and what would be right.
    """
    asked = [task.text, task.pair, task.start, None if hidden else task.label]
    first = not checked
    for row in found:
        if missing := [name for name in asked if name is not None and name not in row.fields]:
            if not drop_short or first:
                where = f"{source} line {row.line}"
                raise no_column(source, missing[0], row.fields) if first else no_value(where, missing[0])
            yield row, None
            continue
        first = False
        raw = row.fields.get(task.label or "", "").strip()
        yield row, None if raw in task.drop else _example(row, raw, task, source, hidden)


def _example(row: Row, raw: str, task: Task, source: str, hidden: bool) -> Example:
    where = f"{source} line {row.line}"
    text = row.fields[task.text]
    pair = row.fields[task.pair] if task.pair else None
    known = task.label is not None and not (hidden and raw in HIDDEN)
    if task.kind == "span":
        start = row.fields[task.start] if task.start else None
        answer = _answer(raw, start, pair or "", where) if known else None
        return Example(text, pair, source=source, line=row.line, answer=answer)
    if task.kind == "tagging":
        words, tags = _tagged(text, raw, task, where) if known else (_list(text), [])
        return Example(" ".join(words), source=source, line=row.line, words=tuple(words), tags=tuple(tags))
    label = (_score if task.kind == "regression" else _class)(raw, task, where) if known else None
    return Example(text.strip(), None if pair is None else pair.strip(), label, source, row.line)


def _class(raw: str, task: Task, where: str) -> str:
    name = task.label_values.get(raw, raw)
    if name not in task.labels:
        written = {name: value for value, name in task.label_values.items()}
        known = [f"{name} ({written[name]})" if name in written else name for name in task.labels[:12]]
        hint = " (a mark of hidden labels, and this split needs known ones)" if raw in HIDDEN else ""
        if where.endswith(" line 1") and (task.label or "").isdecimal():  # counted columns: it may be a header
            hint = " (if that line is a header, name the columns in place of counting them)"
        raise UserError(f"{where} has the label {raw!r}{hint}; {task.name} knows {', '.join(known)}")
    return name


def _score(raw: str, task: Task, where: str) -> float:
    try:
        score = float(raw)
    except ValueError:
        score = math.nan
    low, high = (-math.inf if task.low is None else task.low), (math.inf if task.high is None else task.high)
    if not math.isfinite(score) or not low <= score <= high:
        span = "" if math.isinf(low) and math.isinf(high) else f" from {low:g} to {high:g}"
        raise UserError(f"{where} has the score {raw!r}; {task.name} needs a number{span}")
    return score


def _tagged(text: str, raw: str, task: Task, where: str) -> tuple[list[str], list[str]]:
    """Words and tags out of one column (word/TAG word/TAG) or of two, each a JSON list or cut at spaces."""
    words, tags = _list(text), _list(raw)
    if task.label == task.text:
        pairs = [token.rpartition("/") for token in words]
        if bad := [token for token, (word, _, tag) in zip(words, pairs, strict=True) if not (word and tag)]:
            raise UserError(f"{where}: {bad[0]!r} is no word/TAG")
        words, tags = [word for word, _, _ in pairs], [tag for _, _, tag in pairs]
    if not words or len(words) != len(tags):
        raise UserError(f"{where} has {len(words)} words and {len(tags)} tags; each word needs one")
    values = task.label_values
    return words, [values.get(tag) or _tag(tag, task, where) for tag in tags]


def _tag(tag: str, task: Task, where: str) -> str:
    bare = tag
    for mark in ("", *task.tag_marks):
        bare = re.sub(mark, "", bare) if mark else bare
        name = task.label_values.get(bare, bare)
        if name in task.labels:
            return name
    raise UserError(f"{where} has the tag {tag!r}, which {task.name} does not know")


def _list(cell: str) -> list[str]:
    if cell.startswith("["):
        try:
            return [str(item) for item in json.loads(cell)]
        except ValueError:
            pass  # a text that begins with a bracket
    return cell.split()


def _answer(raw: str, start: str | None, passage: str, where: str) -> tuple[int, int]:
    """The range of an answer given as its text (and start), or in SQuAD's form: lists of texts and starts."""
    if raw.startswith("{") and start is None:
        try:
            record = json.loads(raw)
            raw, start = str(record["text"][0]), str(record["answer_start"][0])
        except (ValueError, LookupError, TypeError):
            form = '{"text": [...], "answer_start": [...]}'
            raise UserError(f"{where} holds no answer of the form {form}") from None
    if not raw:
        raise UserError(f"{where} has no answer")
    if start is None:
        if (times := passage.count(raw)) != 1:
            how = f"the answer {raw!r} occurs {times} times in its passage"
            raise UserError(f"{where}: {how}; name a column with its start")
        start = str(passage.index(raw))
    begin = int(start) if start.strip().isdecimal() else -1
    if begin < 0 or not passage.startswith(raw, begin):
        raise UserError(f"{where}: the passage does not have the answer {raw!r} at character {start}")
    return begin, begin + len(raw)


def check_labels(train: Sequence[Example], dev: Sequence[Example]) -> None:
    """Refuse labels (or tags) that a model trained on ``train`` can never give, naming a line with one."""
    known = {name for example in train for name in (example.label, *example.tags) if isinstance(name, str)}
    for example in dev:
        for name in (example.label, *example.tags):
            if isinstance(name, str) and name not in known:
                has = ", ".join(sorted(known)[:12]) or "none"
                raise UserError(
                    f"{example.source} line {example.line} has the label {name!r}, "
                    f"which the training data lacks; it has: {has}"
                )
