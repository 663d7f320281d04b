"""Files to lines: the one place that opens, decompresses and decodes what a user brings.

No line is read further than the limit, so a file that is no text, or one long line, cannot fill the memory.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from psitext.errors import UserError, near

COMPRESSED = (".gz", ".zst")
MAX_FIELD = 1_000_000  # characters; a longer field of a task is a missing line break or no text at all
TABLE = "save its table or text as .csv or .txt"
KINDS = {  # what files that are no text begin with, what they are, and what to do
    b"PK\x03\x04": ("a zip file (as .xlsx and .docx are)", TABLE),
    b"\xd0\xcf\x11\xe0": ("an old Office file (.xls, .doc)", TABLE),
    b"%PDF-": ("a PDF file", TABLE),
    b"\x89PNG": ("a picture", TABLE),
    b"\xff\xd8\xff": ("a picture", TABLE),
    b"SQLite format 3": ("a database", TABLE),
    b"\x1f\x8b": ("a gzip file", "let its name end in .gz"),
    b"(\xb5/\xfd": ("a zstd file", "let its name end in .zst"),
    b"PAR1\x15": ("a Parquet file", "let its name end in .parquet"),
}
NEEDS = "the package {} is needed to read it: pip install 'psitext[{}]'"


def lines(path: Path, limit: int = MAX_FIELD) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends; a byte order mark is dropped.

    LF, CRLF and CR alone each end a line, in any mixture, as everywhere in Python and in spreadsheets. No other sign
    does: U+2028, U+0085 and the form feed stay in their line.
    """
    most = 8 * limit + 2**20  # bytes: JSON may write a character in six, and a row has more than one field
    number = offset = 0
    with opened(path) as file:
        # Every byte as one character, so that the library finds the ends and the bytes come back as they were.
        ended = io.TextIOWrapper(file, encoding="latin-1", newline="")
        while True:
            try:
                raw = ended.readline(most + 1).encode("latin-1")
            except (OSError, EOFError, zlib.error) as error:
                raise _unreadable(path, f"after line {number}", error) from None
            if not raw:
                break
            number += 1
            if len(raw) > most:
                room = f"where a field may hold {limit:,} characters"
                raise UserError(f"{path} line {number} is over {most:,} bytes long, {room}; is a line break missing?")
            yield number, _decoded(raw, path, number, offset)
            offset += len(raw)
    if number == 0:
        raise UserError(f"{path} is empty")


def split_lines(text: str) -> list[str]:
    """The lines of a text that is in memory already (a field of a table), by the same ends; one without any is one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _decoded(raw: bytes, path: Path, number: int, offset: int) -> str:
    """One line as text without its end. Errors: what is not UTF-8, and what is no text, with what it looks like."""
    if number == 1:
        _check_kind(raw, path)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        where = f"byte {offset + error.start:,} of the file"
        raise UserError(f"{path} line {number} is not UTF-8 text ({where}); save it as UTF-8") from None
    if number == 1:
        text = text.removeprefix("\ufeff")
    if "\0" in text:
        column = text.index("\0") + 1
        raise UserError(f"{path} line {number} holds a NUL character (column {column}); it is no text file")
    return text.removesuffix("\n").removesuffix("\r")


def _check_kind(raw: bytes, path: Path) -> None:
    """Refuse what the first bytes say is another kind of file."""
    for start, (kind, advice) in KINDS.items():
        if raw.startswith(start):
            raise UserError(f"{path} is {kind}, not text; {advice}")
    every_second = [byte == 0 for byte in raw[:4]] in ([True, False] * 2, [False, True] * 2)
    if every_second or raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{path} looks like UTF-16, and is not UTF-8 text; save it as UTF-8")


def opened(path: Path) -> IO[bytes]:
    """The decompressed bytes of a file, buffered."""
    try:
        regular(path)
        if not path.exists():
            beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            raise UserError(f"there is no file {path}{near(path.name, beside)}")
        if path.suffix == ".zst":
            return io.BufferedReader(_Zstandard(path), 2**20)
        if path.suffix == ".gz":
            return io.BufferedReader(gzip.GzipFile(path), 2**20)
        return path.open("rb")
    except OSError as error:
        raise _unreadable(path, "at its start", error) from None


def regular(path: Path) -> None:
    """Refuse what is there and is no file: a folder, and a pipe, which could not be read a second time."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name the files in it")
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is a pipe or a device, which cannot be read twice; save its text in a file first")


def _unreadable(path: Path, where: str, error: Exception) -> UserError:
    """An error of the disk keeps its own words; anything else is damage to the compressed stream."""
    if isinstance(error, OSError) and error.strerror:
        return UserError(f"{path} cannot be read: {error.strerror.lower()}")
    if isinstance(error, gzip.BadGzipFile) and str(error).startswith("Not a gzipped"):
        return UserError(f"{path} is no gzip file, whatever its ending says; name it without .gz, or compress it")
    return UserError(f"{path} is damaged {where} ({str(error).strip('.').lower()})")


class _Zstandard(io.RawIOBase):
    """Zstandard frames one after another; the library's own reader does not notice a truncated file."""

    def __init__(self, path: Path) -> None:
        try:
            import zstandard
        except ImportError:
            raise UserError(f"{path}: {NEEDS.format('zstandard', 'data')}") from None
        self._library = zstandard
        self._file = path.open("rb")
        self._frame: Any = None
        self._rest = b""  # compressed bytes that follow the last frame
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            # A small bite, because 8 KiB may unfold to many MB.
            bite = self._rest or self._file.read(8192)
            if not bite:
                if self._frame is not None:
                    raise EOFError("compressed file ended before the end-of-stream marker was reached")
                return 0
            self._frame = self._frame or self._library.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(bite))
            except self._library.ZstdError as error:
                raise EOFError(str(error)) from None
            self._rest = b""
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
