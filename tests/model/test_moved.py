"""Model folders that were moved, copied badly or tampered with: what loads elsewhere, and what is said of the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import door
import racs
import toys
from psitext.errors import UserError
from psitext.files import sha256
from psitext.model import load

READ = """
import sys
import numpy as np
import psitext
np.save(sys.argv[2], psitext.load(sys.argv[1]).encode(["good fine", "dull"]).numpy())
"""
FILES = ["config.json", "model.safetensors", "tokenizers/text.json", "law.safetensors"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder of every kind of file: a circuit has a law of words."""
    return racs.model().save(tmp_path / "model")


def test_known_every_file_has_its_checksum_under_a_portable_name(saved: Path) -> None:
    sums = json.loads((saved / "checksums.json").read_text(encoding="utf-8"))
    there = {path.relative_to(saved).as_posix() for path in saved.rglob("*") if path.is_file()}
    assert sums.keys() == there - {"checksums.json"} == {*FILES, "card.md"}


def test_law_a_fresh_interpreter_reads_a_moved_read_only_folder(tmp_path: Path) -> None:
    """From another working directory, under a name with spaces and letters of several scripts; nothing is written."""
    expected = load(toys.trained("words")).encode(["good fine", "dull"]).numpy()
    moved = tmp_path / "a b" / "modèle 模型 #1%"
    shutil.copytree(toys.trained("words") / "model", moved)
    for path in (*moved.rglob("*"), moved):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before, away = door.files(moved), tmp_path / "away"
    away.mkdir()
    try:
        command = [sys.executable, "-c", READ, str(moved), str(away / "out.npy")]
        done = subprocess.run(command, cwd=away, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert np.array_equal(np.load(away / "out.npy"), expected)
        assert door.files(moved) == before
    finally:
        for path in (moved, *moved.rglob("*")):
            path.chmod(0o755)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_law_a_flipped_bit_anywhere_names_its_file(saved: Path, name: str, where: str) -> None:
    content = bytearray((saved / name).read_bytes())
    content[{"first": 0, "middle": len(content) // 2, "last": -1}[where]] ^= 1
    (saved / name).write_bytes(content)
    refused(saved, name, "is damaged: its checksum is not the one it was saved with")


@pytest.mark.parametrize("name", FILES)
def test_law_a_file_that_is_cut_short_or_missing_is_named(saved: Path, name: str) -> None:
    content = (saved / name).read_bytes()
    for kept in (0, 1, len(content) - 1):
        (saved / name).write_bytes(content[:kept])
        refused(saved, name, "is damaged")
    (saved / name).unlink()
    if name == "config.json":
        refused(saved, name, "is not a model: it has no")
    else:
        refused(saved, name, "is missing; a fresh copy of the model is needed")


@pytest.mark.parametrize("name", ["config.json", "tokenizers/text.json"])
def test_known_line_ends_that_a_copy_has_changed_are_damage(saved: Path, name: str) -> None:
    content = (saved / name).read_bytes()
    (saved / name).write_bytes((content + b"\n").replace(b"\n", b"\r\n"))
    refused(saved, name, "is damaged: its checksum")


def test_known_checksums_with_other_line_ends_are_the_same(saved: Path) -> None:
    file = saved / "checksums.json"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert load(saved).task is not None


def test_law_files_beside_the_model_do_no_harm(saved: Path) -> None:
    expected = load(saved).encode(["a fine film"]).numpy()
    (saved / "notes.txt").write_text("mine")
    (saved / ".DS_Store").write_bytes(b"\0\1")
    (saved / "deeper").mkdir()
    (saved / "deeper" / "config.json").write_text("{}")
    assert np.array_equal(load(saved).encode(["a fine film"]).numpy(), expected)


def test_known_what_a_system_puts_beside_a_tokenizer_is_none(saved: Path) -> None:
    (saved / "tokenizers" / "._text.json").write_bytes(b"\x00\x05\x16\x07")
    assert set(load(saved).tokenizers) == {"text"}


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/hostname"])
def test_known_checksums_name_no_file_elsewhere(saved: Path, name: str) -> None:
    sums = json.loads((saved / "checksums.json").read_text(encoding="utf-8"))
    (saved / "checksums.json").write_text(json.dumps(sums | {name: "0"}), encoding="utf-8")
    with pytest.raises(UserError, match="which is no file of the model"):
        load(saved)


def test_law_a_link_counts_by_its_content(saved: Path, tmp_path: Path) -> None:
    """Stores that share equal files link out of the folder; the checksum says whether it is the right one."""
    outside = tmp_path / "store.bin"
    (saved / "model.safetensors").rename(outside)
    try:
        (saved / "model.safetensors").symlink_to(outside)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert load(saved).task is not None
    outside.write_bytes(outside.read_bytes()[:-1] + b"\0")
    refused(saved, "model.safetensors", "is damaged")
    outside.unlink()
    refused(saved, "model.safetensors", "is missing")


@pytest.mark.parametrize("found", [0, 2, "1", None])
def test_known_another_format_is_told_from_damage(saved: Path, found: object) -> None:
    tree = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    (saved / "config.json").write_text(json.dumps(tree | {"format": found}), encoding="utf-8")
    sums = json.loads((saved / "checksums.json").read_text(encoding="utf-8"))
    (saved / "checksums.json").write_text(json.dumps(sums | {"config.json": sha256(saved / "config.json")}))
    refused(saved, "model", f"has format {found}; this psitext reads format 1")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_known_a_file_that_may_not_be_read(saved: Path) -> None:
    (saved / "model.safetensors").chmod(0)
    refused(saved, "model", "Permission denied")


def test_known_the_command_says_it_in_one_line(saved: Path, tmp_path: Path) -> None:
    (saved / "model.safetensors").write_bytes(b"x")
    done = door.run("encode", "a fine film", "--model", saved, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("psitext: ") and done.err.count("\n") == 1 and "model.safetensors is damaged" in done.err


def refused(folder: Path, name: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        load(folder)
    said = str(caught.value)
    assert name in said and sentence in said and "\n" not in said
