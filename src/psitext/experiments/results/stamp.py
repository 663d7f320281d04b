"""The stamp of a result: which code, which versions, how many threads. Nothing is imported for it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

UNKNOWN = "unknown"
_PACKAGES = (
    "psitext",
    "torch",
    "numpy",
    "tokenizers",
    "accelerate",
    "scikit-learn",
    "scipy",
    "safetensors",
    "transformers",
    "lambeq",
    "qiskit",
    "qiskit-aer",
    "mthree",
)


@cache
def commit() -> str:
    """The git commit of psitext's own sources, with ``+changes`` when tracked files differ from it.

    ``unknown`` where psitext is installed without its repository; a repository that merely lies around the
    installation (a project with its own ``.venv``) does not count, because it does not track this file.
    """
    here = Path(__file__)
    if _git("ls-files", "--error-unmatch", here.name, cwd=here.parent) is None:
        return UNKNOWN
    name = _git("rev-parse", "HEAD", cwd=here.parent)
    changes = _git("status", "--porcelain", "--untracked-files=no", cwd=here.parent)
    if name is None:
        return UNKNOWN
    return f"{name}+changes" if changes else name


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return tuple(found.items())


def versions() -> dict[str, str]:
    """Versions of Python, the system and the installed packages that results depend on."""
    return dict(_versions())


def threads() -> int:
    """Threads of one operation: torch's where it is loaded, else OMP_NUM_THREADS, else our cores."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _git(*arguments: str, cwd: Path) -> str | None:
    """Output of one git command, or None where it fails or git is missing."""
    try:
        done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
