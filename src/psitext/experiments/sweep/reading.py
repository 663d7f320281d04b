"""The rows of a sweep: texts of a task as one table of word numbers, all of one length.

Letters: M rows, T words, N the vocabulary. Number 0 is the padding in front of a short text; 1 to N are words.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.experiments.finetune import texts_of
from psitext.experiments.sweep.protocol import Protocol
from psitext.randomness import generator
from psitext.text.examples import Example, Task
from psitext.text.supervised import TextConfig, encode_examples
from psitext.text.tasks import load_task, read_split
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer import train as train_tokenizer
from psitext.text.tokenizer.rules import SPECIAL

MARKS = 2  # [CLS] and [SEP], which frame a text
MARKED = len(SPECIAL)  # numbers of a tokenizer that are no words; here 0 is the padding and 1 an unknown word


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of word numbers with their classes."""

    ids: Tensor  # (M, T) int64
    label: Tensor  # (M,) float32, 0 or 1

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What a protocol trains and tests on."""

    train: Table
    test: Table
    words: int  # N + 1, padding included
    law: Tensor  # (N + 1,) how often each number occurs in the training rows, sum 1
    vocabulary: tuple[str, ...]  # the word of each number; "" of the padding

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its rows, 16 hexadecimal digits."""
        digest = sha256("\n".join(self.vocabulary).encode())
        for table in (self.train, self.test):
            digest.update(table.ids.numpy().tobytes() + table.label.numpy().tobytes())
        return digest.hexdigest()[:16]


def read(protocol: Protocol, folder: Path | None) -> Data:
    """The rows of a protocol's task. Errors: a task that is no two-class one, a vocabulary without any word."""
    task = load_task(protocol.task)
    if task.kind != "classification" or len(task.labels) != 2:
        raise UserError(f"a sweep takes a task of two classes, and {protocol.task} is none")
    train, test = _rows(protocol, task, folder)
    if not train or not test:
        count = len(train) + len(test)
        raise UserError(
            f"{count} rows of {protocol.task} leave none to {'test' if train else 'train'} on; see share and rows"
        )
    tokenizer = train_tokenizer(protocol.tokens, texts_of(train), protocol.vocabulary + MARKED)
    parts = [_table(rows, task, tokenizer, protocol) for rows in (train, test)]
    names = tokenizer.tokens(range(tokenizer.vocab_size))
    words = tokenizer.vocab_size - MARKED + 2  # the padding, and [UNK] where it is kept
    if words <= 2:
        raise UserError(f"the training rows of {protocol.task} hold no word to learn from")
    counts = torch.bincount(parts[0].ids.flatten(), minlength=words).double()
    return Data(parts[0], parts[1], words, counts / counts.sum(), ("", "[UNK]", *names[MARKED:]))


def _rows(protocol: Protocol, task: Task, folder: Path | None) -> tuple[list[Example], list[Example]]:
    """Rows to train on, and rows to test on."""
    splits = {name: read_split(task, name, folder).examples for name in _labelled(task)}
    rng = generator(protocol.seed, "sweep", "rows")
    if protocol.pooled:
        pool = [example for examples in splits.values() for example in examples]
        order = rng.permutation(len(pool))[: protocol.rows].tolist()
        cut = round(protocol.share * len(order))
        return [pool[at] for at in order[:cut]], [pool[at] for at in order[cut:]]
    test = "test" if "test" in splits else task.dev_splits[0]
    train = [example for name, examples in splits.items() if name != test for example in examples]
    order = rng.permutation(len(train))[: protocol.rows].tolist()
    return [train[at] for at in order], splits[test]


def _labelled(task: Task) -> list[str]:
    names = ("train", *task.dev_splits, *(() if task.hidden_test else ("test",)))
    return [name for name in names if name in task.files or name in task.carve]


def _table(examples: list[Example], task: Task, tokenizer: Tokenizer, protocol: Protocol) -> Table:
    text = TextConfig(max_len=max(protocol.steps + MARKS, 8), keep=protocol.keep, unknown=protocol.unknown)
    source = encode_examples(examples, task, tokenizer, text)
    assert source.label is not None
    shift = MARKED - 2  # numbers 0 and 1 are taken
    ids = torch.zeros(len(examples), protocol.steps, dtype=torch.int64)
    for row, (begin, end) in enumerate(zip(source.offsets[:-1], source.offsets[1:], strict=True)):
        words = torch.from_numpy(source.ids[begin + 1 : end - 1].astype("int64"))
        words = words[: protocol.steps] if protocol.keep == "first" else words[-protocol.steps :]
        ids[row, protocol.steps - len(words) :] = torch.where(words < MARKED, 1, words - shift)
    return Table(ids, torch.from_numpy(source.label).float())
