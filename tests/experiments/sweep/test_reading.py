"""Rows as word numbers: the padding in front, unknown words, which end is kept, how rows are split."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import toys
from psitext.errors import UserError
from psitext.experiments.sweep.protocol import Protocol
from psitext.experiments.sweep.reading import read


def words_of(data, row: int) -> list[str]:  # type: ignore[no-untyped-def]
    return [data.vocabulary[at] for at in data.train.ids[row].tolist() if at]


def test_law_rows_are_split_once_and_padded_in_front(protocol: Protocol) -> None:
    data = read(protocol, None)
    assert (len(data.train), len(data.test)) == (128, 32)
    assert data.train.ids.shape == (128, 8)
    there = data.train.ids > 0
    assert torch.equal(there, there.cummax(1).values), "no padding behind a word"
    assert torch.equal(read(protocol, None).train.ids, data.train.ids)
    other = read(protocol.model_copy(update={"seed": 1}), None)
    assert not torch.equal(other.train.label, data.train.label)
    assert data.law.sum() == pytest.approx(1.0)
    assert int(data.train.ids.max()) < data.words == len(data.vocabulary)
    assert not (data.train.ids == 1).any(), "unknown words are dropped"


def test_known_which_words_are_kept(protocol: Protocol) -> None:
    short = protocol.model_copy(update={"steps": 2})
    first, last = (read(short.model_copy(update={"keep": keep}), None) for keep in ("first", "last"))
    whole = read(protocol.model_copy(update={"steps": 40}), None)
    for row in range(20):
        words = words_of(whole, row)
        assert words_of(first, row) == words[:2]
        assert words_of(last, row) == words[-2:]


def test_known_unknown_words_may_be_kept(protocol: Protocol) -> None:
    data = read(protocol.model_copy(update={"vocabulary": 5, "unknown": "keep"}), None)
    assert (data.train.ids == 1).any()
    assert data.words == 7 and data.vocabulary[:2] == ("", "[UNK]")


def test_known_what_is_no_task_for_a_sweep(protocol: Protocol, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a sweep takes a task of two classes, and stsb is none"):
        read(protocol.model_copy(update={"task": "stsb"}), None)
    assert toys.task_file(tmp_path, "sentiment")
