"""Packages, by what psitext's own metadata asks for, and the models that come with it."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from psitext.experiments.doctor.finding import Finding
from psitext.files import sha256
from psitext.model import shipped
from psitext.train.checkpoint import CHECKSUMS

PURPOSES = {
    "hf": "data sets and models of the hub, and races against transformers",
    "data": "Parquet and .zst files",
    "report": "curves in reports",
    "track": "TensorBoard logs",
    "qnlp": "DisCoCat",
    "quantum": "circuits",
    "mitigation": "correction of misread qubits",
    "tensor": "other libraries' tensor networks",
    "text": "BLEU as the papers have it",
    "web": "the studio",
    "onnx": "ONNX files",
    "docs": "the site of the pages",
    "dev": "the tests",
}
_ASKED = re.compile(r"([\w.-]+)>=([\w.]+)(?:.*extra == ['\"](\w+)['\"])?")


def packages() -> Iterator[Finding]:
    """Python, and every package that psitext or one of its extras asks for, with what is missing or too old."""
    yield Finding("installed", "python", platform.python_version())
    for line in metadata.requires("psitext") or ():
        asked = _ASKED.match(line)
        if asked is not None:
            yield package(asked[1], asked[2], asked[3])


def package(name: str, lowest: str, extra: str | None) -> Finding:
    """One package against the lowest version that has what is needed; one of an extra may be missing."""
    bracket = f"[{extra}]" if extra else ""
    install = f"pip install --upgrade 'psitext{bracket}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        if extra is None:
            return Finding("installed", name, "not installed", f"nothing works without it: {install}", broken=True)
        return Finding(
            "installed", name, "not installed", f"for {PURPOSES[extra]}: {install.replace(' --upgrade', '')}"
        )
    if older(version, lowest):
        return Finding("installed", name, version, f"older than the {lowest} that is needed: {install}", broken=True)
    return Finding("installed", name, version)


def older(version: str, lowest: str) -> bool:
    """Whether the numbers of a version, up to its first letter, come before those of another."""
    return _numbers(version) < _numbers(lowest)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:  # 2 is 2.0
        numbers.pop()
    return tuple(numbers)


def models() -> Iterator[Finding]:
    """The models that come with psitext, their files checked."""
    names = shipped.names()
    damaged = [name for name in names if not _whole(shipped.located(name))]
    if damaged:
        yield Finding(
            "installed", "shipped models", f"damaged: {', '.join(damaged)}", "install psitext again", broken=True
        )
    elif names:
        yield Finding("installed", "shipped models", ", ".join(names))
    else:
        yield Finding("installed", "shipped models", "none in this copy", "train one, or install a release of psitext")


def _whole(folder: Path) -> bool:
    try:
        sums = dict(json.loads((folder / CHECKSUMS).read_text(encoding="utf-8")))
        return all(sha256(folder / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, TypeError):
        return False
