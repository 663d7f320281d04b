"""The embedded corpus: what it promises to a reader, to a counter of words, and to whoever repeats it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text import toy
from psitext.text.examples import Example
from psitext.text.toy.grammar import Dice, distinct, expand
from psitext.text.toy.people import MEN, NAMES, TOWNS, WOMEN
from psitext.text.toy.plots import EVENING, PLOTS
from psitext.text.toy.reviews import BAD, FRAMES, GOOD


@cache
def reviews() -> list[Example]:
    return toy.reviews(6000)


@cache
def stories() -> list[list[str]]:
    return list(toy.stories(2000))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


# --- reviews


def test_law_the_text_decides_the_label() -> None:
    """A reader who knows the frames and the two word lists finds one label in every review, and it is the right one."""
    patterns = [(_reader(frame), "n" in _roles(frame)) for frames in FRAMES.values() for frame in frames]
    for review in reviews():
        found = set()
        for sentence in re.findall(r"[^.]+\.", review.text):
            for pattern, _ in patterns:
                if match := pattern.fullmatch(sentence.strip()):
                    roles = match.groupdict()
                    seen = {role: roles[role] in GOOD for role in roles if role in "pqnm"}
                    good = {value if role in "pq" else not value for role, value in seen.items()}
                    found |= {toy.LABELS[one] for one in good} if len(good) == 1 else set()
        assert found == {review.label}, review.text


def _roles(frame: str) -> set[str]:
    return set(re.findall(r"\{([pqnm])\}", frame))


def _reader(frame: str) -> re.Pattern[str]:
    """A pattern that reads a frame back: choices become alternatives, slots become groups."""
    text = re.sub(r"\[([^\]]*)\]", r"(?:\1)", frame.removesuffix("."))
    text = re.sub(r"\{([pqnm])\}", rf"(?P<\1>{'|'.join(GOOD + BAD)})", text)
    others = "the critics|my friends|the papers|my neighbours|most people"
    text = (
        text.replace("{they}", f"(?:{others})").replace("{They}", f"(?i:{others})").replace("{x}", "(?:film|play|show)")
    )
    return re.compile(text.replace("{I}", "I") + r"\.")


def test_known_what_others_think_matches_no_frame() -> None:
    frames = [_reader(frame) for frames in FRAMES.values() for frame in frames]
    for sentence in (
        "The man beside me called it dull.",
        "My sister found it warm.",
        "The critics promised a dull film.",
    ):
        assert not any(pattern.fullmatch(sentence) for pattern in frames)


def test_law_reviews_are_balanced_and_different() -> None:
    labels = Counter(review.label for review in reviews())
    assert set(labels) == set(toy.LABELS)
    assert abs(labels["positive"] / len(reviews()) - 0.5) < 0.03
    assert len({review.text for review in reviews()}) == len(reviews())
    assert all(review.pair is None for review in reviews())


def accuracy(low: int, high: int) -> float:
    """Logistic regression on runs of ``low`` to ``high`` words: 4,000 reviews to learn from, 2,000 others to read."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    bag = CountVectorizer(ngram_range=(low, high), binary=True, token_pattern=r"\w+", min_df=2)
    model = make_pipeline(bag, LogisticRegression(solver="liblinear"))
    texts, labels = [review.text for review in reviews()], [review.label for review in reviews()]
    model.fit(texts[:4000], labels[:4000])
    return float(model.score(texts[4000:], labels[4000:]))


def test_known_counting_words_is_not_enough_and_their_order_is() -> None:
    """The figures of docs/toy.md."""
    found = [accuracy(1, 1), accuracy(1, 2), accuracy(1, 5)]
    print("words {:.3f}, pairs of words {:.3f}, up to five words {:.3f}".format(*found))
    assert 0.5 < found[0] < 0.65
    assert found[1] < 0.75
    assert found[2] > 0.9


# --- stories


def test_law_stories_are_documents_of_few_sentences() -> None:
    lengths = Counter(map(len, stories()))
    assert set(lengths) == {4, 5, 6, 7, 8}
    assert len({" ".join(story) for story in stories()}) == len(stories())
    for sentence in (sentence for story in stories() for sentence in story):
        assert re.fullmatch(r"[A-Z][A-Za-z ',]*\.", sentence), sentence
        assert "  " not in sentence


def test_law_names_and_pronouns_agree_through_a_story() -> None:
    """One woman and one man, so that "she" can only be one of them; one town at most."""
    for story in stories():
        text = " ".join(story)
        names = {word for word in re.findall(r"\w+", text) if word in NAMES}
        assert len(names & set(WOMEN)) <= 1 and len(names & set(MEN)) <= 1, text
        assert len(set(re.findall("|".join(TOWNS), text))) <= 1, text
        for pronoun, owners in (("she|her", WOMEN), ("he|him|his", MEN)):
            if first := re.search(rf"\b({pronoun})\b", text, re.IGNORECASE):
                # Whoever is spoken of has been named before, or is in the same sentence ("His sister Mira").
                end = text.index(".", first.start())
                assert set(re.findall(r"\w+", text[:end])) & set(owners), text


def test_known_opinions_have_consequences() -> None:
    """Who likes it is not angry: praise and its opposite never meet in the story of one evening."""
    glad, sad = {"happy", "glad", "clapped", "sang"}, {"angry", "sad", "asleep", "silent"}
    evenings = [
        set(words(" ".join(story))) for story in stories() if {"film", "play", "show"} & set(words(" ".join(story)))
    ]
    assert len(evenings) > 500
    assert any(evening & glad for evening in evenings) and any(evening & sad for evening in evenings)
    assert not any(evening & glad and evening & sad for evening in evenings)


