"""BLEU against nltk's own, and what must hold of it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from psitext.errors import UserError
from psitext.randomness import below
from psitext.score.text import References, bleu, distinct, g_score, self_bleu

SENTENCE = st.lists(st.sampled_from("abcde"), max_size=9)
SMOOTHINGS = ("method1", "method2", "method3")


def theirs(references: list[list[str]], words: list[str], order: int, smoothing: str) -> float:
    smooth = getattr(SmoothingFunction(), smoothing)
    return float(sentence_bleu(references, words, (1 / order,) * order, smooth))


def drawn(seed: int, count: int, words: int = 12) -> list[list[str]]:
    sizes = below(9, seed, "sizes", list(range(count)))
    return [[f"w{word}" for word in below(words, seed, "words", row, list(range(size + 1)))]
            for row, size in enumerate(sizes)]  # fmt: skip


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 3, 4])
def test_parity_every_sentence_has_the_bleu_that_nltk_gives_it(order: int, smoothing: str) -> None:
    references, sentences = drawn(1, 60), drawn(2, 40)
    found = bleu(sentences, References.of(references, order), smoothing)  # type: ignore[arg-type]
    assert found == pytest.approx([theirs(references, one, order, smoothing) for one in sentences], abs=1e-12)
    assert len(set(found)) > order


def test_parity_self_bleu_leaves_the_sentence_itself_out() -> None:
    sentences = [*drawn(3, 40, words=9), ["w1", "w1", "w1"], ["w1", "w1", "w1"], [f"w{n % 9}" for n in range(30)]]
    found = self_bleu(sentences)
    wanted = [theirs(sentences[:at] + sentences[at + 1 :], one, 3, "method1") for at, one in enumerate(sentences)]
    assert found == pytest.approx(wanted, abs=1e-12)


@given(st.lists(SENTENCE, min_size=1, max_size=5), SENTENCE)
def test_parity_with_whatever_is_short_repeated_or_empty(references: list[list[str]], words: list[str]) -> None:
    (found,) = bleu([words], References.of(references))
    assert found == pytest.approx(theirs(references, words, 3, "method1") if words else 0.0, abs=1e-12)


@given(st.lists(SENTENCE, min_size=1, max_size=5), SENTENCE)
def test_law_more_references_match_no_less_and_a_copy_has_all(references: list[list[str]], words: list[str]) -> None:
    if len(words) < 3:
        return
    (alone,) = bleu([words], References.of([words]))
    (among,) = bleu([words], References.of([*references, words]))
    assert alone == pytest.approx(1) and among == pytest.approx(1)


def test_law_equal_sentences_are_as_alike_as_can_be() -> None:
    assert self_bleu([["a", "b", "c"]] * 4) == pytest.approx([1.0] * 4)
    assert self_bleu([["a", "b", "c"], ["d", "e", "f"]]) == [0.0, 0.0]


def test_known_bad_input() -> None:
    with pytest.raises(UserError, match="there is none"):
        References.of([])
    with pytest.raises(UserError, match="two or more, not 1"):
        self_bleu([["a"]])


def test_known_words_where_nltk_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.translate", None)
    with pytest.raises(UserError, match=r"psitext\[text\]"):
        bleu([["a"]], References.of([["a"]]))


def test_known_table_6() -> None:
    rows = [(0.878, 0.389, 0.584), (0.967, 0.201, 0.441), (0.553, 0.198, 0.331), (0.998, 0.398, 0.630)]
    assert [round(g_score(accuracy, score), 3) for accuracy, score, _ in rows] == [row[2] for row in rows]
    with pytest.raises(ValueError, match="shares"):
        g_score(1.2, 0.5)


def test_known_distinct() -> None:
    sentences = ["a b a".split(), "a b c".split(), ["a"]]
    assert (distinct(sentences), distinct(sentences, 2), distinct([["a"]], 2)) == (3 / 7, 3 / 4, 0.0)
