"""baselines/bag_of_words.py: what it can read, what it cannot, and its numbers on real dev sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.baselines import bag_of_words
from psitext.baselines.majority import majority
from psitext.errors import UserError
from psitext.score.metrics import evaluate
from psitext.text.examples import Example
from psitext.text.tasks import TASKS, load_split

NOUNS = "film plot story cast ending music scene script".split()


def sentiment(count: int, seed: int) -> list[Example]:
    """Sentences of one telling word and noise, labelled by the telling word."""
    generator = np.random.default_rng(seed)
    examples = []
    for _ in range(count):
        positive = bool(generator.integers(2))
        word = generator.choice(["good", "fine", "great"] if positive else ["bad", "dull", "poor"])
        noun, other = generator.choice(NOUNS, 2)
        text = f"the {noun} with its {other} is {word}"
        examples.append(Example(text=text, label="positive" if positive else "negative"))
    return examples


def pairs(count: int, seed: int) -> list[Example]:
    """Pairs that say the same in another order, or nearly; words that training has not seen occur in test."""
    generator = np.random.default_rng(seed)
    examples = []
    for _ in range(count):
        words = [f"w{index}" for index in generator.integers(0, 3000, 6)]
        same = bool(generator.integers(2))
        other = generator.permutation(words if same else [*words[:3], "x", "y", "z"])
        examples.append(Example(" ".join(words), " ".join(other), label="same" if same else "other"))
    return examples


def share_right(model: bag_of_words.BagOfWords, examples: list[Example]) -> float:
    hits = [guess == example.label for guess, example in zip(model.predict(examples), examples, strict=True)]
    return sum(hits) / len(hits)


def test_known_reads_words() -> None:
    model = bag_of_words.fit(sentiment(200, seed=0))
    assert model.labels == ("negative", "positive")
    assert share_right(model, sentiment(100, seed=1)) == 1.0


def test_known_reads_overlap_of_pairs_with_words_it_never_saw() -> None:
    model = bag_of_words.fit(pairs(300, seed=0))
    assert share_right(model, pairs(200, seed=1)) > 0.97


def test_known_word_order_beyond_two_words_is_lost_on_it() -> None:
    """The same bag of words and neighbours under two labels: nothing but the floor is possible."""
    orders = {"first": "a b a c a", "second": "a c a b a"}  # equal word pairs: ab ba ac ca
    train = [Example(text=text, label=label) for label, text in orders.items() for _ in range(20)]
    model = bag_of_words.fit(train)
    probs = model.probs(train)
    np.testing.assert_allclose(probs, 0.5, atol=1e-6)


def test_known_scores_are_regressed_and_clipped() -> None:
    generator = np.random.default_rng(0)
    train = [
        Example(text=" ".join(generator.permutation(["yes"] * k + ["no"] * (5 - k))), label=float(k))
        for k in generator.integers(0, 6, 200)
    ]
    model = bag_of_words.fit(train)
    guesses = model.predict([Example(text="yes yes yes yes yes"), Example(text="no no no no no")])
    assert guesses[0] > 4.5
    assert guesses[1] < 0.5
    assert all(0 <= guess <= 5 for guess in model.predict([Example(text="yes " * 50), Example(text="")]))
    with pytest.raises(ValueError, match="no class probabilities"):
        model.probs(train)


def test_law_probs_follow_the_given_class_order_and_sum_to_one() -> None:
    order = ("unseen", "positive", "negative")
    train = sentiment(100, seed=0)
    model = bag_of_words.fit(train, order)
    probs = model.probs(train)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert (probs[:, 0] == 0).all()
    assert [order[index] for index in probs.argmax(axis=1)] == model.predict(train)
    two = bag_of_words.fit(train).probs(train)
    np.testing.assert_allclose(two, probs[:, [2, 1]], atol=1e-12)


def test_law_three_classes_and_repeatable() -> None:
    train = [Example(text=f"{word} {noun}", label=word) for word in "abc" for noun in NOUNS]
    first, second = bag_of_words.fit(train), bag_of_words.fit(train)
    np.testing.assert_array_equal(first.probs(train), second.probs(train))
    assert share_right(first, train) == 1.0


def test_known_one_class_is_answered_always() -> None:
    model = bag_of_words.fit([Example(text="a", label="x"), Example(text="b", label="x")])
    assert model.predict([Example(text="c")]) == ["x"]
    assert model.predict([]) == []


def test_known_empty_members_of_pairs_are_read() -> None:
    train = [*pairs(40, seed=0), Example(text="", pair="", label="same")]
    assert len(bag_of_words.fit(train).predict([Example(text="", pair=""), Example(text="a", pair=None)])) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It isn't BAD, is it?", ["it", "isn", "'", "t", "bad", ",", "is", "it", "?"]),
        ("鶴が飛ぶ。", ["鶴", "が", "飛", "ぶ", "。"]),
        ("BERTを使う", ["bert", "を", "使", "う"]),
        ("naïve café 3.5", ["naïve", "café", "3", ".", "5"]),
        ("", []),
    ],
)
def test_known_words(text: str, expected: list[str]) -> None:
    assert bag_of_words.words(text) == expected


@given(st.text(max_size=40))
def test_law_words_keep_every_character_but_space(text: str) -> None:
    kept = "".join(bag_of_words.words(text))
    assert kept == "".join(text.lower().split())


def test_known_errors() -> None:
    with pytest.raises(UserError, match="found no words in 2 training examples"):
        bag_of_words.fit([Example(text=" ", label="a"), Example(text="", label="b")])
    with pytest.raises(UserError, match="'positive' is none of: good, negative"):
        bag_of_words.fit(sentiment(20, seed=0), ["good", "negative"])
    with pytest.raises(UserError, match="line 0 has no label"):
        bag_of_words.fit([Example(text="a")])


def scored(task: str, data_dir: Path, limit: int | None = None) -> tuple[dict[str, float], dict[str, float]]:
    """Dev metrics of bag of words and of the majority."""
    record = TASKS[task]
    train = load_split(record, "train", data_dir, limit=limit)
    dev = load_split(record, "dev", data_dir)
    gold = [record.labels.index(str(example.label)) for example in dev]
    model = bag_of_words.fit(train, record.labels)
    found = []
    for guesses in (model.predict(dev), majority(train, dev)):
        found.append(evaluate(record.metrics, [record.labels.index(str(name)) for name in guesses], gold))
    return found[0], found[1]


def test_known_dev_numbers_on_mrpc(data_dir: Path) -> None:
    """Fitted on all 3,668 pairs; the majority's numbers are known to every reader of GLUE."""
    bag, floor = scored("mrpc", data_dir)
    assert round(floor["accuracy"], 3) == 0.684
    assert round(floor["f1"], 3) == 0.812
    assert bag["accuracy"] == pytest.approx(0.779, abs=0.01)
    assert bag["f1"] == pytest.approx(0.854, abs=0.01)


def test_known_dev_numbers_on_sst2(data_dir: Path) -> None:
    """Fitted on 4,000 of the 67,349 phrases, to stay quick."""
    bag, floor = scored("sst2", data_dir, limit=4_000)
    assert round(floor["accuracy"], 3) == 0.509
    assert bag["accuracy"] > 0.70
