"""A small two-class task on disk, and a protocol of seconds for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import toys
from psitext.experiments.sweep.protocol import Protocol


@pytest.fixture
def protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Protocol:
    monkeypatch.chdir(tmp_path)
    toys.task_file(tmp_path, "sentiment")
    return Protocol(
        task="sentiment.toml", steps=8, vocabulary=30, batch=16, epochs=4, flatten_epochs=3, lr=1e-2, rows=160
    )
