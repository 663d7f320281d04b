"""Opening and decoding: lines as they stand in the file, and one sentence for every kind of damage."""

from __future__ import annotations

import gzip
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text import lines as lines_module
from psitext.text.lines import lines, split_lines

ZSTD = zstandard.ZstdCompressor().compress


def test_law_a_long_line_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A gigabyte that unpacks out of a megabyte must not be unpacked."""
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(b"x" * 2**20)
    read = 0

    class Counting(gzip.GzipFile):
        def readinto(self, buffer: Any) -> int:
            nonlocal read
            size = super().readinto(buffer)
            read += size
            return size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module.gzip, "GzipFile", Counting)
        with pytest.raises(UserError, match="line 1 is over"):
            list(lines(path))
    assert 0 < read < 16 * 2**20


def test_known_missing_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("a\n1\n")
    with pytest.raises(UserError, match=r"there is no file .*review\.csv; did you mean 'reviews\.csv'\?"):
        list(lines(tmp_path / "review.csv"))
    folder = tmp_path / "data.csv"
    folder.mkdir()
    with pytest.raises(UserError, match=r"data\.csv is a folder"):
        list(lines(folder))
    with pytest.raises(UserError, match="cannot be read: file name too long"):
        list(lines(tmp_path / ("x" * 300 + ".csv")))


def test_known_text_lines_keep_everything_but_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone \u2028 two\r\n\n  \nthree\x0b\x85\nlast".encode())
    assert list(lines(path)) == [
        (1, "one \u2028 two"),
        (2, ""),
        (3, "  "),
        (4, "three\x0b\x85"),
        (5, "last"),
    ]


@given(
    pieces=st.lists(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=9)),
    ends=st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=1),
)
def test_law_lines_end_in_lf_crlf_or_cr_in_any_mixture(pieces: list[str], ends: list[str]) -> None:
    """The same lines, whatever ends them, in a file and in memory; a BOM at the start is none of their text."""
    pieces = [piece.removeprefix("\ufeff") for piece in pieces]
    ended = "".join(
        piece + (end if end != "\r" or after else "\r\n")  # CR before an empty line's LF would be one end
        for piece, end, after in zip(pieces, cycle(ends), [*pieces[1:], "."], strict=False)
    )
    with TemporaryDirectory() as place:
        path = Path(place) / "a.txt"
        path.write_bytes(b"\xef\xbb\xbf" + ended.encode())
        if pieces:
            assert list(lines(path)) == list(enumerate(pieces, 1))
    assert split_lines(ended) == [*pieces, ""]


def test_known_an_end_across_the_edge_of_what_is_read_at_once_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for width in (8191, 8192, 2**20 - 1):
        path.write_bytes(b"x" * width + b"\r\ny\rz")
        assert [len(line) for _, line in lines(path)] == [width, 1, 1]


def test_known_frames_and_members_are_joined(tmp_path: Path) -> None:
    pieces = (b"one\ntw", b"o\nthree\n")
    for name, pack in (("a.txt.gz", gzip.compress), ("a.txt.zst", ZSTD)):
        (tmp_path / name).write_bytes(b"".join(pack(piece) for piece in pieces))
        assert [line for _, line in lines(tmp_path / name)] == ["one", "two", "three"]


# One entry: file name, content, what the sentence says.
BAD: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.tsv", b"", "a.tsv is empty"),
    "empty gz": ("a.txt.gz", gzip.compress(b""), "a.txt.gz is empty"),
    "utf-8": ("a.txt", b"good\nb\xffd\n", "a.txt line 2 is not UTF-8 text (byte 6 of the file); save it as UTF-8"),
    "utf-8 later": ("a.txt", b"\xc3\xa9\r\n\xff", "a.txt line 2 is not UTF-8 text (byte 4 of the file)"),
    "utf-8 cut off": ("a.txt", "good\né".encode()[:-1], "line 2 is not UTF-8 text (byte 5 of the file)"),
    "utf-16": ("a.txt", "text".encode("utf-16"), "a.txt looks like UTF-16, and is not UTF-8 text; save it as UTF-8"),
    "nul": ("a.tsv", b"a\tb\n1\t2\n3\t\x004\n", "a.tsv line 3 holds a NUL character (column 3)"),
    "10 MB line": ("a.tsv", b"a\tb\n1\t" + b"x" * 10_000_000, "a.tsv line 2 is over 9,048,576 bytes long"),
    "gz cut off": ("a.txt.gz", gzip.compress(b"some text\n" * 99)[:-20], "a.txt.gz is damaged after line"),
    "gz no gz": ("a.txt.gz", b"plain text\n", "a.txt.gz is no gzip file, whatever its ending says"),
    "utf-16 without a mark": ("a.csv", "text,label\n".encode("utf-16-be"), "a.csv looks like UTF-16, and is not UTF-8"),
    "nul first": ("a.csv", b"\0\0\0a,b\n", "a.csv line 1 holds a NUL character (column 1); it is no text file"),
    "latin-1": ("a.csv", "café\n".encode("latin-1"), "a.csv line 1 is not UTF-8 text (byte 3 of the file); save it as"),
    "excel": (
        "a.csv",
        b"PK\x03\x04\x14\0",
        "a.csv is a zip file (as .xlsx and .docx are), not text; save",
    ),
    "gz unnamed": (
        "a.csv",
        gzip.compress(b"a,b\n"),
        "a.csv is a gzip file, not text; let its name end in .gz",
    ),
    "picture": ("a.csv", b"\x89PNG\r\n\x1a\n", "a.csv is a picture, not text; save its table or text as"),
    "zst cut off": ("a.txt.zst", ZSTD(bytes(range(32, 99)) * 99)[:-9], "is damaged after line"),
    "zst no zst": ("a.txt.zst", b"plain text\n", "a.txt.zst is damaged after line 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_known_bad_files_get_one_sentence(tmp_path: Path, name: str) -> None:
    file, content, sentence = BAD[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        list(lines(path))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("tail", ["", ".gz", ".zst"])
def test_law_what_is_opened_is_closed(tmp_path: Path, tail: str) -> None:
    """Warnings are errors here, and an open file that is collected warns."""
    path = tmp_path / f"a.txt{tail}"
    path.write_bytes({".gz": gzip.compress, ".zst": ZSTD}.get(tail, bytes)(b"one\ntwo\n"))
    found = lines(path)
    assert next(found) == (1, "one")
    found.close()
    path.unlink()
    del found
