"""Disks that are full or read-only: one sentence, and every file that was there is as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import door
import toys


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("disk")
    (folder / "pretrain.toml").write_text(toys.PRETRAIN, encoding="utf-8")
    (folder / "finetune.toml").write_text(toys.FINETUNE, encoding="utf-8")
    toys.table(folder / "good.csv", [("text", "label"), *toys.words_and_labels(60)])
    shutil.copytree(toys.trained("words"), folder / "run")
    (folder / "predicted.csv").write_text("of yesterday")
    return folder


VERBS = {
    "pretrain --config pretrain.toml -o out": 500,
    "pretrain --config pretrain.toml -o out --set tokenizer.load=run/tokenizer.json": 5_000,  # the token store
    "finetune --config finetune.toml --data good.csv -o out": 500,
    "predict good.csv -m run -o predicted.csv": 500,
    "encode good.csv -m run -o out.npz": 500,
    "encode good.csv -m run -o out.jsonl": 500,
    "predict good.csv -m run -o new/folder/predicted.csv": 500,
    "export -m run -o exported": 5_000,
    "report run -o report.html": 500,
}


LEFT = ("; nothing was changed", "; what was there is as it was")


def refused(done: door.Done, left: str | tuple[str, ...] = LEFT) -> None:
    assert "Traceback" not in done.err, done.err
    assert done.code == 2, done
    last = done.err.splitlines()[-1]
    assert last.startswith("psitext: cannot write ") and last.endswith(left), done.err


@pytest.mark.parametrize("command", VERBS)
def test_law_a_full_disk_changes_nothing(place: Path, command: str) -> None:
    before = door.files(place)
    done = door.run(*command.split(), cwd=place, largest=VERBS[command])
    refused(done)
    assert "the file would be larger than the system allows" in done.err or "File too large" in done.err
    assert door.files(place) == before
    assert not (place / "new").exists()


@pytest.mark.parametrize("verb", ["pretrain", "finetune"])
def test_law_a_disk_that_fills_up_while_a_run_trains_leaves_what_can_go_on(place: Path, verb: str) -> None:
    data = [] if verb == "pretrain" else ["--data", "good.csv"]
    order = [verb, "--config", f"{verb}.toml", *data, "-o"]
    size = (place / "run" / "model" / "model.safetensors").stat().st_size
    done = door.run(*order, f"{verb}-full", cwd=place, largest=size + size // 2)  # the moments are twice the weights
    refused(done, f"; the run in {verb}-full is kept, and `psitext resume {verb}-full` goes on with it")
    assert f"{verb}-full/checkpoints/step-00000004" in done.err
    assert list((place / f"{verb}-full").rglob(".*")) == []
    assert door.run("resume", f"{verb}-full", cwd=place).code == 0
    assert door.run(*order, f"{verb}-whole", cwd=place).code == 0
    assert door.files(place / f"{verb}-full" / "model") == door.files(place / f"{verb}-whole" / "model")
    assert toys.events(place / f"{verb}-full") == toys.events(place / f"{verb}-whole")


def test_law_a_disk_that_fills_up_in_a_later_seed_tells_of_the_runs_before(place: Path) -> None:
    order = "finetune --config finetune.toml --data good.csv -o seeds --set train.steps=2 --seeds 2".split()
    done = door.start(*order, cwd=place, before=FULL.format("seed-1")).wait()
    refused(done, "; the runs in seeds are kept, and the same command, with all 2 seeds, goes on with them")
    assert "seeds/seed-1/" in done.err and "the disk is full" in done.err
    assert (place / "seeds" / "seed-0" / "result.json").exists() and not (place / "seeds" / "seed-1").exists()
    assert door.run(*order, cwd=place).code == 0


def test_law_scores_that_cannot_be_written_leave_no_folder_for_them(place: Path) -> None:
    before = door.files(place)
    order = "evaluate -m run --data good.csv -o new/folder/scores.csv".split()
    done = door.start(*order, cwd=place, before=FULL.format("scores.csv")).wait()
    refused(done, "cannot write new/folder/scores.csv: the disk is full; what was there is as it was")
    assert "accuracy" in done.out, "what is scored is seen"
    assert door.files(place) == before and not (place / "new").exists()


FULL = """
import errno, os
from psitext import files
def full(path, data, own=files._write_through):
    if "{}" in str(path) and data != b"\\0":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    own(path, data)
files._write_through = full
"""


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing can be written: by its mode, or for root by its file system."""
    folder = tmp_path / "locked"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("root may write everywhere, and may not mount a read-only file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_law_a_read_only_place_is_refused(place: Path, locked: Path) -> None:
    before = door.files(place)
    commands = [
        f"pretrain --config pretrain.toml -o {locked}/out",
        f"finetune --config finetune.toml --data good.csv -o {locked}/out",
        f"predict good.csv -m run -o {locked}/predicted.csv",
        f"encode good.csv -m run -o {locked}/states.npy",
        f"export -m run -o {locked}/exported",
        f"report run -o {locked}/report.html",
    ]
    for command in commands:
        done = door.run(*command.split(), cwd=place)
        refused(done)
        assert "the file system is read-only" in done.err or "writing there is not allowed" in done.err
    assert door.files(place) == before
    assert list(locked.iterdir()) == []
