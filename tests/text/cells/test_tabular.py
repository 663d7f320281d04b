"""Cells between separators: which one a table has, and that every reader of tables finds the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.cells.tabular import OWN, SEPARATORS, separator
from psitext.text.dialogs.reading import dialogs
from psitext.text.rows import column_rows, rows
from psitext.text.sources import sentences
from psitext.text.tables import load_like, load_table
from psitext.text.twofold.reading import corpus_lines

NAMES = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=2, max_size=5, unique=True)


@given(names=NAMES, sign=st.sampled_from(SEPARATORS), own=st.sampled_from(list(OWN.values())))
def test_law_the_separator_of_a_header_is_found(names: list[str], sign: str, own: str) -> None:
    assert separator(sign.join(names), own) == sign
    assert separator(sign.join(f'"{name}"' for name in names), own) == sign


def test_known_lines_that_keep_their_own_separator() -> None:
    assert separator("text,label;score", ",") == ","  # two cells by its own
    assert separator("text", ",") == ","
    assert separator("who; who", ",") == ","  # no two names of their own
    assert separator("text;", ",") == ","
    assert separator("a;b|c|d", ",") == "|"  # of several signs the one that makes most
    assert separator("so; what,up", ",", least=2) == ","
    assert separator("so what;up;1", ",", least=3) == ";"
    assert separator("so;what", ",", least=1) == ","


@pytest.mark.parametrize("sign", SEPARATORS)
@pytest.mark.parametrize("ending", OWN)
def test_law_every_format_reads_what_a_writer_writes(tmp_path: Path, sign: str, ending: str) -> None:
    if sign == OWN["tsv"] and ending == "tsv":
        return  # which knows no quoting; see rows
    records = [("text", "label"), ('good; "so", they\tsaid|', "up"), ("two\nlines", "down")]
    text = io.StringIO()
    csv.writer(text, delimiter=sign).writerows(records)
    path = tmp_path / f"own.{ending}"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    assert [tuple(row.fields.values()) for row in rows(path)] == records[1:]


READERS: dict[str, Callable[[Path], list[str]]] = {
    "load_table": lambda path: [one.text for one in load_table(path, text="text", label="label")[0]],
    "load_like": lambda path: [
        one.text for one in load_like(path, load_table(path, text="text", label="label")[1], labelled=False)
    ],
    "sentences": lambda path: [one for one in sentences([path]) if one is not None],
    "corpus_lines": lambda path: list(corpus_lines([path])),
    "dialogs": lambda path: [" ".join(said) for said in dialogs([path], column="text", end="/")],
    "column_rows": lambda path: [row.fields["text"] for row in column_rows(path, {"text": "text"})],
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "mixed"])
@pytest.mark.parametrize("sign", [",", ";"])
def test_law_all_readers_find_the_same_rows(tmp_path: Path, name: str, end: str, sign: str) -> None:
    texts = ["So good/or so", "So dull/or kind", "So grim/or vain"]
    path = tmp_path / "own.csv"
    lines = [f"text{sign}label", *(f"{text}{sign}{('up', 'down')[n % 2]}" for n, text in enumerate(texts))]
    ends = ["\r", "\n", "\r\n", "\r"] if end == "mixed" else [end] * 4
    path.write_bytes("".join(line + one for line, one in zip(lines, ends, strict=True)).encode("utf-8-sig"))
    found = [text.replace("/", " ") for text in READERS[name](path)]
    assert found == [text.replace("/", " ") for text in texts]


def test_known_numbers_of_columns_of_a_table_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("so good;up\nso dull;down\nso, kind;up\n", encoding="utf-8")
    found, task = load_table(path, text="1", label="2")
    assert [one.text for one in found] == ["so good", "so dull", "so, kind"] and task.labels == ("down", "up")
    with pytest.raises(UserError, match=r"own\.csv has no column '3'; it has: 1 \(name it with --label; numbers, .*\)"):
        load_table(path, text="1", label="3")


def test_known_a_null_is_no_missing_column(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"text": null, "label": "up"}\n{"text": "so", "label": "down"}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"own\.jsonl line 1 has no value for 'text'"):
        load_table(path, text="text", label="label")
    with pytest.raises(UserError, match=r"own\.jsonl has no column 'txt'; did you mean 'text'\?"):
        load_table(path, text="txt", label="label")
