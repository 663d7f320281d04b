"""A word's static embedding is one vector wherever it stands; its states in context need not be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from psitext.errors import UserError
from psitext.explain.similarity import TokenVectors, cosines, word_similarity


def pieces(text: str, size: int = 3) -> list[tuple[int, int]]:
    """Cut at spaces, then into pieces of ``size`` characters: character ranges."""
    found, start = [], 0
    for word in text.split(" "):
        found += [(start + i, start + min(i + size, len(word))) for i in range(0, len(word), size)]
        start += len(word) + 1
    return found


def static(piece: str) -> np.ndarray:
    return np.random.default_rng(sum(map(ord, piece.lower()))).normal(size=5)


def encode(sentences: Sequence[str]) -> list[TokenVectors]:
    """A toy encoder: what a token becomes in context is its own vector plus half of the whole sentence."""
    result = []
    for sentence in sentences:
        offsets = pieces(sentence)
        own = np.stack([static(sentence[start:end]) for start, end in offsets])
        result.append(TokenVectors(np.array(offsets), own, own + 0.5 * own.sum(0)))
    return result


def test_law_the_static_vector_does_not_know_its_context() -> None:
    sentences = ["a crane is flying", "a crane driver came", "Crane"]
    found = word_similarity("crane", sentences, encode)
    assert np.allclose(found.static, 1)
    assert np.allclose(np.diag(found.contextual), 1)
    others = found.contextual[~np.eye(3, dtype=bool)]
    assert others.max() < 0.99
    assert np.array_equal(found.contextual, found.contextual.T)
    assert (found.word, found.sentences) == ("crane", tuple(sentences))


def test_known_table_has_a_row_for_every_two_sentences() -> None:
    sentences = ["a bank", "the bank of a river", "bank on it"]
    found = word_similarity("bank", sentences, encode)
    assert [(row.first, row.second) for row in found.table()] == [
        (sentences[0], sentences[1]),
        (sentences[0], sentences[2]),
        (sentences[1], sentences[2]),
    ]
    assert found.table()[1].static == found.static[0, 2]
    assert found.table()[2].contextual == found.contextual[1, 2]


def test_known_a_word_is_the_mean_of_its_tokens() -> None:
    found = word_similarity("crane", ["crane", "a crane", "one crane"], encode)
    vectors = np.stack([np.mean([static("cra"), static("ne")], 0)] * 3)
    assert np.allclose(found.static, cosines(vectors))
    first = static("cra") + static("ne")
    alone = first / 2 + first / 2
    beside = first / 2 + (first + static("a")) / 2
    cosine = alone @ beside / np.linalg.norm(alone) / np.linalg.norm(beside)
    assert found.contextual[0, 1] == pytest.approx(cosine)


def test_known_a_word_that_the_vocabulary_lacks() -> None:
    def unknowing(sentences: Sequence[str]) -> list[TokenVectors]:
        return [TokenVectors(t.offsets, t.static, t.contextual, t.offsets[:, 0] == 0) for t in encode(sentences)]

    assert word_similarity("crane", ["crane a", "a crane"], unknowing).unknown
    assert not word_similarity("crane", ["one crane", "a crane"], unknowing).unknown
    assert not word_similarity("crane", ["crane a", "a crane"], encode).unknown


@pytest.mark.parametrize(
    ("word", "sentence", "span"),
    [
        ("crane", "A Crane, flying", (2, 7)),
        ("crane", "cranes and a crane", (13, 18)),
        ("c++", "about c++ and c", (6, 9)),
        ("ice cream", "some ice cream", (5, 14)),
        ("銀行", "彼は銀行で働く", (2, 4)),
        ("はし", "このはしを", (2, 4)),
    ],
)
def test_known_places(word: str, sentence: str, span: tuple[int, int]) -> None:
    seen: list[np.ndarray] = []

    def one_token_a_character(sentences: Sequence[str]) -> list[TokenVectors]:
        result = []
        for text in sentences:
            at = np.arange(len(text))
            result.append(TokenVectors(np.stack([at, at + 1], 1), np.eye(len(text)), np.eye(len(text))))
            seen.append(at)
        return result

    found = word_similarity(word, [sentence, sentence], one_token_a_character)
    assert np.allclose(found.contextual, 1)
    inside = np.zeros(len(sentence))
    inside[slice(*span)] = 1 / (span[1] - span[0])

    def marked(sentences: Sequence[str]) -> list[TokenVectors]:
        first, second = one_token_a_character(sentences)
        ruler = np.stack([inside] * len(sentence))  # every token of the second is the place that is right
        return [first, TokenVectors(second.offsets, second.static, ruler)]

    assert word_similarity(word, [sentence, sentence], marked).contextual[0, 1] == pytest.approx(1)


def test_known_what_is_refused() -> None:
    with pytest.raises(UserError, match="the word 'crane' does not occur in the sentence 'a car'"):
        word_similarity("crane", ["a crane", "a car"], encode)
    with pytest.raises(UserError, match="'bank' does not occur in the sentence 'a bankrupt'"):
        word_similarity("bank", ["a bank", "a bankrupt"], encode)
    with pytest.raises(UserError, match="takes two of them at least, not 1"):
        word_similarity("crane", ["a crane"], encode)
    with pytest.raises(UserError, match="the word to compare is empty"):
        word_similarity(" ", ["a b", "c d"], encode)

    def short(sentences: Sequence[str]) -> list[TokenVectors]:
        return [TokenVectors(t.offsets, t.static, t.contextual[:3]) for t in encode(sentences)]

    for sentence in ("it was the crane", "it is crane"):  # not read at all, and only its first half
        with pytest.raises(UserError, match=f"does not read '{sentence}' as far as 'crane'"):
            word_similarity("crane", ["a crane", sentence], short)


@given(arrays.arrays(np.float64, (4, 3), elements=st.floats(-100, 100)))
def test_law_cosines_are_cosines(vectors: np.ndarray) -> None:
    found = cosines(vectors)
    assert (np.abs(found) <= 1).all()
    sizes = np.sqrt((vectors**2).sum(1))
    for i in range(4):
        for j in range(4):
            expected = vectors[i] @ vectors[j] / (sizes[i] * sizes[j]) if sizes[i] * sizes[j] > 0 else 0
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_known_complex_vectors_compare_by_their_parts_side_by_side() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(3, 4)) + 1j * random.normal(size=(3, 4))
    assert np.allclose(cosines(vectors), cosines(np.concatenate([vectors.real, vectors.imag], 1)))
    single = cosines(vectors.astype(np.complex64))
    assert single.dtype == np.float64 and np.allclose(single, cosines(vectors), atol=1e-6)
