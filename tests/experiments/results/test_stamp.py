"""experiments/stamp.py: the commit is ours or unknown, threads and versions are what runs."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from psitext.experiments.results import stamp


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def fresh() -> str:
    """The commit as a new process finds it."""
    stamp.commit.cache_clear()
    found = stamp.commit()
    stamp.commit.cache_clear()
    return found


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a stamp.py of its own, which the module takes for itself."""
    file = tmp_path / "src" / "stamp.py"
    file.parent.mkdir()
    file.write_text("one")
    git(tmp_path, "init", "-q")
    monkeypatch.setattr(stamp, "__file__", str(file))
    return tmp_path


def test_known_commit_of_a_clean_and_of_a_changed_checkout(checkout: Path) -> None:
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    name = git(checkout, "rev-parse", "HEAD")
    assert fresh() == name
    (checkout / "scratch.txt").write_text("not tracked, so no change")
    assert fresh() == name
    (checkout / "src" / "stamp.py").write_text("two")
    assert fresh() == f"{name}+changes"


def test_known_a_repository_around_an_installation_is_not_ours(checkout: Path) -> None:
    (checkout / "README").write_text("someone's project")
    git(checkout, "add", "README")
    git(checkout, "commit", "-q", "-m", "theirs")
    assert fresh() == stamp.UNKNOWN


def test_known_no_repository_no_git(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(checkout, "add", ".")
    assert fresh() == stamp.UNKNOWN  # tracked, but nothing committed yet
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert fresh() == stamp.UNKNOWN


def test_known_versions_are_those_installed() -> None:
    found = stamp.versions()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == metadata.version("numpy")
    assert all(isinstance(version, str) and version for version in found.values())


def test_known_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(get_num_threads=lambda: 7))
    assert stamp.threads() == 7
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert stamp.threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert stamp.threads() >= 1


def test_law_the_stamp_loads_nothing() -> None:
    code = (
        "import sys; from psitext.experiments.results.stamp import *; versions(); threads(); commit();"
        "print({'torch', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
