"""What is installed, what this machine can do, and what would be slow here."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from psitext.nn.numerics import product_seconds

EXTRAS = {
    "transformers": ("hf", "hub models by name and their hub data sets"),
    "datasets": ("hf", "hub data sets by name"),
    "pyarrow": ("data", "Parquet files"),
    "zstandard": ("data", ".zst files"),
    "matplotlib": ("report", "figures in reports"),
    "tensorboard": ("track", "TensorBoard logs"),
    "lambeq": ("qnlp", "DisCoCat"),
    "qiskit": ("quantum", "circuits"),
    "qiskit_aer": ("quantum", "circuits with shots and noise"),
    "pennylane": ("quantum", "circuits in PennyLane"),
    "mthree": ("mitigation", "correction of misread qubits"),
}
CORE = ("torch", "numpy", "tokenizers", "safetensors", "accelerate", "scikit-learn", "scipy", "pydantic")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``advice`` is empty where nothing is to be done."""

    what: str
    found: str
    advice: str = ""


def findings() -> list[Finding]:
    """Look at packages, processor, threads, accelerators, disk and data."""
    return [*_packages(), *_machine(), *_places()]


def _packages() -> Iterator[Finding]:
    yield Finding("python", platform.python_version())
    for name in CORE:
        yield Finding(name, metadata.version(name))
    for name, (extra, purpose) in EXTRAS.items():
        if importlib.util.find_spec(name):
            yield Finding(name, metadata.version(name))
        else:
            yield Finding(name, "not installed", f"for {purpose}: pip install 'psitext[{extra}]'")


def _machine() -> Iterator[Finding]:
    import torch

    cores, threads = os.cpu_count() or 1, torch.get_num_threads()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    yield Finding("system", f"{platform.system()} {platform.machine()}")
    yield Finding(
        "torch threads",
        f"{threads} on {cores} cores",
        "more threads than cores wait for each other; set OMP_NUM_THREADS" if threads > cores else "",
    )
    busy = load > 0.7 * cores
    yield Finding(
        "load",
        f"{load:.1f}",
        "other work is running; with OMP_NUM_THREADS=1 threads do not wait for one another" if busy else "",
    )
    yield Finding("accelerator", _accelerator())
    ratio = product_seconds(torch.float32) / product_seconds(torch.bfloat16)
    advice = "" if ratio > 1.25 else "bfloat16 gains nothing on this processor; train.precision = auto keeps float32"
    yield Finding("bfloat16 products", f"{ratio:.2f} times the speed of float32", advice)


def _accelerator() -> str:
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}"
    return "Apple MPS" if torch.backends.mps.is_available() else "none (the processor is used)"


def _places() -> Iterator[Finding]:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding("free disk here", f"{free:.1f} GiB", "checkpoints need room; free some" if free < 2 else "")
    folder = os.environ.get("PSITEXT_DATA")
    if folder is None:
        yield Finding("PSITEXT_DATA", "not set", "name the folder of GLUE and other data sets, or use --data-dir")
    else:
        there = Path(folder).is_dir()
        yield Finding("PSITEXT_DATA", folder, "" if there else "there is no such folder")
