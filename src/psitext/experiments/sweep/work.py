"""Work on a sweep: what is missing is trained, in pieces that fit the cache, over processes or a cluster.

A piece is some restarts of one bond dimension. It leaves one result line when it is done, so a sweep that was stopped
loses the pieces that were at work, and nothing is done twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from psitext.config import recipe_hash
from psitext.errors import UserError
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.sweep import ensemble, flatten, measure, reading
from psitext.experiments.sweep.protocol import Protocol, Sweep
from psitext.experiments.sweep.reading import Data
from psitext.files import locked, saying_why
from psitext.nn.scan.recurrence import models_at_once

MOST_AT_ONCE = 25  # restarts of a piece: what a stop can lose


@dataclass(frozen=True, slots=True)
class Piece:
    """Some restarts of one bond dimension."""

    bond: int
    seeds: tuple[int, ...]


def pieces(sweep: Sweep) -> list[Piece]:
    """All pieces, the longest first, so that no process is left alone with one at the end."""
    found = []
    for bond in sorted(set(sweep.bonds), reverse=True):
        size = min(MOST_AT_ONCE, models_at_once(sweep.protocol.batch * sweep.protocol.steps, bond))
        seeds = range(1, sweep.restarts + 1)
        found += [Piece(bond, tuple(seeds[at : at + size])) for at in range(0, sweep.restarts, size)]
    return found


def missing(sweep: Sweep, results: Path) -> list[Piece]:
    """What no result line has: of every piece the restarts that are left."""
    found = []
    for piece in pieces(sweep):
        done = _done(sweep.protocol, piece.bond, results)
        left = tuple(seed for seed in piece.seeds if seed not in done)
        found += [Piece(piece.bond, left)] if left else []
    return found


def work(
    sweep: Sweep,
    results: Path,
    data_dir: Path | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> int:
    """Train what is missing; returns how many pieces were done now.

    ``jobs`` processes of one thread each; ``cluster`` "dask://host:port" or "ray://host:port" in their place. Errors:
    lines of this protocol that were made from other rows; another process at work on the same file.
    """
    protocol = sweep.protocol
    with _backend(cluster):
        data = reading.read(protocol, data_dir)
        _check_rows(protocol, results, data)
        wanted = missing(sweep, results)
        if not wanted:
            return 0
        tell(f"{len(data.train):,} rows to train on, {len(data.test):,} to test on, {data.words - 1:,} words")
        with saying_why(results.parent):
            results.parent.mkdir(parents=True, exist_ok=True)
        with locked(results.with_name(f".{results.name}.lock")):
            with saying_why(results):
                results.touch()  # before anything is trained that could not be kept
            vectors = None
            if protocol.words == "flatten":
                vectors, losses = flatten.word_vectors(protocol, data)
                tell(f"word vectors: {len(losses)} epochs, loss {losses[-1]:.4f}")
            for line in _trained([(protocol, piece, data, vectors) for piece in wanted], jobs, cluster):
                lines.append(results, line)
                tell(f"{line.task}: {_told(line)}")
    return len(wanted)


def _trained(
    work: Sequence[tuple[Protocol, Piece, Data, Tensor | None]], jobs: int, cluster: str | None
) -> Iterator[ResultLine]:
    """The lines of pieces as they are done, by ``jobs`` processes or by all that the cluster has."""
    from joblib import Parallel, delayed, effective_n_jobs

    calls = [delayed(_train)(*piece) for piece in work]
    if cluster is None:
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered", inner_max_num_threads=1)(calls)
    elif cluster.startswith("dask"):
        yield from Parallel(n_jobs=-1, return_as="generator_unordered")(calls)
    else:  # Ray answers when all of a call is done: one piece for each of its processors at a time is what can be lost
        for first in range(0, len(calls), wave := max(1, effective_n_jobs(-1))):
            yield from Parallel(n_jobs=-1)(calls[first : first + wave])


def _check_rows(protocol: Protocol, results: Path, data: Data) -> None:
    """Refuse to go on with lines that were made from other rows under the same task."""
    for line in lines.newest(results):
        if line.recipe == recipe_hash(protocol) and line.notes.get("data", data.fingerprint) != data.fingerprint:
            raise UserError(
                f"{results} holds lines of this sweep that were made from other rows of {protocol.task}; name another "
                "folder, or take that file away"
            )


def _train(protocol: Protocol, piece: Piece, data: Data, vectors: Tensor | None) -> ResultLine:
    began = time.monotonic()
    torch.set_num_threads(1)
    seeds, parent = list(piece.seeds), os.getppid()

    def watch(epoch: int, alive: int, loss: float) -> None:
        """A worker whose sweep was killed would train on for nobody."""
        if current_process().name != "MainProcess" and os.getppid() != parent:
            raise SystemExit(1)

    trained = ensemble.train(protocol, piece.bond, data.train, data.words, vectors, seeds, watch)
    start = ensemble.fresh(protocol, piece.bond, data.words, seeds)
    found = measure.measure(protocol, data, vectors, trained, start)
    return ResultLine(
        run=named(protocol),
        task=f"chi = {piece.bond}",
        split="test",
        metrics=means([one.record() for one in found]),
        recipe=recipe_hash(protocol),
        seed=seeds[0],
        rows={"train": len(data.train), "test": len(data.test)},
        seconds=round(time.monotonic() - began, 1),
        threads=1,
        commit=stamp.commit(),
        versions=stamp.versions(),
        finished=lines.now(),
        notes={"bond": piece.bond, "data": data.fingerprint, "restarts": [one.record() for one in found]},
    )


def named(protocol: Protocol) -> str:
    """What a protocol is called in a table."""
    fixed = "fixed words" if protocol.words == "flatten" else "joint words"
    usual = Protocol()
    said = (
        ", last words" if protocol.keep == "last" else "",
        f", {fixed}, d_I = {protocol.features}",
        f", {protocol.init} start" if protocol.init != usual.init else "",
        ", no biases" if not protocol.biases else "",
    )
    return f"{protocol.task}, T = {protocol.steps}{''.join(said)}"


def means(records: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the restarts that did not diverge, and how many there were of both."""
    good = [record for record in records if not record["diverged"]]
    names = [name for name in records[0] if name not in ("seed", "spectrum", "diverged")]
    values = {name: [record[name] for record in good if record[name] is not None] for name in names}
    found = {name: float(np.mean(some)) for name, some in values.items() if some}
    return found | {"restarts": float(len(records)), "diverged": float(len(records) - len(good))}


