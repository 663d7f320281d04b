"""Examples as arrays: where texts, labels, tags and answers land, what truncation takes, and what it never takes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.examples import IGNORED, Example, Task
from psitext.text.supervised import SupervisedSource, TextConfig, encode_examples, shortened
from psitext.text.tokenizer import Tokenizer, train

SINGLE = Task(name="s", kind="classification", text="t", label="l", labels=("no", "yes"))
SCORES = Task(name="r", kind="regression", text="t", pair="p", label="l")
TAGS = Task(name="g", kind="tagging", text="w", label="t", labels=("A", "B", "C"))
SPANS = Task(name="q", kind="span", text="q", pair="p", label="a")
TEXTS = [
    "the old crane stopped in the wind", "a crane flew over the lake", "who stopped", "naïve café", "東京の川",
    "unbelievable", "", "old", "the the the the the the the the the the the the the the",
]  # fmt: skip


@cache
def tokenizer() -> Tokenizer:
    """Whole words for the frequent ones, pieces for the others."""
    return train("wordpiece", TEXTS * 3, 90)


def encoded(examples: list[Example], task: Task, max_len: int = 16, **settings: object) -> SupervisedSource:
    config = TextConfig(max_len=max_len, **{k: v for k, v in settings.items() if k != "labelled"})
    return encode_examples(examples, task, tokenizer(), config, labelled=bool(settings.get("labelled", True)))


def sequence(source: SupervisedSource, sample: int) -> list[str]:
    """The tokens of one sample as ``build`` lays them out, alone."""
    batch = source.build(np.array([sample]))
    return tokenizer().tokens(batch.ids[batch.owner > 0].tolist())


def pieces(text: str) -> list[str]:
    return tokenizer().tokens(tokenizer().encode([text])[0])


def test_known_single_texts_and_pairs() -> None:
    single = encoded([Example(text, label="yes") for text in TEXTS], SINGLE, max_len=64)
    for index, text in enumerate(TEXTS):
        assert sequence(single, index) == ["[CLS]", *pieces(text), "[SEP]"]
    pairs = encoded([Example("who stopped", text, 0.5) for text in TEXTS], SCORES, max_len=64)
    for index, text in enumerate(TEXTS):
        second = [*pieces(text), "[SEP]"] if text else []
        assert sequence(pairs, index) == ["[CLS]", *pieces("who stopped"), "[SEP]", *second]
        batch = pairs.build(np.array([index]))
        first = 2 + len(pieces("who stopped"))
        assert batch.segments[0].tolist() == [0] * first + [1] * len(second)
        assert batch.positions[0].tolist() == list(range(first + len(second)))
    assert not single.cut.any() and pairs.truncated == 0


@given(st.integers(0, 30), st.integers(0, 30), st.integers(8, 40))
def test_law_pairs_are_cut_one_token_at_a_time_the_longer_one(a: int, b: int, limit: int) -> None:
    first, second = np.arange(a, dtype=np.int32), np.arange(100, 100 + b, dtype=np.int32)
    kept = shortened(first, second, limit)
    x, y = list(first), list(second)
    while len(x) + len(y) > limit - (3 if b else 2):
        (y if len(y) >= len(x) and y else x).pop()
    assert (kept[0].tolist(), kept[1].tolist()) == (x, y)


def test_law_cut_samples_are_counted_and_fill_the_limit() -> None:
    source = encoded([Example(text, "old crane", 1.0) for text in TEXTS], SCORES, max_len=9)
    whole = [3 + len(pieces(text)) + len(pieces("old crane")) for text in TEXTS]
    assert source.lengths().tolist() == [min(length, 9) for length in whole]
    assert source.cut.tolist() == [length > 9 for length in whole]
    assert source.truncated == sum(length > 9 for length in whole) > 0


@given(st.permutations(range(len(TEXTS))), st.sampled_from(["padded", "packed"]))
def test_law_labels_go_with_their_texts(order: list[int], layout: str) -> None:
    examples = [Example(text, label="yes" if len(text) % 2 else "no") for text in TEXTS]
    source = encoded(examples, SINGLE, layout=layout, row=20)
    batch = source.build(np.array(order))
    assert batch.targets["label"].tolist() == [len(TEXTS[index]) % 2 for index in order]
    rows, real = batch.sequences(batch.ids)
    for place, index in enumerate(order):
        alone = source.build(np.array([index]))
        assert rows[place][real[place]].tolist() == alone.ids[alone.owner > 0].tolist()


def test_known_scores_and_missing_labels() -> None:
    source = encoded([Example("a", "b", 2.5), Example("a", "b", 1)], SCORES)
    assert source.label is not None and source.label.dtype == np.float32
    assert source.build(np.array([1, 0])).targets["label"].tolist() == [1.0, 2.5]
    bare = encoded([Example("a"), Example("b")], SINGLE, labelled=False)
    assert bare.label is None and dict(bare.build(np.array([0])).targets) == {}


@pytest.mark.parametrize(
    ("task", "example", "sentence"),
    [
        (SINGLE, Example("a", label="maybe", source="f.csv", line=7), "f.csv, line 7: the label 'maybe' is none that"),
        (SINGLE, Example("a", source="f.csv", line=7), "f.csv, line 7: the label None is none that"),
        (SCORES, Example("a", "b", "high", "f.csv", 7), "f.csv, line 7: the label 'high' is none that"),
        (TAGS, Example("a", words=("a",), tags=("X",), source="f", line=2), "f, line 2: the tag 'X' is none that"),
        (SPANS, Example("who", "the crane", source="f", line=2), "f, line 2: a question without an answer range"),
    ],
)
def test_known_labels_that_the_task_does_not_know(task: Task, example: Example, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        encoded([example], task)
    encoded([example], task, labelled=False)


def test_known_nothing_to_encode() -> None:
    with pytest.raises(UserError, match="no examples to encode"):
        encoded([], SINGLE)


def tagged(words: str, tags: str) -> Example:
    return Example(words, words=tuple(words.split("_")), tags=tuple(tags))


def test_known_tags_stand_at_first_pieces() -> None:
    """A word of several pieces is asked for once, a word without a piece not at all."""
    example = tagged("the_unbelievable_\u200d \t_crane", "ABCA")
    source = encoded([example], TAGS)
    tokens = sequence(source, 0)
    long = pieces("unbelievable")
    assert tokens == ["[CLS]", "the", *long, "crane", "[SEP]"] and len(long) > 1
    batch = source.build(np.array([0]))
    assert batch.targets["token_at"].tolist() == [1, 2, 2 + len(long)]
    assert batch.targets["token_label"].tolist() == [0, 1, 0]
    assert source.words[0].tolist() == [0, 1, 3]
    assert source.word_tags[0].tolist() == [0, 1, 2, 0]


def test_law_cut_words_are_not_asked_for_but_not_forgotten() -> None:
    source = encoded([tagged("_".join(["the"] * 14), "ABCABCABCABCAB"), tagged("old_crane", "BC")], TAGS, max_len=8)
    assert source.cut.tolist() == [True, False]
    assert source.words[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert len(source.word_tags[0]) == 14
    batch = source.build(np.array([1, 0]))
    assert batch.targets["token_label"].tolist() == [1, 2, 0, 1, 2, 0, 1, 2]
    at = batch.targets["token_at"]
    assert batch.owner.flatten()[at].tolist() == [1, 1, 2, 2, 2, 2, 2, 2]
    bare = encoded([Example("", words=())], TAGS, labelled=False)
    assert bare.words[0].tolist() == [] and bare.word_tags == []


def answered(question: str, passage: str, answer: str) -> Example:
    begin = passage.index(answer)
    return Example(question, passage, answer=(begin, begin + len(answer)))


@pytest.mark.parametrize(
    "answer", ["crane", "old crane", "the old", "wind", "stopped in the wind", "ran", "unbelievable"]
)
def test_law_answer_tokens_are_those_that_touch_its_characters(answer: str) -> None:
    passage = "unbelievable: the old crane stopped in the wind"
    source = encoded([answered("who stopped", passage, answer)], SPANS, max_len=64)
    assert source.span is not None
    first, last = source.span[0].tolist()
    tokens = sequence(source, 0)
    shift = int(source.first[0])
    ranges = source.characters[0]
    begin, end = passage.index(answer), passage.index(answer) + len(answer)
    assert ranges[first - shift, 0] <= begin < ranges[first - shift, 1]
    assert ranges[last - shift, 0] < end <= ranges[last - shift, 1]
    assert tokens[shift - 1] == "[SEP]" and len(tokens) == shift + len(ranges) + 1


def test_known_answers_that_truncation_takes() -> None:
    passage = "the old crane stopped in the wind"
    examples = [
        answered("who", passage, "old"),
        answered("who", passage, "wind"),
        answered("who", passage, "in the wind"),
    ]
    source = encoded(examples, SPANS, max_len=10)
    assert source.cut.all()
    assert source.span is not None
    assert source.span[0, 0] != IGNORED
    assert source.span[1:].tolist() == [[IGNORED, IGNORED]] * 2
    assert source.lengths().max() <= 10


def test_law_a_long_question_leaves_room_for_the_passage() -> None:
    source = encoded([answered(TEXTS[-1], "the crane flew over the lake", "lake")], SPANS, max_len=16)
    assert int(source.first[0]) == 8 + 2
    assert source.lengths()[0] == 16
    empty = encoded([Example("who", ""), Example("", "the crane")], SPANS, labelled=False)
    assert [len(ranges) for ranges in empty.characters] == [0, 2]
    assert empty.span is None


def test_known_which_end_is_kept_and_what_is_unknown() -> None:
    a, b = np.arange(10, dtype=np.int32), np.arange(20, 26, dtype=np.int32)
    first, none = shortened(a, b[:0], 6)
    assert first.tolist() == [0, 1, 2, 3] and not len(none)
    last, none = shortened(a, b[:0], 6, "last")
    assert last.tolist() == [6, 7, 8, 9] and not len(none)
    assert [part.tolist() for part in shortened(a, b, 11, "last")] == [[6, 7, 8, 9], [22, 23, 24, 25]]
    assert [part.tolist() for part in shortened(a, b, 11)] == [[0, 1, 2, 3], [20, 21, 22, 23]]
    assert [len(part) for part in shortened(a, b, 99, "last")] == [10, 6]
    words = train("words", ["so good so bad"], 12)
    examples = [Example(text="so strange good odd bad", label="x", line=1, source="s")]
    task = Task(name="t", kind="classification", text="t", label="l", labels=("x", "y"))
    kept = encode_examples(examples, task, words, TextConfig()).ids.tolist()
    dropped = encode_examples(examples, task, words, TextConfig(unknown="drop")).ids.tolist()
    assert kept.count(words.unk) == 2
    assert dropped == [one for one in kept if one != words.unk]