def test_law_every_line_of_every_plot_can_be_told() -> None:
    told = {tuple(words(sentence)) for story in toy.stories(8000) for sentence in story}
    shapes = {" ".join(sentence) for sentence in told}
    for plot in PLOTS:
        for line in plot.text.strip().splitlines():
            fixed = [
                re.sub(r"[^a-z ]", " ", part.lower()).strip() for part in re.split(r"\{\w+\}|\[[^\]]*\]", line[2:])
            ]
            longest = " ".join(max(fixed, key=len).split())
            assert any(longest in shape for shape in shapes), line


def test_law_moments_that_no_story_leaves_out_are_there() -> None:
    for plot in (*PLOTS, EVENING):
        moments = {int(line[0]) for line in plot.text.strip().splitlines()}
        assert moments == set(range(1, 8)) and set(plot.always) <= moments


def test_known_vocabulary_is_small() -> None:
    """Small enough for a tiny model, and the reviews use no word that the stories lack."""
    known = set(words(" ".join(sentence for story in toy.stories(6000) for sentence in story)))
    assert 400 < len(known) < 700
    assert set(words(" ".join(review.text for review in reviews()))) <= known
    assert set(words(" ".join(sense.sentence for sense in toy.ambiguous()))) <= known


# --- tasks made of stories and facts


def test_law_pairs_are_neighbours_or_strangers() -> None:
    pairs = toy.pairs(2000)
    labels = Counter(pair.label for pair in pairs)
    assert abs(labels["next"] / len(pairs) - 0.5) < 0.04
    assert len({(pair.text, pair.pair) for pair in pairs}) == len(pairs)
    # Of neighbours, names agree; of strangers, they mostly do not.
    agree = {"next": [0, 0], "other": [0, 0]}
    for pair in pairs:
        first, second = (set(re.findall(r"\w+", text or "")) & set(NAMES) for text in (pair.text, pair.pair))
        if first and second:
            agree[str(pair.label)][bool(first & second)] += 1
    assert agree["other"][True] / sum(agree["other"]) < 0.3
    assert agree["next"][True] / sum(agree["next"]) > 0.5


def test_law_answers_stand_where_they_are_said_to() -> None:
    for question in toy.questions(2000):
        assert question.pair is not None and question.answer is not None
        first, end = question.answer
        answer = question.pair[first:end]
        assert re.fullmatch(r"\w+", answer) and answer not in re.findall(r"\w+", question.text)
        before = question.pair[:first]
        assert not before or before[-1] == " "
        if question.text.startswith("Who "):
            assert answer in NAMES
        if question.text.startswith("Where did "):
            assert answer in TOWNS


def test_known_questions_need_the_right_person() -> None:
    """In most passages something else is of the kind of the answer, so that the question alone does not find it."""
    rivals = 0
    for question in toy.questions(500):
        assert question.pair is not None and question.answer is not None
        answer = question.pair[slice(*question.answer)]
        rivals += any(name in question.pair for name in NAMES if name != answer) if answer in NAMES else 1
    assert rivals > 450


def test_law_tags_follow_the_plot() -> None:
    crane, seal = Counter(), Counter()
    for example in toy.tags(3000):
        assert len(example.words) == len(example.tags) and set(example.tags) <= set(toy.TAGS)
        assert example.text == " ".join(example.words)
        crane.update(tag for word, tag in zip(example.words, example.tags, strict=True) if word == "crane")
        seal.update(tag for word, tag in zip(example.words, example.tags, strict=True) if word == "seal")
    assert set(crane) == set(seal) == {"animal", "thing"}


def test_law_words_of_two_senses_are_in_their_sentences_and_in_the_stories() -> None:
    senses = toy.ambiguous()
    by_word: dict[str, set[str]] = {}
    for word, sentence, sense in senses:
        assert word in words(sentence)
        by_word.setdefault(word, set()).add(sense)
    assert {"crane", "bank"} <= set(by_word) and min(map(len, by_word.values())) >= 2
    told = {(word, sense) for plot in PLOTS for word, sense in plot.senses.items()}
    assert told == {(word, sense) for word, _, sense in senses}


# --- repeatability


@pytest.mark.parametrize("make", [toy.stories, toy.reviews, toy.questions, toy.pairs, toy.tags])
def test_law_a_larger_count_only_adds(make) -> None:  # type: ignore[no-untyped-def]
    few, many = list(make(40)), list(make(300))
    assert len(few) == 40 and len(many) == 300
    assert few == many[:40] == list(make(40, 0))
    assert few != list(make(40, 1))
    assert list(make(0)) == []


def test_known_first_texts_stay_the_same() -> None:
    """A change of the corpus changes every published number about it; it shall not happen by accident."""
    assert next(toy.stories(1))[0] == FIRST_SENTENCE
    assert toy.reviews(1)[0].text == FIRST_REVIEW


FIRST_SENTENCE = "On a windy evening Ruth took her brother Omar to the hall in Accra."
FIRST_REVIEW = "The critics promised a funny play. I found it stupid, although the critics found it clever."


# --- grammar


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=30, max_size=30))
def test_law_dice_stay_in_range(numbers: list[float]) -> None:
    dice = Dice(numbers)
    assert 0 <= dice.below(7) < 7
    assert dice.pick("abc") in "abc"
    assert sorted(dice.sample(range(9), 9)) == list(range(9))
    assert expand("{A} [ran|sat] {A}[| down].", dice, {"A": "Mira"}) in {
        f"Mira {verb} Mira{tail}." for verb in ("ran", "sat") for tail in ("", " down")
    }


def test_known_a_grammar_that_runs_out_says_so() -> None:
    found = distinct(lambda dice: dice.pick("abc"), str, "letters", 0, 1, 4)
    with pytest.raises(UserError, match="cannot make 4 different letters; it made 3"):
        list(found)
