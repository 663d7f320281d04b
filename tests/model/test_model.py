"""A model in hand: what it says of texts for every kind of task, and that nothing but the text decides it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import toys
from psitext.errors import UserError
from psitext.model import Model, load
from psitext.score import calibration
from psitext.text.examples import Example
from psitext.text.tasks import load_task, read_split


@pytest.fixture(scope="module")
def words() -> Model:
    return load(toys.trained("words"))


def dev_of(name: str) -> list[Example]:
    return read_split(load_task(str(toys.folder() / f"{name}.toml")), "dev").examples


def test_known_classes_with_probabilities(words: Model) -> None:
    texts = ["good fine", "dull grim", "kind grand"]
    answers = words.predict(texts)
    assert [answer.label for answer in answers] == ["up", "down", "up"]
    logits = words.logits([Example(text) for text in texts])
    for answer, row in zip(answers, logits, strict=True):
        probs = np.exp(calibration.log_probs(row, words.temperature))
        assert list(answer.probabilities) == ["down", "up"]
        assert list(answer.probabilities.values()) == pytest.approx(probs.tolist(), abs=1e-12)
        assert answer.probability == max(answer.probabilities.values()) > 0.9
        assert (answer.tags, answer.span, answer.cut) == ((), None, False)
    assert words.evaluate([Example(text, label=answer.label) for text, answer in zip(texts, answers, strict=True)]) == {
        "accuracy": 1.0,
        "macro_f1": 1.0,
        "collapsed": 0.0,
    }


def test_known_a_temperature_makes_probabilities_fit(words: Model) -> None:
    """Right three times out of four, the surest a model may be is three quarters."""
    examples = [
        Example(f"good {word}", label="up" if index % 4 else "down") for index, word in enumerate(toys.GOOD * 5)
    ]
    warm = words.calibrated(examples)
    assert warm.temperature > words.temperature
    sure = [answer.probability for answer in warm.predict(examples)]
    assert np.mean(sure) == pytest.approx(0.75, abs=0.02)
    assert [answer.label for answer in warm.predict(examples)] == [answer.label for answer in words.predict(examples)]


def test_known_pairs() -> None:
    model = load(toys.trained("pairs"))
    examples = dev_of("pairs")
    answers = model.predict(examples)
    assert {answer.label for answer in answers} <= {"next", "other"}
    firsts, seconds = [one.text for one in examples], [one.pair or "" for one in examples]
    assert [one.label for one in model.predict(firsts, seconds)] == [one.label for one in answers]
    turned = model.encode(seconds, firsts).vector
    assert not torch.allclose(model.encode(firsts, seconds).vector, turned, atol=1e-3)
    with pytest.raises(UserError, match="text 0: this model was trained on pairs of texts; give the second ones too"):
        model.predict(firsts)
    assert set(model.evaluate(examples)) == {"accuracy", "collapsed"}


def test_known_scores() -> None:
    model = load(toys.trained("scores"))
    low, high = model.predict(["bad dull", "good fine"])
    assert isinstance(low.label, float) and isinstance(high.label, float)
    assert high.label - low.label > 0.5
    assert low.probability is None and dict(low.probabilities) == {}
    scores = model.evaluate([Example(text, label=score) for text, score in toys.scored(40)])
    assert scores["pearson"] > 0.8 and scores["collapsed"] == 0


def test_known_tags() -> None:
    model, examples = load(toys.trained("tags")), dev_of("tags")
    answers = model.predict(examples)
    tags, said = ([tag for one in found for tag in one.tags] for found in (examples, answers))
    right = [tag == answer for tag, answer in zip(tags, said, strict=True)]
    assert model.evaluate(examples)["tag_accuracy"] == pytest.approx(np.mean(right))
    assert np.mean(right) > 0.8
    text = "Anna took the lamp"
    assert model.predict([text])[0].tags == model.predict([Example(text, words=tuple(text.split()))])[0].tags
    odd = Example("x", words=("Anna", "\u200d", "took", "the", "lamp"))
    plain = model.predict([text])[0].tags
    assert model.predict([odd])[0].tags == (plain[0], "", *plain[1:]), "a word without tokens moves no tag"
    long = model.predict([" ".join(["lamp"] * 60)])[0]
    assert long.cut and len(long.tags) == 60 and long.tags[-1] == "" != long.tags[0]


def test_law_words_that_were_cut_count_as_wrong() -> None:
    model, examples = load(toys.trained("tags")), dev_of("tags")[:20]
    short = replace(model, text=model.text.model_copy(update={"max_len": 8}))
    whole, cut = model.evaluate(examples)["tag_accuracy"], short.evaluate(examples)["tag_accuracy"]
    read = np.mean([min(6 / len(one.words), 1) for one in examples])
    assert cut < whole and cut <= read + 0.1


def test_known_spans() -> None:
    model, examples = load(toys.trained("questions")), dev_of("questions")
    answers = model.predict(examples)
    for one, answer in zip(examples, answers, strict=True):
        assert answer.span is not None and one.pair is not None
        assert answer.label == one.pair[slice(*answer.span)] != ""
    right = np.mean([answer.span == one.answer for one, answer in zip(examples, answers, strict=True)])
    scores = model.evaluate(examples)
    assert scores["span_exact"] == pytest.approx(right, abs=0.05)  # characters against tokens
    assert scores["span_f1"] >= scores["span_exact"]
    empty = model.predict([""], [""])[0]
    assert (empty.label, empty.span) == ("", (0, 0))


@pytest.mark.parametrize("name", ["words", "scores", "tags"])
def test_law_order_and_company_do_not_matter(name: str) -> None:
    model = load(toys.trained(name))
    texts = ["good fine", "", "naïve 東京 \x07 𝒳𝒴", "bad " * 200, "dull", "good " * 17]
    answers = model.predict(texts)
    assert [answer.cut for answer in answers] == [False, False, False, True, False, False]
    for text, answer in zip(texts, answers, strict=True):
        alone = model.predict([text])[0]
        assert alone.tags == answer.tags
        assert alone.label == (pytest.approx(answer.label, abs=1e-5) if name == "scores" else answer.label)
    turned = model.predict(texts[::-1], batch_tokens=1)[::-1]
    assert [one.tags for one in turned] == [one.tags for one in answers]


def test_law_token_states_are_those_of_their_sentence(words: Model) -> None:
    texts = ["good fine", "dull", "good " * 30]
    state = words.encode(texts, tokens=True)
    assert state.tokens is not None and state.real is not None
    assert state.tokens.shape == (*state.real.shape, 32)
    assert_close(state.vector, words.encode(texts).vector, rtol=0, atol=1e-5)
    for index, text in enumerate(texts):
        alone = words.encode([text], tokens=True)
        assert alone.tokens is not None
        length = int(state.real[index].sum())
        assert alone.tokens.shape[1] == length
        assert_close(state.tokens[index, :length], alone.tokens[0], rtol=0, atol=1e-5)
        assert not state.tokens[index, length:].any()


def test_known_the_sentence_vector_can_be_another(words: Model) -> None:
    folder = toys.trained("words")
    cls, mean = (load(folder, pool=pool) for pool in ("cls", "mean"))
    state = mean.encode(["good fine day"], tokens=True)
    assert state.tokens is not None
    assert_close(state.vector, state.tokens.mean(1), rtol=0, atol=1e-5)
    assert_close(cls.encode(["good fine day"]).vector, state.tokens[:, 0], rtol=0, atol=1e-5)
    assert load(folder, pool="pooled").task is not None, "the one it was made with keeps the head"
    with pytest.raises(UserError, match="answers no task"):
        mean.predict(["good"])
    with pytest.raises(UserError, match="the sentence vector sets pool to 'max'"):
        load(folder, pool="max")


def test_known_texts_that_are_longer_than_the_model_reads(words: Model) -> None:
    assert words.longer(["good", "good " * 100, ""]) == [False, True, False]
    kept = words.encode(["good " * 100]).vector
    assert_close(kept, words.encode(["good " * 46]).vector, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("texts", "pairs", "sentence"),
    [
        ("good", None, r"texts must be a list of strings, not one string: write \[text\]"),
        ([], None, "there are no texts"),
        (["a", 3], None, "text 1 is a int, not a string"),
        (["a", None], None, "text 1 is a NoneType, not a string"),
        (["a", "b"], ["c"], "there are 2 texts but 1 second texts"),
        (["a"], [7], "text 0 is a int, not a string"),
        (["a"], "b", "texts must be a list of strings, not one string"),
        (["a"], ["b"], "text 0: this model was trained on single texts, not pairs"),
    ],
)
def test_known_what_is_no_list_of_texts(words: Model, texts: list[str], pairs: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        words.predict(texts, pairs)


def test_known_a_pretrained_model_encodes_and_predicts_nothing() -> None:
    model = load(toys.pretrained())
    assert model.encode(["It was a good day."]).vector.shape == (1, 32)
    with pytest.raises(UserError, match="pre-trained only and answers no task"):
        model.predict(["good"])


def test_law_static_vectors_do_not_depend_on_the_sentence(words: Model) -> None:
    first, second = words.token_vectors(["good fine", "dull fine " + "so " * 80])
    assert np.array_equal(first.static[1], second.static[1])
    assert not np.allclose(first.contextual[1], second.contextual[1])
    assert len(second.static) == len(second.contextual) == len(second.offsets) == 46
