"""baselines/discocat/grammar.py: what is grammatical, how it cancels, and what the shipped lexicon covers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.baselines.bag_of_words import words
from psitext.baselines.discocat.grammar import Grammar, Parse, read_lexicon, simple_types
from psitext.errors import UserError
from psitext.text.tasks import TASKS, load_split

GRAMMAR = Grammar(read_lexicon())
SUBJECT, OBJECT = "n.r n s.l n", "n.r n n.l.l s.l"


def parsed(text: str) -> Parse:
    parse = GRAMMAR.parse(text.split())
    assert parse is not None, text
    return parse


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("man prepares meal .", ["n", "n.r s n.l", "n"]),
        ("skillful man prepares tasty meal", ["n n.l", "n", "n.r s n.l", "n n.l", "n"]),
        ("device that carry water", ["n", SUBJECT, "n.r s n.l", "n"]),
        ("device that shepherd play", ["n", OBJECT, "n", "n.r s n.l"]),
        ("player that hit run", ["n", SUBJECT, "n.r s n.l", "n"]),  # a run, not to run
        ("the man in the house runs today", ["n n.l", "n", "n.r n n.l", "n n.l", "n", "n.r s", "s.r s"]),
    ],
)
def test_known_types(text: str, types: list[str]) -> None:
    assert list(parsed(text).types) == types


def test_known_links_of_a_relative_clause() -> None:
    # 0 n | 1 n.r 2 n 3 n.l.l 4 s.l | 5 n | 6 n.r 7 s 8 n.l, of which 2 is left
    parse = parsed("device that shepherd play")
    assert set(parse.links) == {(0, 1), (5, 6), (4, 7), (3, 8)}
    assert parse.relative == (1,)


@pytest.mark.parametrize(
    "text", ["", ".", "man", "man man", "prepares meal", "man prepares", "man that", "gripping film"]
)
def test_known_what_the_grammar_does_not_cover(text: str) -> None:
    parse = GRAMMAR.parse(text.split())
    assert (parse is not None) == (text == "man")


NOUNS = st.sampled_from("man woman meal program run train".split())


def clause(phrase: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    """Noun phrases made of smaller ones."""
    verbs = st.sampled_from("cooks runs uses".split())
    return (
        st.tuples(phrase, verbs, phrase).map(lambda parts: [*parts[0], "that", parts[1], *parts[2]])
        | st.tuples(phrase, phrase, verbs).map(lambda parts: [*parts[0], "that", *parts[1], parts[2]])
        | phrase.map(lambda part: ["the", *part])
        | st.tuples(phrase, phrase).map(lambda parts: [*parts[0], "of", *parts[1]])
    )


@given(st.recursive(NOUNS.map(lambda noun: [noun]), clause, max_leaves=5))
def test_law_noun_phrases_of_any_depth_are_covered_and_their_links_are_right(tokens: list[str]) -> None:
    parse = parsed(" ".join(tokens))
    simple = [found for text in parse.types for found in simple_types(text)]
    ends = [end for link in parse.links for end in link]
    assert sorted(ends) == sorted(set(ends)) and len(ends) == len(simple) - 1
    assert {simple[place] for place in set(range(len(simple))) - set(ends)} <= {("n", 0), ("s", 0)}
    for left, right in parse.links:
        base, turns = simple[left]
        assert left < right and simple[right] == (base, turns + 1)
        inside = [link for link in parse.links if left < link[0] < right]
        assert all(end < right for _, end in inside)  # no two cross


@pytest.mark.parametrize(("task", "rows"), [("lambeq-mc", 130), ("lambeq-rp", 105)])
def test_known_the_lexicon_covers_every_sentence(task: str, rows: int, data_dir: Path) -> None:
    examples = [example for split in TASKS[task].splits for example in load_split(TASKS[task], split, data_dir)]
    assert len(examples) == rows
    assert [example.text for example in examples if GRAMMAR.parse(words(example.text)) is None] == []


def test_known_the_pronoun_tells_the_label_of_rp(data_dir: Path) -> None:
    for example in load_split(TASKS["lambeq-rp"], "train+dev+test", data_dir):
        parse = GRAMMAR.parse(words(example.text))
        if parse is not None and len(parse.types) == 4:
            assert parse.types[1] == (SUBJECT if example.label == "subject" else OBJECT)


def test_known_simple_types() -> None:
    assert simple_types("n.r s n.l.l") == (("n", 1), ("s", 0), ("n", -2))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[types]\nnoun = ["n x"]\n[words]\n', "'n x' is no type"),
        ('[types]\nnoun = [""]\n[words]\n', "'' is no type"),
        ('[types]\nnoun = ["n"]\n[words]\nverb = "run"\n', "the class 'verb' has no types; classes are: noun"),
        ('[types]\nnoun = ["n"]\n', "lacks 'words'"),
    ],
)
def test_known_errors_of_a_lexicon(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=sentence) as raised:
        read_lexicon(str(path))
    assert "own.toml" in str(raised.value)
