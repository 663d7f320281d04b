"""Lines and fields as whole sentences, out of every kind of file."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.text.sources import sentences
from psitext.text.twofold import corpus_lines

STOPS = "Dr. No came. He left! Why? mr. <unk> n.v. "


def test_known_every_format_gives_its_lines_whole(tmp_path: Path) -> None:
    contents = {
        "ptb.txt": f" {STOPS}\n\n a b \r\n",
        "sentiment.dev.0": f"{STOPS}\na b\n",
        "rt-polarity.pos": f"{STOPS}\n  \na b",
        "bare": f"{STOPS}\na b\n",
        "named.tsv": f"id\ttext\n1\t{STOPS}\n2\ta b\n",
        "quoted.csv": f'text,id\n"{STOPS}",1\n" ",2\na b,3\n',
        "lines.jsonl": "\n".join(json.dumps({"text": text, "id": 1}) for text in (STOPS, "a b")) + "\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
        for path in (tmp_path / name, tmp_path / f"{name}.gz"):
            assert list(corpus_lines([path])) == [STOPS.strip(), "a b"], path
    files = [tmp_path / "bare", tmp_path / "ptb.txt.gz"]
    assert list(corpus_lines(files, column="no column of text")) == [STOPS.strip(), "a b"] * 2
    assert len(list(sentences([tmp_path / "ptb.txt"]))) > 3  # what cuts at stops sees more


def test_known_columns_go_by_name_or_number(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("x\tone line\ny\tanother line\n")
    (tmp_path / "t.jsonl").write_text('{"a": "first\\nsecond line"}\n')
    assert list(corpus_lines([tmp_path / "t.tsv"], column="2")) == ["one line", "another line"]
    assert list(corpus_lines([tmp_path / "t.tsv"], column="one line")) == ["another line"]
    assert list(corpus_lines([tmp_path / "t.jsonl"], column="a")) == ["first\nsecond line"]


def test_known_mistakes_are_one_sentence(tmp_path: Path) -> None:
    def fails(name: str, content: bytes, match: str, column: str = "text") -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=match):
            list(corpus_lines([tmp_path / name], column=column))

    fails("t.tsv", b"a\tb\n1\t2\n", r"t\.tsv has no column 'text'; it has: a, b \(name it with --text; numbers, ")
    fails("t.tsv", b"1\t2\n", r"t\.tsv has no column '3'; it has: 1, 2 \(name it with --text; numbers, ", "3")
    fails("t.json", b'[{"text": "a b"}]', r"t\.json: psitext reads .txt")
    fails("empty.0", b"", r"empty\.0 is empty")
    fails("blank.txt", b" \n\n", r"blank\.txt holds no rows")
    fails("blank.csv", b"text,id\n ,1\n", r"blank\.csv holds no text in the column 'text'")
    fails("picture.png", b"\x89PNG\r\n", r"picture\.png is a picture, not text")
    fails("cut.0.gz", gzip.compress(b"a b c\n" * 999)[:-12], r"cut\.0\.gz is damaged")
    (tmp_path / "sentiment.dev.1").write_text("a")
    with pytest.raises(UserError, match=r"there is no file .*sentiment\.dev\.2; did you mean"):
        list(corpus_lines([tmp_path / "sentiment.dev.2"]))
    with pytest.raises(UserError, match="no text was named"):
        list(corpus_lines([]))


@pytest.mark.parametrize(
    ("file", "column", "count", "begins"),
    [
        ("ptb/ptb.valid.txt.gz", "text", 3_370, "consumers may want to move"),
        ("yahoo/yahoo.valid.txt.gz", "text", 10_000, "what do you think of _UNK organization ?"),
        ("yelp_short/sentiment.dev.0.gz", "text", 25_278, "ok never going back to this place again ."),
        ("rt_polarity/rt-polarity.pos.gz", "text", 5_331, "the rock is destined"),
        ("snli/test_tok.tsv.gz", "sentence2", 9_824, "The church has cracks in the ceiling ."),
        ("glue/cola/dev.tsv.gz", "4", 1_043, "The sailors rode the breeze"),
        ("yelp_review/dev_1k.jsonl.gz", "ori", 1_000, ""),
    ],
)
def test_known_real_corpora_read_line_by_line(file: str, column: str, count: int, begins: str, data_dir: Path) -> None:
    found = list(corpus_lines([data_dir / file], column=column))
    assert len(found) == count
    assert found[0].startswith(begins)
    assert all(line == line.strip() != "" for line in islice(found, 500))
