"""Files are whole or not there, whatever fails: a file that cannot grow, a full disk, a locked folder."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from disk import largest_file
from psitext.errors import UserError
from psitext.files import append_line, check_place, folder_atomic, left_over, locked, sha256, usual_mode, write_atomic


def failing(code: int) -> object:
    def fail(*arguments: object, **named: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_known_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.txt"
    write_atomic(path, "first ü")
    assert path.read_bytes() == "first ü".encode()
    write_atomic(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert names(path.parent) == ["a.txt"]
    assert sha256(path) == hashlib.sha256(b"\x00\xff").hexdigest()


def test_law_what_cannot_be_written_leaves_no_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    for write in (lambda path: write_atomic(path, "new"), fill):
        with pytest.raises(UserError, match=r"cannot write .*: the disk is full; what was there is as it was"):
            write(tmp_path / "new" / "folder" / "a")
        assert names(tmp_path) == []


def test_law_a_file_that_cannot_grow_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_atomic(path, b"old")
    with (
        largest_file(10_000),
        pytest.raises(UserError, match=r"cannot write .*a\.bin: .*what was there is as it was"),
    ):
        write_atomic(path, bytes(20_000))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "writing there is not allowed"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_known_reasons_are_given_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(code))
        with pytest.raises(UserError, match=f"cannot write {path}: {reason}"):
            write_atomic(path, "new")
        with pytest.raises(UserError, match=f"cannot write {tmp_path / 'b'}: {reason}"):
            fill(tmp_path / "b")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_known_a_locked_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UserError, match="writing there is not allowed"):
            write_atomic(tmp_path / "a.txt", "new")
        with pytest.raises(UserError, match="writing there is not allowed"), folder_atomic(tmp_path / "b"):
            pass
    finally:
        tmp_path.chmod(0o700)
    assert names(tmp_path) == []


def test_known_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for write in (lambda path: write_atomic(path, "y"), lambda path: append_line(path, "y"), fill):
        with pytest.raises(UserError, match="cannot write"):
            write(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "x"
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="that is a folder"):
        write_atomic(tmp_path / "folder", "y")
    assert names(tmp_path) == ["file", "folder"]


def fill(path: Path, content: str = "new") -> None:
    with folder_atomic(path) as part:
        (part / "deep").mkdir()
        (part / "deep" / "a.txt").write_text(content)
        assert not path.exists() or (path / "deep" / "a.txt").read_text() != content, "seen before it was whole"


def test_known_a_folder_appears_whole_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "above" / "model"
    fill(path, "first")
    fill(path, "second")
    assert (path / "deep" / "a.txt").read_text() == "second"
    assert names(path.parent) == ["model"]


@pytest.mark.parametrize("error", [ValueError("mine"), UserError("mine"), KeyboardInterrupt("mine")])
def test_law_a_failure_inside_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    def fail() -> None:
        with folder_atomic(tmp_path / "model") as part:
            (part / "half.txt").write_text("half")
            raise error

    with pytest.raises(type(error), match="mine"):
        fail()
    assert names(tmp_path) == []
    fill(tmp_path / "model", "old")
    with pytest.raises(type(error), match="mine"):
        fail()
    assert names(tmp_path) == ["model"]
    assert (tmp_path / "model" / "deep" / "a.txt").read_text() == "old"


def test_law_a_folder_that_cannot_take_its_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    fill(path, "old")
    rename = Path.rename

    def fail_for_the_new_one(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail_for_the_new_one)
        with pytest.raises(UserError, match="what was there is as it was"):
            fill(path, "new")
    assert (path / "deep" / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_known_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "log.jsonl"
    append_line(path, '{"step": 1}')
    append_line(path, '{"city": "Zürich"}')
    assert path.read_text(encoding="utf-8").splitlines() == ['{"step": 1}', '{"city": "Zürich"}']


def test_law_a_line_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_line(path, "a" * 6_000)
    with largest_file(10_000), pytest.raises(UserError, match="cannot write"):
        append_line(path, "b" * 6_000)
    assert path.read_bytes() == b"a" * 6_000 + b"\n"


def test_law_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "run" / ".lock"
    for _ in range(2):  # what is let go can be taken again
        with locked(path):
            assert path.read_text() == str(os.getpid())
            sentence = rf"another process \({os.getpid()}\) is at work in {path.parent}; wait until it has ended"
            with pytest.raises(UserError, match=sentence), locked(path):
                raise AssertionError("two are in")
            assert path.exists(), "the one that was refused took it away"
        assert names(path.parent) == []
    with locked(path):  # somebody moves the folder and starts anew in its place: that lock is not ours to remove
        path.parent.rename(tmp_path / "moved")
        with locked(path):
            pass
        write_atomic(path, "4711")
    assert path.read_text() == "4711"


def test_law_a_killed_process_lets_go(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    code = f"""
import time
from pathlib import Path
from psitext.files import locked
with locked(Path({str(path)!r})):
    print("in", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "in\n"
        with pytest.raises(UserError, match=rf"another process \({child.pid}\) is at work"), locked(path):
            pass
        child.kill()
    assert path.exists()
    with locked(path):
        assert path.read_text() == str(os.getpid())
    assert names(tmp_path) == []


def test_known_a_system_without_locks_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with locked(tmp_path / ".lock"), locked(tmp_path / ".lock"):
        append_line(tmp_path / "log", "a")
    assert names(tmp_path) == ["log"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_law_a_librarys_file_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    path = tmp_path / "a.bin"
    before = os.umask(umask)
    try:
        with usual_mode(path):
            path.unlink()
            path.touch(mode=0o600)  # as safetensors does it
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


def test_known_names_that_a_kill_leaves(tmp_path: Path) -> None:
    for write in (lambda path: write_atomic(path, "new"), fill):
        with pytest.MonkeyPatch.context() as patch:  # a kill cleans nothing up
            patch.setattr(os, "fsync", failing(errno.EIO))
            patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
            patch.setattr("shutil.rmtree", lambda path, ignore_errors=False: None)
            with pytest.raises(UserError):
                write(tmp_path / f"a{write is fill}.json")
    assert len(names(tmp_path)) == 2 and all(map(left_over, tmp_path.iterdir()))
    assert not any(map(left_over, map(Path, ["a.json", ".lock", ".a.part", "a.1.part", ".a.b.part", ".a.1.old.txt"])))


@pytest.mark.parametrize("folder", [False, True])
def test_law_a_place_is_tried_and_left_as_it_was(tmp_path: Path, folder: bool) -> None:
    (tmp_path / "a.txt").write_text("old")
    for name in ("new.txt", "new/deep/er.txt", "a.txt"):
        if folder and name == "a.txt":
            continue
        check_place(tmp_path / name, folder=folder)
    (tmp_path / "there").mkdir()
    if folder:
        check_place(tmp_path / "there", folder=True)
    assert names(tmp_path) == ["a.txt", "there"] and (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "folder", "why"),
    [
        ("there", False, "that is a folder"),
        ("a.txt", True, "that is a file, and a folder is to be there"),
        ("a.txt/b", False, "a part of that path is a file"),
        ("a.txt/b/c", True, "a part of that path is a file"),
        ("n" * 300, False, "the name is too long"),
        (os.devnull, False, "that is a device"),
        ("/proc/nothing/x", False, "writing there is not allowed"),
    ],
)
def test_known_places_that_are_refused(tmp_path: Path, name: str, folder: bool, why: str) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "there").mkdir()
    with pytest.raises(UserError, match=f"^cannot write .*: {why}; nothing was changed$"):
        check_place(tmp_path / name, folder=folder)
    assert names(tmp_path) == ["a.txt", "there"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_law_a_full_or_read_only_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(os, "fsync", failing(code))
    with pytest.raises(UserError, match=r"cannot write .*nothing was changed"):
        check_place(tmp_path / "new" / "a.txt")
    assert names(tmp_path) == []
