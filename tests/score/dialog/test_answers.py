"""Recall, precision and F1 of several answers; BLEU with the seventh smoothing."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.score.dialog.answers import bleu, distinct_within, relevance, table

WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=9)


def seventh(reference: list[str], answer: list[str]) -> float:
    """Chen and Cherry's fourth smoothing (K = 5), then their fifth, of one to three words, as nltk has them."""

    def runs(words: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))

    def share(n: int) -> tuple[int, int]:
        own, theirs = runs(answer, n), runs(reference, n)
        return sum(min(count, theirs[run]) for run, count in own.items()), max(sum(own.values()), 1)

    if share(1)[0] == 0:
        return 0.0
    precisions, zeros = [], 0
    for n in (1, 2, 3):
        hits, count = share(n)
        value = hits / count
        if hits == 0 and len(answer) > 1:
            zeros += 1
            value = 1 / (2**zeros * 5 / math.log(len(answer))) / count
        precisions.append(value)
    hits, count = share(5)  # nltk looks at five words there, where four would come next
    following, before, smooth = [*precisions[1:], hits / count], precisions[0] + 1, []
    for value, after in zip(precisions, following, strict=True):
        before = (before + value + after) / 3
        smooth.append(before)
    penalty = 1.0 if len(answer) > len(reference) else math.exp(1 - len(reference) / len(answer))
    return penalty * math.exp(sum(math.log(value) for value in smooth) / 3)


@given(WORDS, WORDS)
def test_parity_bleu_with_its_definition(reference: list[str], answer: list[str]) -> None:
    pytest.importorskip("nltk")
    assert bleu(reference, answer) == pytest.approx(seventh(reference, answer), abs=1e-12)


def test_known_bleu_at_the_ends() -> None:
    pytest.importorskip("nltk")
    same = list("abcdef")
    assert bleu(same, same) > bleu(same, list("abcdxx")) > bleu(same, list("axxxxx")) > bleu(same, list("xyz")) == 0
    assert bleu(same, []) == bleu([], same) == 0


def test_known_harmonic_means_of_the_papers_table_4() -> None:
    rows = {"Seq2Seq": (0.232, 0.232, 0.232), "CVAE": (0.265, 0.222, 0.242), "Optimus": (0.362, 0.313, 0.336)}
    for recall, precision, f1 in rows.values():
        found = relevance(np.array([[recall, 2 * precision - recall]]))
        assert found["recall"] == pytest.approx(recall) and found["precision"] == pytest.approx(precision)
        assert found["f1"] == pytest.approx(f1, abs=6e-4)
    assert relevance(np.zeros((2, 3))) == {"recall": 0, "precision": 0, "f1": 0}


def test_law_more_answers_raise_recall_and_the_same_answer_ten_times_is_one() -> None:
    random = np.random.default_rng(0).random((20, 10))
    recalls = [relevance(random[:, :count])["recall"] for count in range(1, 11)]
    assert recalls == sorted(recalls)
    one = relevance(np.repeat(random[:, :1], 10, axis=1))
    assert one["recall"] == pytest.approx(one["precision"]) == pytest.approx(one["f1"])


def test_known_table_of_similarities() -> None:
    def overlap(reference: object, answer: object) -> float:
        return float(len(set(reference) & set(answer)))  # type: ignore[call-overload]

    found = table(["a b", "c"], [["a", "a b", "a"], ["c d", "", "e"]], str.split, overlap)
    assert found.tolist() == [[1, 2, 1], [1, 0, 0]]


def test_known_distinct_runs() -> None:
    same, other = ["a b c"] * 4, ["a b", "b c", "c d", "d e"]
    assert distinct_within([same], str.split) == pytest.approx(1 / 4)
    assert distinct_within([other], str.split) == 1.0
    assert distinct_within([same, other], str.split) == pytest.approx(5 / 8)
