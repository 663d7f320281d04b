"""TensorBoard's files: every number at its step, and one curve from the lives of a run that was killed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.experiments.runs.tensorboard import TensorBoard

pytest.importorskip("tensorboard")


def test_law_a_later_life_replaces_what_an_earlier_one_wrote_beyond_it(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    first = TensorBoard(tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing is written before there is something to write"
    for step in range(1, 6):
        first({"kind": "train", "step": step, "loss": float(step), "name": "no number"})
    second = TensorBoard(tmp_path)
    second({"kind": "train", "step": 4, "loss": 40.0})
    second({"kind": "dev", "step": 4, "accuracy": 0.5})
    found = EventAccumulator(str(tmp_path)).Reload()
    assert found.Tags()["scalars"] == ["train/loss", "dev/accuracy"]
    assert [(one.step, one.value) for one in found.Scalars("train/loss")] == [(1, 1), (2, 2), (3, 3), (4, 40)]


def test_known_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'psitext\[track\]'"):
        TensorBoard(tmp_path)
