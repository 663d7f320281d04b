"""Labelled sentences in three parts that have no sentence in common: for what writes, for the judge, and held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psitext.errors import UserError
from psitext.randomness import bits
from psitext.text.examples import Example, Task
from psitext.text.tables import load_table
from psitext.text.tasks import load_split, load_task, read_split
from psitext.text.twofold.source import divide

SHARE = 0.4  # of the development split that is held out at most; the judge learns from the rest


@dataclass(frozen=True, slots=True)
class Parts:
    """The examples of each part."""

    task: Task
    train: list[Example]  # of what writes
    judge: list[Example]  # a classifier learns from these
    held_out: list[Example]  # it is tested on these, and they are the references of BLEU

    @property
    def labels(self) -> tuple[str, ...]:
        """In the order of the task."""
        return self.task.labels


def parts_of(name: str, data_dir: Path | None, held_out: int, limit: int | None = None) -> Parts:
    """A task's training split, and its development split in two; what stands in both splits stays in the first.

    ``held_out`` sentences are held out, or ``SHARE`` of the split where that is less; which ones depends on their texts
    alone, and copies stay together. Errors: a task without labels or without a development split.
    """
    task = load_task(name)
    if task.kind != "classification" or task.pair is not None:
        raise UserError(f"{name} is no task of single texts with labels, so there is no label to write by")
    if "dev" not in task.splits:
        raise UserError(f"{name} has no dev split, from which a judge could learn")
    train = filled(read_split(task, "train", data_dir, limit=limit).examples)
    known = {key(one.text) for one in filled(load_split(task, "train", data_dir))}  # a space has read all of it
    others = [example for example in filled(load_split(task, "dev", data_dir)) if key(example.text) not in known]
    chosen, rest = divide(tuple(key(one.text) for one in others), min(held_out, int(SHARE * len(others))))
    return Parts(task, train, [others[at] for at in rest], [others[at] for at in chosen])


def filled(examples: Sequence[Example]) -> list[Example]:
    """Those that have a word."""
    return [example for example in examples if example.text.strip()]


def key(text: str) -> str:
    """What makes two sentences the same: words, not case or spacing."""
    return " ".join(words(text))


def words(text: str) -> list[str]:
    """What BLEU compares: whatever stands between spaces, in lower case."""
    return text.lower().split()


@dataclass(frozen=True, slots=True)
class Given:
    """Sentences to learn labels from."""

    examples: list[Example]
    labels: tuple[str, ...]
    notes: tuple[str, ...]  # which of all that there are these are


def labelled(data: str | None, task: str | None, text: str, label: str, data_dir: Path | None, limit: int) -> Given:
    """At most ``limit`` sentences of a file or of a task's training split, and the labels that there are.

    Errors: those of their readers; scores in place of labels.
    """
    notes: tuple[str, ...] = ()
    if task is not None:
        known = load_task(task)
        split = read_split(known, "train", data_dir, limit=limit)
        examples, notes = split.examples, split.notes
    else:
        every, known = load_table(str(data), text=text, label=label)
        order = np.argsort(bits(0, "limit", np.arange(len(every))), kind="stable")[:limit]
        examples = [every[at] for at in np.sort(order)]
        if len(examples) < len(every):
            notes = (f"{limit:,} of {len(every):,} examples, drawn at random",)
    if known.kind != "classification" or known.pair is not None:
        raise UserError(f"{task or data} has no labels of single texts, so there is none to write by")
    found = filled(examples)
    if empty := len(examples) - len(found):
        notes = (*notes, f"{'1 of them is' if empty == 1 else f'{empty:,} of them are'} empty, and left out")
    return Given(found, known.labels, notes)
