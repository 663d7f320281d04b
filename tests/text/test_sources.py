"""Sentences of a corpus: where they end, where documents end, and how little memory that takes."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.rows import MAX_FIELD
from psitext.text.sources import sentences, split_sentences

# Written with a bar where a cut belongs.
CUTS = [
    "It rained.|We stayed in!|Did you?|Yes.",
    "Mr. and Mrs. Jones met Dr. Who at St. Paul's.|They left.",
    "J. R. R. Tolkien wrote it.|The U.S. Army did not.",
    "Pi is 3.14 or so.|It cost $2.50 at No. 5 on Dec. 7, 1941.|The end of Dec.|Then Jan.|It snowed.",
    "See Fig. 3 and pp. 4-9, e.g. the map.|All of it is i.e. That one.",
    "So do I.|And you?",
    "1. The valley was green.|It was wide.|(2) So was the hill.",
    "IV. The storm broke.",
    '"Stop!" he cried.|"Why?" she said. |He did.',
    "“I know.”|“You do not.”|(They did.)|Nobody spoke.",
    "He waited . . . and waited.|Then . . . nothing.|Oh . . .|Well.",
    "Wait... what is it?|Nothing...|Gone.",
    "We met at 5 p.m. on Monday.|We left at 7 p.m.|It was late.",
    "the food was good .|the place was not !|i left .",
    "mr. smith came ( he said . ) and left .|so did i .",
    "Is it?!|It is!!|Good.",
    "今日は晴れ。|明日も晴れるかな？|うん！|「はい。」|彼は笑った。",
    "「行くよ。」と彼は言った。|彼女も「はい。」って答えた。",
    "Ｑ．どこ？|３．５キロです。",
    "你好！|今天很好。|再见。",
    "यह ठीक है।|हाँ।",
    "هل أنت هنا؟|نعم.",
    "An end without a stop",
    "“Never,” said I; “not I.”|I left.",
]


@pytest.mark.parametrize("marked", CUTS)
def test_known_sentence_ends(marked: str) -> None:
    wanted = [part.strip() for part in marked.split("|")]
    line = marked.replace("|", "" if ord(marked[0]) > 0x2E80 else " ")
    assert list(split_sentences(line)) == wanted


@given(st.text(st.sampled_from("aA1I。.!?…\"')”」 \tと")))
def test_law_cutting_loses_nothing_but_spaces(line: str) -> None:
    pieces = list(split_sentences(line))
    assert "".join("".join(pieces).split()) == "".join(line.split())
    assert all(piece and piece == piece.strip() for piece in pieces)


def test_law_cutting_is_linear_in_the_length() -> None:
    """None of these may take time that grows with the square: each would then run for minutes."""
    for unit in ("Mr. ", ". ", "a.' ", "... ", "! ", "No. 5 ", "。」と"):
        line = unit * (400_000 // len(unit))
        assert sum(map(len, split_sentences(line))) > 100_000


def test_known_plain_text_documents(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_text("\n\nOne. Two.\nThree\n \n\nFour.\n\n")
    second.write_bytes(gzip.compress(b"Five"))
    assert list(sentences([first, second])) == ["One.", "Two.", "Three", None, "Four.", None, "Five", None]


def test_known_hard_wrapped_lines_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The well-\nknown Mr.\nSmith\n  came in. He sat\ndown.\nThen he left.\n\nHe was\ngone")
    wanted = ["The well-known Mr. Smith came in.", "He sat down.", "Then he left.", None, "He was gone", None]
    assert list(sentences([path], unwrap=True)) == wanted
    path.write_text("今日は\n晴れ。明日\nも。\n")
    assert list(sentences([path], unwrap=True)) == ["今日は晴れ。", "明日も。", None]


def test_known_records_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    texts = ["One. Two\nThree\n\nFour.", " ", "Five"]
    path.write_text("".join(json.dumps({"body": text}) + "\n" for text in texts))
    assert list(sentences([path], column="body")) == ["One.", "Two", "Three", "Four.", None, "Five", None]
    assert list(sentences([path], column="body", unwrap=True)) == [
        "One.",
        "Two Three",
        "Four.",
        None,
        "Five",
        None,
    ]


def test_known_columns_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\tOne. Two.\nx\tThree.\n")
    assert list(sentences([path], column="2")) == ["One.", "Two.", None, "Three.", None]


def test_known_bad_corpora_get_one_sentence(tmp_path: Path) -> None:
    def said(column: str = "text") -> str:
        with pytest.raises(UserError) as caught:
            list(sentences([path], column=column))
        return str(caught.value).removeprefix(str(path))

    path = tmp_path / "a.txt"
    path.write_text("\n \n")
    assert said() == " holds no text"
    path.write_text("")
    assert said() == " is empty"
    path.write_text("good\n" + "x" * (MAX_FIELD + 1))
    assert said() == " line 2 is over 1,000,000 characters long; is a line break missing?"
    path.write_text("good\n" + "x" * 10_000_000)
    assert said().startswith(" line 2 is over 9,048,576 bytes long")
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"body": "b", "id": 1}\n')
    assert said() == " line 2 has no column 'text'; it has: body, id (name it with --text)"
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\n1\t2\n")
    assert said("3").startswith(" has no column '3'; it has: 1, 2 (name it with --text; numbers, ")
    with pytest.raises(UserError, match="no text was named"):
        list(sentences([]))


@pytest.mark.parametrize("unwrap", [False, True])
def test_law_memory_does_not_grow_with_the_file(tmp_path: Path, unwrap: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a line of a paragraph without any stop at all, which never ends\n" * 40_000)
    tracemalloc.start()
    try:
        characters = sum(len(sentence or "") for sentence in sentences([path], unwrap=unwrap))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert characters > 2_500_000
    assert peak < 1_000_000


def test_known_shared_corpora(data_dir: Path) -> None:
    holmes = list(sentences([data_dir / "holmes" / "holmes.jsonl.gz"]))
    assert holmes.count(None) == 37
    texts = [sentence for sentence in holmes if sentence]
    assert 25_000 < len(texts) < 40_000
    assert not any(text.endswith((" Mr.", " Mrs.", " Dr.", " St.")) for text in texts)
    wiki = list(sentences([data_dir / "wiki_split" / "tune.tsv.gz"], column="1"))
    assert wiki.count(None) == 5000
    ptb = list(sentences([data_dir / "ptb" / "ptb.valid.txt.gz"]))
    assert len(ptb) >= 3370 + 1
