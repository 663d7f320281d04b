"""Turns as tokens: who said what, what is cut, what is left out."""

from __future__ import annotations

import pytest

import talks
from psitext.errors import UserError
from psitext.text.dialogs import DialogsConfig, Turn, contexts, gather_turns

CONTEXT = ("where is my hat ?", "my hat is here .", "no .")


def row(number: int, context_len: int) -> tuple[list[str], list[int], int]:
    found = contexts([CONTEXT[:2], CONTEXT], talks.reader(), context_len)
    first, last = found.rows.offsets[number : number + 2].tolist()
    tokens = talks.reader().tokens(found.rows.ids[first:last].tolist())
    return tokens, found.segments[first:last].tolist(), int(found.cut[number])


def test_known_rows_tell_who_said_what() -> None:
    """Segment 1 is the speaker of the last utterance, 0 the one who answers."""
    tokens, segments, cut = row(1, 24)
    words = "[CLS] where is my hat ? [SEP] my hat is here . [SEP] no . [SEP]".split()
    assert tokens == words
    assert segments == [0] + [1] * 6 + [0] * 6 + [1] * 3
    assert cut == 0
    tokens, segments, _ = row(0, 24)
    assert tokens == words[:13]
    assert segments == [0] + [0] * 6 + [1] * 6


def test_law_what_is_oldest_is_cut() -> None:
    whole, segments, _ = row(1, 24)
    for size in range(3, 16):
        tokens, speakers, cut = row(1, size)
        assert tokens == ["[CLS]", *whole[len(whole) - size + 1 :]]
        assert speakers == [0, *segments[len(whole) - size + 1 :]]
        assert cut == len(whole) - size


def test_known_counts_of_what_is_left_out() -> None:
    stream = [
        Turn(("no .",), "no ."), Turn(("no .",), " "), Turn(("no .",), "the cat is here ."), Turn(("no .",), "no " * 70)
    ]  # fmt: skip
    found = gather_turns(stream, talks.reader(), talks.writer(), DialogsConfig(context_len=9, max_tokens=4))
    counts = found.responses.counts
    assert (counts.read, counts.kept, counts.empty, counts.many_words, counts.many_tokens) == (4, 1, 1, 1, 1)
    assert found.turns == (stream[0],) and found.responses.texts == ("no .",)
    assert len(gather_turns(stream * 3, talks.reader(), talks.writer(), DialogsConfig(limit=2)).turns) == 2
    with pytest.raises(UserError, match="no response is left"):
        gather_turns(stream[1:2], talks.reader(), talks.writer(), DialogsConfig())
    with pytest.raises(ValueError, match="at least one"):
        contexts([()], talks.reader(), 9)
