"""Files that are whole or not there: write beside, flush to disk, rename.

A kill, a full disk or a read-only folder leaves the old file as it was, and no folder that was made for the new one.
The system's reasons become one sentence for the user.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from psitext.errors import UserError

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "writing there is not allowed",
    errno.EPERM: "writing there is not allowed",
    errno.ENOTDIR: "a part of that path is a file",
    errno.EISDIR: "that is a folder",
    errno.EEXIST: "a part of that path is a file",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.ENAMETOOLONG: "the name is too long",
}
UNCHANGED, KEPT = "nothing was changed", "what was there is as it was"  # of a try, and of one write among several
_LEFT = re.compile(r"\..+\.\d+\.(part|old)")  # the names below that a kill may leave


class Unwritten(UserError):
    """A path that could not be written, and why; ``left`` says what there is now: of several writes, who makes them."""

    def __init__(self, path: Path, why: str, left: str = KEPT) -> None:
        super().__init__(path, why, left)  # as the arguments that make it, since errors travel between processes
        self.path, self.why, self.left = path, why, left

    def __str__(self) -> str:
        return f"cannot write {self.path}: {self.why}; {self.left}"


@contextmanager
def saying_why(path: Path, left: str = KEPT) -> Iterator[None]:
    """Turn an OSError of writing ``path`` into an Unwritten that says why in words, and what is ``left``; one of
    reading something else passes.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename and not _inside(Path(error.filename), path.parent):
            raise
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise Unwritten(path, reason, left) from error


def os_error(error: Exception, path: Path) -> OSError:
    """The system's error that a library wrapped in an exception of its own ("... (os error 28)")."""
    number = re.search(r"os error (\d+)", str(error))
    return OSError(int(number[1]) if number else errno.EIO, str(error), str(path))


def check_place(path: Path, *, folder: bool = False) -> None:
    """Refuse a place that ``write_atomic`` (``folder``: ``folder_atomic``) could not write, before the work for it.

    A byte is written beside it, or in the nearest folder above that is there, and removed; nothing else is made.
    Errors: a folder, or of a ``folder`` a file, of that name; a device; a file among the folders above; a place that is
    read-only, or full.
    """
    with saying_why(path, UNCHANGED):
        if path.is_dir() and not folder:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if path.exists() and not path.is_dir() and (folder or not path.is_file()):
            kind = "a file" if path.is_file() else "a device"
            wanted = ", and a folder is to be there" if folder else ""
            raise Unwritten(path, f"that is {kind}{wanted}", UNCHANGED)
        above = next(place for place in path.absolute().parents if os.path.lexists(place))
        first = path.absolute().relative_to(above).parts[0]
        _check_beside(above / first)


def holds_another(path: Path, marks: Sequence[str]) -> bool:
    """True where there is a file, or a folder with something in it that lacks one of the files ``marks``: what a folder
    of that kind may not replace.
    """
    if not path.exists() or all((path / name).is_file() for name in marks):
        return False
    return path.is_file() or any(path.iterdir())


def _check_beside(path: Path) -> None:
    """Write a byte where the content of ``path`` would be written first."""
    beside = _named(path, "part")
    try:
        _write_through(beside, b"\0")
    except FileNotFoundError:  # how /proc and its like say it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path)) from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Replace ``path`` by ``content`` in one step."""
    data = content.encode() if isinstance(content, str) else content
    with saying_why(path), _folders_above(path):
        beside = _named(path, "part")
        try:
            _write_through(beside, data)
            beside.replace(path)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
        _sync_folder(path.parent)