def _done(protocol: Protocol, bond: int, results: Path) -> set[int]:
    """Restarts that a result line has."""
    return {
        int(record["seed"])
        for line in lines.newest(results)
        if line.recipe == recipe_hash(protocol) and line.notes.get("bond") == bond
        for record in line.notes.get("restarts", ())
    }


def _told(line: ResultLine) -> str:
    shown = ("restarts", "train accuracy", "test accuracy", "entropy bits", "epochs", "diverged")
    return ", ".join(f"{name} {line.metrics[name]:.4g}" for name in shown if name in line.metrics)


@contextmanager
def _backend(cluster: str | None) -> Iterator[None]:
    """Where joblib sends the pieces, left again at the end."""
    if cluster is None:
        yield
        return
    from joblib import parallel_config

    kind, _, address = cluster.partition("://")
    if kind == "dask":
        distributed = _cluster_library("dask.distributed", "dask[distributed]")
        with distributed.Client(address) as client, parallel_config(backend="dask", client=client):
            yield
    elif kind == "ray":
        ray = _cluster_library("ray", "ray[client]")
        _cluster_library("ray.util.joblib", "ray[client]").register_ray()
        with ray.init(address=f"ray://{address}"), parallel_config(backend="ray"):
            yield
    else:
        raise UserError(f"--cluster takes dask://host:port or ray://host:port, not {cluster!r}")


def _cluster_library(module: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise UserError(f"that cluster needs {package}: pip install '{package}'") from None
