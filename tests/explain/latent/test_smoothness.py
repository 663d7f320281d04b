"""How evenly sentences change along a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.explain.latent.smoothness import Smoothness, overlap, smoothness

SENTENCES = st.lists(st.lists(st.sampled_from("a b c d".split())).map(" ".join), min_size=2, max_size=8)


def test_known_overlaps() -> None:
    assert overlap("a girl runs", "a girl sits") == pytest.approx(2 / 3)
    assert overlap("a a b", "a b b b") == pytest.approx(4 / 7)
    assert overlap("a", "b") == 0 and overlap("", "b") == 0 and overlap("", " ") == 1


def test_known_paths() -> None:
    even = smoothness(["a b c d", "a b c x", "a b y x", "a z y x", "w z y x"])
    assert even == Smoothness(steps=4, distinct=5, repeated=0.0, overlap=0.75, largest=0.25)
    jump = smoothness(["a b", "a b", "c d", "c d"])
    assert jump == Smoothness(steps=3, distinct=2, repeated=2 / 3, overlap=2 / 3, largest=1.0)
    assert smoothness(["a", "a"]) == Smoothness(1, 1, 1.0, 1.0, 0.0)
    assert jump.record()["repeated"] == 2 / 3
    with pytest.raises(ValueError, match="two sentences"):
        smoothness(["a"])


@given(SENTENCES)
def test_law_a_path_back_is_as_even(sentences: list[str]) -> None:
    there, back = smoothness(sentences), smoothness(sentences[::-1])
    assert there.record() == pytest.approx(back.record())
    assert there.steps == len(sentences) - 1 and 0 <= there.overlap <= 1
    assert there.largest == 0 or 1 / there.steps - 1e-12 <= there.largest <= 1
    assert (there.largest == 0) == (there.overlap == 1)
