"""Files of dialogues, and their turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.dialogs import Turn, dialogs, plain, turns


def test_known_utterances_of_a_table_and_of_plain_text(tmp_path: Path) -> None:
    rows = ["id\tdialogue", "1\tHi , it ’ s Jane . __eou__ Oh ! __eou__  __eou__ I'm late .", "2\tAlone . __eou__"]
    (tmp_path / "a.tsv").write_text("\n".join(rows), encoding="utf-8")
    assert list(dialogs([tmp_path / "a.tsv"])) == [("Hi, it's Jane.", "Oh!", "I'm late.")]
    assert next(dialogs([tmp_path / "a.tsv"], tidy=False))[0] == "Hi , it ’ s Jane ."
    (tmp_path / "b.txt").write_text("Who ?|Me .\n\nYou ?|No .|Who then ?", encoding="utf-8")
    assert list(dialogs([tmp_path / "b.txt"], end="|")) == [("Who?", "Me."), ("You?", "No.", "Who then?")]


def test_known_mistakes(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text2\tx\na __eou__ b\t1", encoding="utf-8")
    with pytest.raises(UserError, match="has no column 'dialogue'; it has: text2, x"):
        list(dialogs([tmp_path / "a.tsv"]))
    (tmp_path / "b.txt").write_text("nobody answers __eou__\n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no dialogue of two utterances"):
        list(dialogs([tmp_path / "b.txt"]))


def test_known_plain_text() -> None:
    assert plain("I  don ’ t “ know ” , really ?") == 'I don\'t " know ", really?'


@given(st.lists(st.text("ab", min_size=1), min_size=2, max_size=14), st.integers(1, 10))
def test_law_every_utterance_but_the_first_answers_those_before_it(said: list[str], most: int) -> None:
    found = list(turns([said], most))
    assert [turn.response for turn in found] == said[1:]
    for at, turn in enumerate(found, start=1):
        assert 1 <= len(turn.context) <= most
        assert said[at - len(turn.context) : at] == list(turn.context)
        assert len(turn.context) == min(at, most)


def test_known_turns_of_dailydialog(data_dir: Path) -> None:
    found = list(dialogs([data_dir / "dailydialog" / "test.tsv.gz"]))
    assert len(found) == 996
    all_turns = list(turns(found))
    assert len(all_turns) == sum(map(len, found)) - 996
    assert max(len(turn.context) for turn in all_turns) == 10
    assert all(isinstance(turn, Turn) and "__eou__" not in turn.response for turn in all_turns)
