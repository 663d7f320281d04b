"""Words in time: which vectors are looked up, and what fills a short text."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext.encoders.words import Words, WordsConfig

SHAPE = WordsConfig(vocab_size=tiny.VOCAB, features=3, max_len=8)
LENGTHS = [8, 5, 2]


@pytest.mark.parametrize("row", [None, 20])
def test_known_words_without_marks(row: int | None) -> None:
    batch = tiny.batch(LENGTHS, row=row)
    words = Words(SHAPE)
    x, count = words(batch)
    assert x.shape == (6, 3, 3)
    assert count is not None and count.tolist() == [6, 3, 0]
    rows, _ = batch.sequences(batch.ids)
    assert_close(x[:, 0], words.token(rows[0, 1:7]))
    assert_close(x[:3, 1], words.token(rows[1, 1:4]))


def test_known_fillers_stand_in_front() -> None:
    batch = tiny.batch(LENGTHS)
    rows, _ = batch.sequences(batch.ids)
    zero, word = (Words(SHAPE.model_copy(update={"pad": pad})) for pad in ("zero", "word"))
    for words, filler in ((zero, torch.zeros(3)), (word, word.filler)):
        x, count = words(batch)
        assert count is None and x.shape == (6, 3, 3)
        assert_close(x[:3, 1], filler.expand(3, 3))
        assert_close(x[3:, 1], words.token(rows[1, 1:4]))
        assert_close(x[:, 2], filler.expand(6, 3))


def test_law_frozen_words_get_no_gradient() -> None:
    frozen = Words(SHAPE.model_copy(update={"words": "frozen", "pad": "word"}))
    assert [p for p in frozen.parameters() if p.requires_grad] == []


@pytest.mark.parametrize("spread", [0.05, 0.002])
def test_known_how_far_new_vectors_lie_from_zero(spread: float) -> None:
    words = Words(SHAPE.model_copy(update={"spread": spread, "pad": "word"}))
    assert 0.8 * spread < words.token.weight.abs().max() <= spread
    assert words.filler is not None and words.filler.abs().max() <= spread
