"""Files to lines: the one place that opens, decompresses and decodes what a user brings.

No line is read further than the limit, so a file that is no text, or one long line, cannot fill the memory.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from psitext.errors import UserError, near

COMPRESSED = (".gz", ".zst")
MAX_FIELD = 1_000_000  # characters; a longer field of a task is a missing line break or no text at all
NEEDS = "the package {} is needed to read it: pip install 'psitext[{}]'"


def lines(path: Path, limit: int = MAX_FIELD) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends (LF or CRLF); a byte order mark is dropped."""
    most = 8 * limit + 2**20  # bytes: JSON may write a character in six, and a row has more than one field
    number = offset = 0
    with opened(path) as file:
        while True:
            try:
                raw = file.readline(most + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise _unreadable(path, f"after line {number}", error) from None
            if not raw:
                break
            number += 1
            if len(raw) > most:
                room = f"where a field may hold {limit:,} characters"
                raise UserError(f"{path} line {number} is over {most:,} bytes long, {room}; is a line break missing?")
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                utf16 = number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff")
                hint = "; it looks like UTF-16: save it as UTF-8" if utf16 else ""
                where = f"byte {offset + error.start} of the file"
                raise UserError(f"{path} line {number} is not UTF-8 text ({where}){hint}") from None
            offset += len(raw)
            if number == 1:
                text = text.removeprefix("\ufeff")
            if "\0" in text:
                column = text.index("\0") + 1
                raise UserError(f"{path} line {number} holds a NUL character (column {column}); it is no text file")
            if number == 1 and not text.endswith("\n") and "\r" in text.rstrip("\r"):
                raise UserError(f"{path} ends its lines with CR alone, which is not read; save it with LF or CRLF")
            yield number, text.removesuffix("\n").removesuffix("\r")
    if number == 0:
        raise UserError(f"{path} is empty")


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
