"""What may be typed: one sentence for everything that may not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.studio import bounds


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "type a sentence at least"),
        (" \n\t\n", "type a sentence at least"),
        ("a\n" * 9, "there are 9 sentences; at most 8"),
        ("fine\n" + "a" * 1_001, "sentence 2 has 1,001 characters; at most 1,000"),
        ("half \ud83d", "half a surrogate pair"),
    ],
)
def test_law_sentences_beyond_the_bounds_are_refused(text: str | None, word: str) -> None:
    with pytest.raises(UserError, match=word):
        bounds.sentences(text)


def test_known_sentences_are_lines_without_the_white_space_around_them() -> None:
    assert bounds.sentences("  one \n\n two\r\n") == ["one", "two"]
    # The ends of lines are those of files; other separators are part of their sentence.
    assert bounds.sentences("one\u2028two\x0cthree\rfour") == ["one\u2028two\x0cthree", "four"]
    with pytest.raises(UserError, match="type 2 sentences"):
        bounds.sentences("one", least=2)


@given(st.text(st.characters(), max_size=60))
def test_law_what_passes_is_within_the_bounds(text: str) -> None:
    try:
        found = bounds.sentences(text)
    except UserError:
        return
    assert 1 <= len(found) <= bounds.SENTENCES
    assert all(one.strip() == one and one and one.encode() for one in found)


@pytest.mark.parametrize("given", [3, ["a"], {"a": 1}, True])
def test_law_what_is_no_text_is_refused(given: object) -> None:
    with pytest.raises(UserError, match="must be a text, not a "):
        bounds.sentences(given)


@pytest.mark.parametrize("given", [None, "path", {}, {"path": None}, {"path": 3}])
def test_law_what_is_no_file_is_refused(given: object) -> None:
    with pytest.raises(UserError, match=r"no file to read: choose one of \.txt, .*\.jsonl with at most 2 MB"):
        bounds.uploaded(given)


def test_known_sizes_are_said_in_one_unit() -> None:
    assert bounds.size(bounds.FILE_BYTES) == "2 MB"
    assert bounds.size(bounds.FILE_BYTES + 1) == "2.01 MB"
    assert bounds.size(1) == "0.01 MB"


@pytest.mark.parametrize("value", [None, "2", [2], math.nan, math.inf, -math.inf, 0, 4, 1.5])
def test_law_numbers_are_whole_and_inside(value: object) -> None:
    with pytest.raises(UserError, match="the count is a "):
        bounds.integer(value, 1, 3, "the count")
    assert bounds.integer(3.0, 1, 3, "the count") == 3
