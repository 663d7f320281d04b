"""What this machine can do, and what would be slow on it."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

from psitext.experiments.doctor.finding import Finding
from psitext.nn.numerics import product_seconds

TRIED = 2**24  # bytes written to see how fast a disk is
MEMORY = Path("/proc/meminfo")


def machine() -> Iterator[Finding]:
    """Processor, threads, load, accelerators, precisions, swap."""
    import torch

    cores, threads = os.cpu_count() or 1, torch.get_num_threads()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    yield Finding("machine", "system", f"{platform.system()} {platform.machine()}")
    waiting = "more threads than cores wait for each other; set OMP_NUM_THREADS" if threads > cores else ""
    yield Finding("machine", "torch threads", f"{threads} on {cores} cores", waiting)
    busy = load > 0.7 * cores
    yield Finding(
        "machine",
        "load",
        f"{load:.1f}",
        "other work is running; with OMP_NUM_THREADS=1 threads do not wait for one another" if busy else "",
    )
    yield _accelerator()
    ratio = product_seconds(torch.float32) / product_seconds(torch.bfloat16)
    advice = "" if ratio > 1.25 else "bfloat16 gains nothing on this processor; train.precision = auto keeps float32"
    yield Finding("machine", "bfloat16 products", f"{ratio:.2f} times the speed of float32", advice)
    yield from _swap()


def _accelerator() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("machine", "accelerator", f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}")
    if torch.backends.mps.is_available():
        return Finding("machine", "accelerator", "Apple MPS")
    built = torch.version.cuda
    advice = (
        f"torch is built for CUDA {built} and finds no GPU: a driver is missing, or the smaller and quicker CPU build "
        "would do (pytorch.org)"
        if built
        else ""
    )
    return Finding("machine", "accelerator", "none (the processor is used)", advice)


def _swap() -> Iterator[Finding]:
    """How much memory lies on the disk, where the system tells."""
    if not MEMORY.is_file():
        return
    rows = (line.split() for line in MEMORY.read_text(encoding="utf-8").splitlines())
    kib = {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
    used = (kib.get("SwapTotal", 0) - kib.get("SwapFree", 0)) / 2**20
    free, total = kib.get("MemAvailable", 0) / 2**20, kib.get("MemTotal", 0) / 2**20
    full = total > 0 and (free < 0.1 * total or used > 0.25 * total)
    yield Finding(
        "machine",
        "memory",
        f"{free:.1f} of {total:.1f} GiB free, {used:.1f} GiB swapped",
        "memory is short: what is swapped to the disk runs hundreds of times slower; end other work" if full else "",
    )


def places() -> Iterator[Finding]:
    """Room and speed of the disk here, and the folder of data."""
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding(
        "machine", "free disk here", f"{free:.1f} GiB", "checkpoints need room; free some" if free < 2 else ""
    )
    speed = disk_speed(Path.cwd())
    if speed is None:
        yield Finding("machine", "disk speed here", "not writable", "name another folder with --out")
    else:
        slow = "checkpoints take long here; name a folder on another disk with --out" if speed < 50 else ""
        yield Finding("machine", "disk speed here", f"{speed:.0f} MB a second", slow)
    folder = os.environ.get("PSITEXT_DATA")
    if folder is None:
        advice = "name the folder of GLUE and other data sets, or use --data-dir"
        yield Finding("machine", "PSITEXT_DATA", "not set", advice)
    else:
        there = Path(folder).is_dir()
        yield Finding("machine", "PSITEXT_DATA", folder, "" if there else "there is no such folder")


def disk_speed(folder: Path, size: int = TRIED) -> float | None:
    """Megabytes a second that a new file takes until it is on the disk; None where none can be made."""
    try:
        with NamedTemporaryFile(dir=folder, prefix=".psitext-doctor.") as file:
            began = time.perf_counter()
            file.write(os.urandom(size))
            file.flush()
            os.fsync(file.fileno())
            return size / 1e6 / (time.perf_counter() - began)
    except OSError:
        return None
