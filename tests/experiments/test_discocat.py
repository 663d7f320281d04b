"""DisCoCat as a variant of a queue and as a verb: result lines, tables, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from psitext.baselines import discocat
from psitext.cli import app, main
from psitext.config import build
from psitext.experiments import queue
from psitext.experiments.results import lines
from psitext.train.loop import Hook

needs_lambeq = pytest.mark.skipif(find_spec("lambeq") is None, reason="lambeq comes with the extra qnlp")

TASK = """
kind = "classification"
text = "text"
label = "label"
labels = ["food", "software"]
files = { train = "train.csv", dev = "dev.csv", test = "dev.csv" }
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    """A task of a few sentences in files of its own."""
    things = [("food", "meal"), ("software", "program"), ("food", "sauce"), ("software", "application")]
    rows = [f"{who} prepares {thing},{label}\n" for who in ("man", "woman", "person") for label, thing in things]
    (tmp_path / "train.csv").write_text("text,label\n" + "".join(rows))
    (tmp_path / "dev.csv").write_text("text,label\n" + "".join(rows[1:5]))
    (tmp_path / "task.toml").write_text(TASK)
    return str(tmp_path / "task.toml")


@contextmanager
def silent(title: str) -> Iterator[Hook]:
    yield lambda event: None


@needs_lambeq
def test_smoke_a_queue_runs_each_seed_once_and_keeps_what_was_read(task: str, tmp_path: Path) -> None:
    variant = {"name": "d", "how": "discocat", "tasks": [task], "seeds": [1, 2], "splits": ["dev", "test"]}
    tree = {"title": "t", "runs": [{**variant, "discocat": {"epochs": 2}}]}
    wanted = build(queue.Queue, tree, "here")
    bench = queue.Bench(tmp_path / "runs", tmp_path / "lines.jsonl", None, {})
    assert queue.work(wanted, bench, silent) == 2
    assert queue.work(wanted, bench, silent) == 0
    found = lines.read(bench.results)
    assert [(line.split, line.seed) for line in found] == [("dev", 1), ("test", 1), ("dev", 2), ("test", 2)]
    assert all(line.metrics.keys() == {"accuracy"} and line.rows["train"] == 12 for line in found)
    assert {tuple(line.notes.items()) for line in found} == {(("covered", 1.0), ("unknown words", 0.0))}
    other = build(queue.Queue, {**tree, "runs": [{**variant, "discocat": {"epochs": 1}}]}, "here")
    assert queue.work(other, bench, silent) == 2  # other settings are another run


@needs_lambeq
def test_smoke_the_verb_shows_scores_beside_baselines_and_saves(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    arguments = ["discocat", "--task", task, "--reader", "cups", "--seeds", "2", "--set", "epochs=1", "-o", str(out)]
    app(args=arguments, standalone_mode=False)
    shown = capsys.readouterr().out
    assert "majority" in shown and "covered" in shown and "test" in shown
    assert sorted(path.name for path in out.iterdir()) == ["seed-1", "seed-2"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--task", "lambeq-mcc"], "no task called 'lambeq-mcc'"),
        (["--task", "lambeq-mc", "--reader", "cup"], "discocat sets reader to 'cup'"),
        (["--task", "lambeq-mc", "--set", "dimm=3"], "unknown key 'dimm'; did you mean 'dim'?"),
    ],
)
def test_known_refusals(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["discocat", *arguments])
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err


def test_known_what_to_install_is_said(
    monkeypatch: pytest.MonkeyPatch, task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(discocat, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["discocat", "--task", task])
    assert "pip install 'psitext[qnlp]'" in capsys.readouterr().err
