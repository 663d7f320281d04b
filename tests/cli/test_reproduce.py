"""Queues from the command line: models that a queue names, and several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import door
import toys
from psitext.experiments.results import lines

QUEUE = """
title = "A small table"
[[runs]]
name = "from nothing"
recipe = "tune.toml"
tasks = ["sentiment.toml"]
seeds = [1, 2]
set = ["train.steps=4", "train.evaluate_every=4"]
limit = 50
[[runs]]
name = "baselines"
how = "baselines"
tasks = ["sentiment.toml"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    toys.task_file(tmp_path, "sentiment")
    (tmp_path / "tune.toml").write_text(toys.FINETUNE)
    (tmp_path / "queue.toml").write_text(QUEUE)
    return tmp_path


def test_law_processes_share_what_they_can_and_write_every_line_once(place: Path) -> None:
    children = door.ranks(2, "reproduce", "queue.toml", cwd=place)
    ended = [child.wait() for child in children]
    assert [one.code for one in ended] == [0, 0], [one.err for one in ended]
    found = lines.read(place / "results")
    assert [(line.run, line.seed) for line in found] == [("from nothing", 1), ("from nothing", 2)]
    said = (
        "1 run is work for one process (baselines/sentiment.toml/seed-0); the same command without the launcher does it"
    )
    assert said in ended[0].err
    alone = door.run("reproduce", "queue.toml", cwd=place)
    assert alone.code == 0 and "work for one process" not in alone.err
    assert [line.run for line in lines.read(place / "results")] == ["from nothing"] * 2 + ["majority", "bag of words"]


def test_known_the_judge_of_a_table_can_be_named(tmp_path: Path) -> None:
    """The command that its page gives."""
    done = door.run("reproduce", "optimus/table-5", "--init", "space=nowhere", "--init", "minilm=nowhere", cwd=tmp_path)
    assert done.code == 2 and "has nothing called" not in done.err and "nowhere" in done.err
    done = door.run("reproduce", "optimus/table-5", "--init", "space=optimus-tiny", cwd=tmp_path)
    assert done.code == 2 and "needs a model that the queue calls 'minilm'" in done.err