@contextmanager
def folder_atomic(path: Path) -> Iterator[Path]:
    """Fill a temporary sibling folder; it becomes ``path`` when the block ends well, and is removed when it does not.

    An existing ``path`` is replaced: it is moved aside before the new one takes its name, then deleted.
    """
    beside, aside = _named(path, "part"), _named(path, "old")
    with saying_why(path), _folders_above(path):
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        try:
            with _called(beside, path):
                yield beside
            for file in beside.rglob("*"):
                if file.is_file():
                    _sync(file)
            _take_place(beside, path, aside)
            _sync_folder(path.parent)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def _folders_above(path: Path) -> Iterator[None]:
    """The folders that ``path`` lies in, made where they are not there; if the block fails, those are taken back that
    are still empty.
    """
    new = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def _called(beside: Path, path: Path) -> Iterator[None]:
    """A mistake inside the temporary folder speaks of the name that the user knows."""
    try:
        yield
    except UserError as error:
        if str(beside) not in str(error):
            raise
        if isinstance(error, Unwritten):
            named = Path(str(error.path).replace(str(beside), str(path)))
            raise Unwritten(named, error.why, error.left) from error.__cause__
        raise UserError(str(error).replace(str(beside), str(path))) from error.__cause__


def _take_place(new: Path, path: Path, aside: Path) -> None:
    """Rename ``new`` to ``path``; an older folder there is set aside first, and put back when that fails."""
    replaced = path.exists()
    if replaced:
        path.rename(aside)
    try:
        new.rename(path)
    except OSError:
        if replaced:
            aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def left_over(path: Path) -> bool:
    """True for what a killed process left of writing something; for one at work it is what it writes."""
    return _LEFT.fullmatch(path.name) is not None


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def usual_mode(path: Path) -> Iterator[None]:
    """A file that a library writes in the block may be read by whom the process's umask says, like any other."""
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    yield
    path.chmod(mode)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep what ``path`` stands for to this process; the file is there for as long as the block lasts.

    The system lets go of it when the process ends, however that comes about. Where it has no such locks (Windows),
    one process at a time is up to the user. Errors: another process holds it.
    """
    try:
        import fcntl  # noqa: F401 - asked for only
    except ImportError:
        yield
        return
    with saying_why(path.parent), _folders_above(path):
        file = _held(path)
    try:
        yield
    finally:
        if _is(file, path):
            remove(path)  # while it is held: later it could be another's
        file.close()


def _held(path: Path) -> BinaryIO:
    """The open and locked file, with the process's id in it for the sentence that the next one reads."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a+b", buffering=0)
        except FileNotFoundError:  # the folder went in between: its holder undid what it had made
            continue
        try:
            _lock(file.fileno(), wait=False)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode(errors="replace")
            file.close()
            who = f"another process ({holder})" if holder.isdigit() else "another process"
            raise UserError(f"{who} is at work in {path.parent}; wait until it has ended") from None
        if _is(file, path):  # not one that its holder removed before it let go
            break
        file.close()
    with suppress(OSError):  # a full disk leaves no room for the id; the lock holds
        file.truncate(0)
        file.write(str(os.getpid()).encode())
    return file


def _is(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def append_line(path: Path, line: str, *, durable: bool = False) -> None:
    """Append one line, or several with their ends between them, whole or not at all; several processes may append to
    one file.

    A disk that fills up on the way leaves the file as it was. With ``durable`` the line is on the disk when the
    call returns.
    """
    with saying_why(path), _folders_above(path), path.open("ab", buffering=0) as file:
        _lock(file.fileno())
        size = file.seek(0, os.SEEK_END)
        rest = line.encode() + b"\n"
        try:
            while rest:
                rest = rest[file.write(rest) :]
            if durable:
                os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def _lock(descriptor: int, *, wait: bool = True) -> None:
    """Keep other processes out until the file is closed, where the system can. Errors: BlockingIOError, when one is
    in and there is no waiting.
    """
    try:
        import fcntl
    except ImportError:  # Windows: one writer at a time is then up to the user
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _inside(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute())


def _named(path: Path, kind: Literal["part", "old"]) -> Path:
    """Where this process keeps what becomes ``path``, or what was there before; ``left_over`` knows such names."""
    return path.with_name(f".{path.name}.{os.getpid()}.{kind}")


def _write_through(path: Path, data: bytes) -> None:
    """Write a file and have it on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # some file systems cannot flush a folder; the rename itself is already ordered
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
