"""Examples of a task as a source of batches: tokens, segments and targets in flat arrays.

Letters: S samples, N tokens of all of them, B sequences of a batch, M predicted tokens. Special tokens are part of
the arrays, so a batch is one gather; the order of samples is the order of the examples, and no epoch changes their
content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from psitext.config import Config
from psitext.errors import UserError
from psitext.text.batches import Batch, Ints, lay_out, packed, padded, within
from psitext.text.examples import IGNORED, Example, Task
from psitext.text.tokenizer import Ids, Tokenizer


class TextConfig(Config):
    """How texts become rows."""

    max_len: int = Field(default=128, ge=8)  # tokens of a sequence, [CLS] and [SEP] included; longer ones are cut
    layout: Literal["packed", "padded"] = (
        "padded"  # with length grouping little is padded, and no row attends across sequences
    )
    row: int = Field(default=128, ge=8)  # width of packed rows
    keep: Literal["first", "last"] = "first"  # which end of a text that is too long
    unknown: Literal["keep", "drop"] = (
        "keep"  # words that the tokenizer does not know: [UNK], or left out before the cut
    )


@dataclass(frozen=True)
class SupervisedSource:
    """Encoded examples; implements ``batches.Source``."""

    tokenizer: Tokenizer
    config: TextConfig
    ids: npt.NDArray[np.int32]  # (N,)
    offsets: Ints  # (S + 1,) where each sample begins
    first: Ints  # (S,) tokens that belong to the first text, [CLS] and its [SEP] included
    cut: npt.NDArray[np.bool_]  # (S,) True where the length limit took tokens away
    label: npt.NDArray[np.generic] | None = None  # (S,) int64 classes or float32 scores
    tags: Ints | None = None  # (N,) tag of every token, IGNORED where none is asked for
    span: Ints | None = None  # (S, 2) first and last answer token within the sequence, IGNORED where it was cut off
    characters: list[npt.NDArray[Any]] = field(default_factory=list)  # span: S x (n, 2) range of every passage token
    words: list[Ints] = field(default_factory=list)  # tagging: S x (m,) the words whose tags are asked for
    word_tags: list[Ints] = field(default_factory=list)  # tagging: S x (w,) the tags of all words

    @property
    def truncated(self) -> int:
        """How many samples were cut."""
        return int(self.cut.sum())

    def lengths(self, epoch: int = 0) -> Ints:
        """(S,) tokens of every sample."""
        return np.diff(self.offsets)

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        """The batch of these samples, packed or padded."""
        lengths = self.lengths()[samples]
        layout = packed(lengths, self.config.row) if self.config.layout == "packed" else padded(lengths)
        place = within(lengths)
        at = place + np.repeat(self.offsets[samples], lengths)
        segments = (place >= np.repeat(self.first[samples], lengths)).astype(np.int64)
        targets: dict[str, npt.NDArray[np.generic]] = {}
        if self.label is not None:
            targets["label"] = self.label[samples]
        if self.span is not None:
            targets["span"] = self.span[samples]
        if self.tags is not None:
            tags = self.tags[at]
            asked = tags != IGNORED
            targets["token_at"], targets["token_label"] = layout.flat[asked], tags[asked]
        ids = self.ids[at].astype(np.int64)
        return lay_out(ids, segments, layout, samples, pad=self.tokenizer.pad, targets=targets)


def encode_examples(
    examples: Sequence[Example],
    task: Task,
    tokenizer: Tokenizer,
    config: TextConfig,
    *,
    labelled: bool = True,
) -> SupervisedSource:
    """Tokenise a task's examples; ``labelled`` False leaves the targets out (prediction).

    Pairs are cut longest first, so neither text vanishes; an answer's question is never cut before its passage.
    Errors: a label that the task does not know, a text and limit that leave no room.
    """
    if not examples:
        raise UserError("there are no examples to encode")
    if task.kind == "tagging":
        return _tagged(examples, task, tokenizer, config, labelled)
    if task.kind == "span":
        return _spans(examples, tokenizer, config, labelled)
    pieces = _pieces(examples, tokenizer, config.unknown)
    kept = [shortened(a, b, config.max_len, config.keep) for a, b in pieces]
    cut = [len(a) + len(b) > len(x) + len(y) for (a, b), (x, y) in zip(pieces, kept, strict=True)]
    label = _labels(examples, task) if labelled else None
    return _source(tokenizer, config, kept, cut, label=label)


def shortened(a: Ids, b: Ids, max_len: int, keep: Literal["first", "last"] = "first") -> tuple[Ids, Ids]:
    """Cut a text or pair to fit ``max_len`` with its special tokens, always the longer one, at the end that is not to
    be kept.
    """
    room = max_len - (3 if len(b) else 2)
    if len(a) + len(b) <= room:
        return a, b
    # Equal to dropping one token of the longer text at a time, the second one's on a tie.
    of_a = room if not len(b) else min(len(a), max(room - len(b), (room + 1) // 2))
    if keep == "first":
        return a[:of_a], b[: room - of_a]
    return a[len(a) - of_a :], b[max(len(b) - (room - of_a), 0) :]


def _pieces(
    examples: Sequence[Example], tokenizer: Tokenizer, unknown: Literal["keep", "drop"]
) -> list[tuple[Ids, Ids]]:
    def encoded(texts: list[str]) -> list[Ids]:
        found = tokenizer.encode(texts)
        return found if unknown == "keep" else [ids[ids != tokenizer.unk] for ids in found]

    empty = np.empty(0, dtype=np.int32)
    first = encoded([example.text for example in examples])
    if all(example.pair is None for example in examples):
        return [(a, empty) for a in first]
    second = encoded([example.pair or "" for example in examples])
    return list(zip(first, second, strict=True))


def _source(
    tokenizer: Tokenizer,
    config: TextConfig,
    kept: Sequence[tuple[Ids, Ids]],
    cut: Sequence[bool],
    **targets: object,
) -> SupervisedSource:
    """Lay [CLS] a [SEP] or [CLS] a [SEP] b [SEP] end to end (chapter 15.8.4)."""
    cls, sep = np.asarray([tokenizer.cls], dtype=np.int32), np.asarray([tokenizer.sep], dtype=np.int32)
    parts: list[Ids] = []
    lengths, first = np.empty(len(kept), dtype=np.int64), np.empty(len(kept), dtype=np.int64)
    for index, (a, b) in enumerate(kept):
        parts += [cls, a, sep, b, sep] if len(b) else [cls, a, sep]
        first[index] = len(a) + 2
        lengths[index] = first[index] + (len(b) + 1 if len(b) else 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.concatenate(parts).astype(np.int32)
    return SupervisedSource(tokenizer, config, ids, offsets, first, np.asarray(cut), **targets)  # type: ignore[arg-type]


def _labels(examples: Sequence[Example], task: Task) -> npt.NDArray[np.generic]:
    if task.kind == "regression":
        return np.asarray(
            [_known(example, isinstance(example.label, float | int)).label for example in examples],
            dtype=np.float32,
        )
    index = {name: number for number, name in enumerate(task.labels)}
    return np.asarray(
        [index[str(_known(example, example.label in index).label)] for example in examples], dtype=np.int64
    )


def _known(example: Example, good: bool) -> Example:
    if not good:
        raise UserError(
            f"{example.source}, line {example.line}: the label {example.label!r} is none that this task knows"
        )
    return example


def _tagged(
    examples: Sequence[Example], task: Task, tokenizer: Tokenizer, config: TextConfig, labelled: bool
) -> SupervisedSource:
    """A tag for every word, asked for at the word's first piece (Devlin et al. 2019, 5.3).

    A word that the limit cut off, or that has no piece at all, is not asked for.
    """
    index = {name: number for number, name in enumerate(task.labels)}
    empty, room = np.empty(0, dtype=np.int32), config.max_len - 2
    kept, cut, tags, words, word_tags = [], [], [], [], []
    for example in examples:
        ids, word = tokenizer.encode_words(example.words)
        cut.append(len(ids) > room)
        ids, word = ids[:room], word[:room]
        head = np.diff(word, prepend=-1) != 0
        given = [_tag(example, tag, index) for tag in example.tags] if labelled else [0] * len(example.words)
        numbers = np.asarray(given, dtype=np.int64)
        kept.append((ids, empty))
        tags.append(np.concatenate([[IGNORED], np.where(head, numbers[word], IGNORED), [IGNORED]]))
        words.append(word[head])
        word_tags.append(numbers)
    flat = np.concatenate(tags).astype(np.int64)
    return _source(tokenizer, config, kept, cut, tags=flat, words=words, word_tags=word_tags if labelled else [])


def _tag(example: Example, tag: str, index: dict[str, int]) -> int:
    if tag not in index:
        raise UserError(f"{example.source}, line {example.line}: the tag {tag!r} is none that this task knows")
    return index[tag]


def _spans(examples: Sequence[Example], tokenizer: Tokenizer, config: TextConfig, labelled: bool) -> SupervisedSource:
    """Question and passage; the answer's characters become tokens of the sequence."""
    questions = tokenizer.encode([example.text for example in examples])
    passages = tokenizer.encode_offsets([example.pair or "" for example in examples])
    kept, spans, characters, cut = [], [], [], []
    for example, whole, (ids, ranges) in zip(examples, questions, passages, strict=True):
        question = whole[: config.max_len // 2]
        room = config.max_len - 3 - len(question)
        cut.append(len(question) < len(whole) or len(ids) > room)
        kept.append((question, ids[:room]))
        characters.append(ranges[:room])
        if labelled:
            spans.append(_token_span(example, ranges[:room], len(question) + 2))
    span = np.asarray(spans, dtype=np.int64) if labelled else None
    return _source(tokenizer, config, kept, cut, span=span, characters=characters)


def _token_span(example: Example, ranges: npt.NDArray[Any], shift: int) -> tuple[int, int]:
    """First and last token that touch the answer's characters, or IGNORED when truncation cut them off."""
    if example.answer is None:
        raise UserError(f"{example.source}, line {example.line}: a question without an answer range")
    begin, end = example.answer
    touched = np.flatnonzero((ranges[:, 1] > begin) & (ranges[:, 0] < end))
    if not len(touched) or ranges[-1, 1] < end:
        return IGNORED, IGNORED
    return int(touched[0]) + shift, int(touched[-1]) + shift
