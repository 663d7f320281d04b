"""How jobs are done: pre-training with its curve, appendix A (the others are in test_work)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import toys
from psitext.config import build
from psitext.experiments import queue
from psitext.experiments.queue import Bench, Queue
from psitext.experiments.queue.ways import dev_curve
from psitext.experiments.results import lines, pages
from psitext.train.loop import Hook


@contextmanager
def quiet(name: str) -> Iterator[Hook]:
    yield lambda event: None


def test_known_curve() -> None:
    events = [
        {"kind": "train", "step": 3, "tokens": 90, "loss": 5.0},
        {"kind": "dev", "step": 4, "loss_words": 4.0, "loss_next": 0.7, "accuracy_next": 0.5},
        {"kind": "train", "step": 6, "tokens": 200, "loss": 4.0},
        {"kind": "dev", "step": 8, "loss_words": 3.0, "loss_next": 0.6, "accuracy_next": 0.5},
    ]
    assert dev_curve(events) == [
        {"tokens": 90, "loss words": 4.0, "loss next": 0.7},
        {"tokens": 200, "loss words": 3.0, "loss next": 0.6},
    ]


def test_smoke_two_pretrainings_and_their_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(toys.PRETRAIN)
    runs = [
        {"name": name, "how": "pretrain", "recipe": "small.toml", "tasks": ["toy"], "set": [f"train.optim.lr={rate}"]}
        for name, rate in (("slow", 1e-5), ("fast", 1e-2))
    ]
    wanted = build(Queue, {"title": "Rates", "curve": "loss words", "runs": runs}, "queue.toml")
    bench = Bench(tmp_path / "runs", tmp_path / "results" / "toy-rates.jsonl", None, {})
    assert queue.work(wanted, bench, quiet) == 2
    assert queue.work(wanted, bench, quiet) == 0
    found = {line.run: line for line in lines.read(bench.results)}
    assert found["fast"].metrics["loss words"] < found["slow"].metrics["loss words"]
    curve = found["fast"].notes["curve"]
    assert [point["tokens"] for point in curve] == sorted(point["tokens"] for point in curve)
    assert curve[-1]["loss words"] == found["fast"].metrics["loss words"]
    assert (bench.out / "fast" / "toy" / "seed-1" / "model").is_dir()
    drawing = pages.figure(wanted, bench.results)
    assert drawing is not None and "slow" in drawing and "fast" in drawing
    beside = wanted.model_copy(update={"beside": {"toy/rates": {"fast": "fast, from another table"}}})
    assert "| fast, from another table |" in pages.section(beside, bench.results)


def test_known_appendix_a(tmp_path: Path) -> None:
    pytest.importorskip("qiskit")
    bench = Bench(tmp_path / "runs", tmp_path / "lines.jsonl", None, {})
    wanted = queue.read_queue("qbert/appendix-a")
    assert queue.work(wanted, bench, quiet) == 1
    found = {line.run: line.metrics for line in lines.read(bench.results)}
    assert len(found) == 8
    assert found["weights of 1, exactly"]["largest"] < 1e-10
    assert all(metrics["p value"] > 1e-3 for run, metrics in found.items() if run.endswith("shots"))
    assert "p value" in pages.section(wanted, bench.results)
