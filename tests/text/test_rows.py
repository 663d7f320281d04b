"""Reading files: all formats give the same rows, and all kinds of damage one sentence with its place."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.lines import MAX_FIELD
from psitext.text.rows import ENDINGS, rows

ZSTD = zstandard.ZstdCompressor().compress
RECORDS = [("gut", "ein Film"), ("böse", 'sagt "nie"'), ("良い", "映画\u2028です")]
PLAIN = [{"label": label, "text": text} for label, text in RECORDS]


def compressed(path: Path, data: bytes) -> Path:
    pack: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".zst": ZSTD,
    }
    path.write_bytes(pack.get(path.suffix, bytes)(data))
    return path


def written(folder: Path, form: str, tail: str) -> Path:
    path = folder / f"data.{form}{tail}"
    if form == "tsv":
        text = "label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in RECORDS)
    elif form == "csv":
        text = "label,text\n" + "".join(f'{label},"{text.replace(chr(34), chr(34) * 2)}"\n' for label, text in RECORDS)
    elif form == "jsonl":
        text = "".join(json.dumps(record) + "\n" for record in PLAIN)
    else:
        pq.write_table(pa.Table.from_pylist(PLAIN), folder / "plain")
        return compressed(path, (folder / "plain").read_bytes())
    return compressed(path, text.encode())


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("tail", ["", ".gz", ".zst"])
def test_law_every_format_gives_the_same_rows(tmp_path: Path, form: str, tail: str) -> None:
    found = list(rows(written(tmp_path, form, tail)))
    assert [row.fields for row in found] == PLAIN
    assert [row.line for row in found] == ([2, 3, 4] if form in ("tsv", "csv") else [1, 2, 3])


def test_known_tsv_has_no_quoting(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('label\ttext\n1\t"an open quote\n0\tb\n', newline="\n")
    assert [row.fields["text"] for row in rows(path)] == ['"an open quote', "b"]


def test_known_csv_counts_physical_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\r\n1,"two\r\nlines"\r\n\r\n2,after\r\n')
    assert [(row.line, row.fields) for row in rows(path)] == [
        (2, {"id": "1", "text": "two\nlines"}),
        (5, {"id": "2", "text": "after"}),
    ]


def test_known_columns_of_headerless_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("gj04\t1\t\tBirds sing.\n")
    (named,) = rows(path, columns=["source", "label", "star", "sentence"])
    assert (named.line, named.fields["sentence"], named.fields["star"]) == (1, "Birds sing.", "")
    (numbered,) = rows(path, columns=())
    assert numbered.fields == {"1": "gj04", "2": "1", "3": "", "4": "Birds sing."}


def test_known_labelled_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1  man prepares meal . \n0 woman runs code .")
    assert [tuple(row.fields.values()) for row in rows(path, form="labelled")] == [
        ("1", "man prepares meal ."),
        ("0", "woman runs code ."),
    ]


def test_known_values_of_json_and_parquet_become_strings(tmp_path: Path) -> None:
    record: dict[str, Any] = {
        "i": 3,
        "f": 0.5,
        "b": True,
        "n": None,
        "l": ["a", "é"],
        "o": {"k": [1]},
        "s": "x",
    }
    strings = {"i": "3", "f": "0.5", "b": "true", "l": '["a", "é"]', "o": '{"k": [1]}', "s": "x"}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record) + "\n")
    assert next(rows(path)).fields == strings
    pq.write_table(pa.Table.from_pylist([record]), tmp_path / "a.parquet")
    assert next(rows(tmp_path / "a.parquet")).fields == strings


def test_known_ragged_rows_come_with_what_they_have(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\tc\n1\t2\t3\n4\t5\n")
    assert [row.fields for row in rows(path, ragged=True)] == [
        {"a": "1", "b": "2", "c": "3"},
        {"a": "4", "b": "5"},
    ]


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\t"), max_size=8),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_law_tsv_round_trip(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("tsv") / "a.tsv"
    path.write_text("x\ty\n" + "".join("\t".join(cells) + "\n" for cells in table), encoding="utf-8", newline="\n")
    assert [[*row.fields.values()] for row in rows(path)] == table


# One entry: file name, content, what the sentence says.
BAD: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.tsv", b"", "a.tsv is empty"),
    "empty parquet": ("a.parquet", b"", "a.parquet is empty"),
    "header only": ("a.csv", b"a,b\n", "a.csv holds no rows"),
    "blank lines only": ("a.jsonl", b"\n\n", "a.jsonl holds no rows"),
    "mark only": ("a.txt", b"\xef\xbb\xbf", "a.txt holds no rows"),
    "duplicate header": (
        "a.tsv",
        b"id\ttext\tid\n1\t2\t3\n",
        "line 1: the header names the column 'id' twice",
    ),
    "unnamed header": ("a.csv", b"text,,label\na,b,c\n", "line 1: column 2 of the header has no name"),
    "too few": ("a.tsv", b"a\tb\n1\t2\n3\n", "a.tsv line 3 has too few fields: 1, where 2 belong (a, b)"),
    "too many": ("a.tsv", b"a\tb\n1\t2\t3\n", "a.tsv line 2 has too many fields: 3, where 2 belong"),
    "csv too few": ("a.csv", b'a,b\n"x\ny",2\n3\n', "a.csv line 4 has too few fields: 1"),
    "csv quote": (
        "a.csv",
        b'a,b\n1,2\n3,"never\nends\n',
        "starts on line 3 is not valid CSV: a quoted field never ends",
    ),
    "csv after quote": ("a.csv", b'a,b\n"1"x,2\n', "line 2 is not valid CSV"),
    "json": ("a.jsonl", b'{"text": "a"}\n{"text": }\n', "a.jsonl line 2 column 10 is not valid JSON"),
    "json list": ("a.jsonl", b'["a"]\n', "a.jsonl line 1 must be a JSON object, {...}, and is '[\"a\"]'"),
    "json key twice": (
        "a.jsonl",
        b'{"a": 1, "a": 2}\n',
        "line 1 is not usable JSON: it has the key 'a' twice",
    ),
    "json depth": ("a.jsonl", b"[" * 100_000, "a.jsonl line 1 is not usable JSON"),
    "json digits": ("a.jsonl", b'{"a": ' + b"9" * 5000 + b"}", "a.jsonl line 1 is not usable JSON"),
    "surrogate": ("a.jsonl", b'{"text": "\\ud800"}\n', "line 1: 'text' holds half a surrogate pair"),
    "json nul": ("a.jsonl", b'{"text": "a\\u0000"}\n', "line 1: 'text' holds a NUL character"),
    "field": (
        "a.tsv",
        b"a\tb\n1\t" + b"x" * (MAX_FIELD + 1),
        "line 2: 'b' holds 1,000,001 characters; at most 1,000,000",
    ),
    "10 MB csv field": (
        "a.csv",
        b'a,b\n1,"' + b"xxxxxxxxx\n" * 1_000_000,
        "line 2 is not valid CSV: a field is too long",
    ),
    "label only": ("a.txt", b"1 good\n0\n", "a.txt line 2 must be a label, a space and a text, not '0'"),
    "parquet": ("a.parquet", b"PAR1 but nothing else", "a.parquet cannot be read as Parquet"),
    "ending": ("a.xlsx", b"PK", "a.xlsx: psitext reads .txt, .text, .tokens, .tsv, .csv, .jsonl"),
    "no ending": ("data", b"text", "not a name without an ending"),
}


@pytest.mark.parametrize("name", BAD)
def test_known_bad_files_get_one_sentence(tmp_path: Path, name: str) -> None:
    file, content, sentence = BAD[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        list(rows(path, form="labelled" if name == "label only" else None))
    said = str(caught.value)
    assert sentence in said
    assert "\n" not in said
    assert str(path) in said
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "library, file", [("zstandard", "a.txt.zst"), ("pyarrow.parquet", "a.parquet"), ("datasets", "hub:a")]
)
def test_known_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, file: str
) -> None:
    (tmp_path / file.replace(":", "")).touch()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UserError, match=rf"{library.split('.')[0]} is needed to read it: pip install 'psitext\["):
        list(rows(file if file.startswith("hub:") else tmp_path / file))


def test_known_hub_names_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    class Classes:
        def int2str(self, number: int) -> str:
            return ("negative", "positive")[number]

    class Data(list[dict[str, Any]]):
        features = MappingProxyType({"text": object(), "label": Classes()})

    def load_dataset(name: str, config: str | None, *, split: str, streaming: bool) -> Data:
        asked.append((name, config, split, streaming))
        return Data([{"text": "fine", "label": 1}, {"text": "hidden", "label": -1}])

    fake = SimpleNamespace(__version__="5.2.0", load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    assert [row.fields for row in rows("hub:glue:sst2@validation")] == [
        {"text": "fine", "label": "positive"},
        {"text": "hidden", "label": "-1"},
    ]
    list(rows(Path("hub:owner/name")))
    assert asked == [("glue", "sst2", "validation", True), ("owner/name", None, "train", True)]
    fake.__version__ = "3.6.0"
    with pytest.raises(UserError, match="needs datasets 4 or newer"):
        list(rows("hub:glue"))
    with pytest.raises(UserError, match="names no data set"):
        list(rows("hub:"))


@pytest.mark.filterwarnings("ignore")  # the library's own
def test_known_hub_folders_are_read_and_their_code_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    (folder / "train.jsonl").write_text('{"text": "fine", "stars": 4}\n{"text": "dull", "stars": 1}\n')
    assert [row.fields for row in rows(f"hub:{folder}")] == [
        {"text": "fine", "stars": "4"},
        {"text": "dull", "stars": "1"},
    ]
    with pytest.raises(UserError, match="cannot be loaded"):
        list(rows(f"hub:{folder}@validation"))
    with pytest.raises(UserError, match="cannot be loaded"):
        list(rows(f"hub:{tmp_path / 'nothing'}"))
    script = tmp_path / "script"
    script.mkdir()
    (script / "script.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nimport datasets\n")
    with pytest.raises(UserError, match="cannot be loaded"):
        list(rows(f"hub:{script}"))
    assert not (tmp_path / "ran").exists()


def test_known_rows_of_the_shared_data(data_dir: Path) -> None:
    """Every table and text file there has as many rows as its manifest counts lines, headers set aside."""
    manifest = (data_dir / "MANIFEST.tsv").read_text().splitlines()[1:]
    counts = {name: int(count) for name, _, _, count, *_ in (line.split("\t") for line in manifest)}
    checked = 0
    for name, count in counts.items():
        bare = Path(name.removesuffix(".gz"))
        if bare.suffix not in ENDINGS or name.startswith(("books/", "imdb/", "wikitext2/", "tokenizers/", "lambeq")):
            continue  # big, blank lines between paragraphs, no text, a last line without an end
        headless = "wiki_split/" in name or "brown/" in name or "glue/cola/" in name
        header = bare.suffix in (".tsv", ".csv") and (not headless or "qbert" in name)
        found = sum(1 for _ in rows(data_dir / name, columns=() if headless and not header else None))
        assert (name, found) == (name, count - header)
        checked += 1
    assert checked > 35
