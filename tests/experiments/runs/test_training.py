"""What a run settles before its first step, and that it stays settled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toys
from psitext.experiments.finetune import finetune_run
from psitext.experiments.runs import training
from psitext.experiments.runs.folder import RunFolder


class Enough(Exception):
    pass


def seen_at_the_first_step(tmp_path: Path, *settings: str) -> Any:
    """The recipe in the folder when the first step has been logged."""
    data = {"train": str(toys.table(tmp_path / "own.csv", [("text", "label"), *toys.words_and_labels(60)]))}
    folder = RunFolder(tmp_path / "run")

    def stop(event: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        finetune_run(toys.finetuning(["train.log_every=1", *settings], data=data), folder.path, [stop])
    return folder.recipe()


def test_law_a_time_budget_is_steps_before_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "seconds_a_step", lambda *_: 0.25)
    recipe = seen_at_the_first_step(tmp_path, "train.minutes=0.5", "train.evaluate_every=0", "train.checkpoint_every=0")
    assert (recipe.train.minutes, recipe.train.steps) == (None, round(30 * 0.96 / 0.25))
    assert recipe.train.evaluate_every == recipe.train.checkpoint_every == 4  # 54 rows in batches of 16
    # Another clock now measures nothing: the budget is settled.
    monkeypatch.setattr(training, "seconds_a_step", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr(training, "fastest", lambda *_: pytest.fail("measured again"))
    again = RunFolder(tmp_path / "run")
    finetune_run(again.recipe(), again.path)  # type: ignore[arg-type]
    assert again.result()["steps"] == 115


@pytest.mark.parametrize("fast", ["fp32", "bf16"])
def test_law_precision_is_settled_once(fast: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "fastest", lambda *_: fast)
    recipe = seen_at_the_first_step(tmp_path, "train.precision=auto", "train.epochs=2")
    assert (recipe.train.precision, recipe.train.epochs, recipe.train.steps) == (fast, None, 8)


def test_law_what_is_settled_is_written_once(tmp_path: Path) -> None:
    seen_at_the_first_step(tmp_path, "train.epochs=1")
    written = (tmp_path / "run" / "recipe.json").read_bytes()
    folder = RunFolder(tmp_path / "run")
    finetune_run(folder.recipe(), folder.path)  # type: ignore[arg-type]
    assert (folder.path / "recipe.json").read_bytes() == written
