"""Pages of result lines: a table's rows, in their order, and what stands beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from psitext.config import build
from psitext.errors import UserError
from psitext.experiments.queue import Queue
from psitext.experiments.results import lines, pages
from psitext.experiments.results.lines import ResultLine

TREE: dict[str, Any] = {
    "title": "A table",
    "note": "Of two tasks.",
    "command": "psitext reproduce paper/table",
    "paper": {"paper: best": {"rte": 0.646, "mnli dev_matched": 0.821, "cola": 0.5}},
    "beside": {"other/table": {"tuned": "tuned there"}},
    "runs": [{"name": "ours", "tasks": ["rte", "mnli"]}],
}


def line(run: str, task: str, score: float, *, split: str = "dev", seed: int = 1, rows: int = 100) -> ResultLine:
    return ResultLine(
        run=run,
        task=task,
        split=split,
        metrics={"accuracy": score, "f1": 0.1},
        recipe="0" * 12,
        seed=seed,
        rows={"train": rows},
        seconds=36.0,
        threads=1,
        commit="abc",
        versions={"torch": "2"},
        finished="2026-11-30T12:00:00+00:00",
    )


def cells(row: str, text: str) -> list[str]:
    found = next(one for one in text.splitlines() if one.startswith(f"| {row} |"))
    return [cell.strip() for cell in found.strip("|").split("|")][1:]


def test_known_table(tmp_path: Path) -> None:
    file = tmp_path / "paper-table.jsonl"
    for seed, score in ((1, 0.5), (2, 0.6)):
        lines.append(file, line("ours", "rte", score, seed=seed))
    lines.append(file, line("ours", "mnli", 0.7, split="dev_matched"))
    other = tmp_path / "other-table.jsonl"
    lines.append(other, line("tuned", "rte", 0.8, rows=50))
    lines.append(other, line("tuned", "cola", 0.3))
    lines.append(other, line("hidden", "rte", 0.9))
    text = pages.section(build(Queue, TREE, "table.toml"), file)
    assert cells("", text) == ["rte, accuracy", "mnli dev_matched, accuracy"], "no column of another table's tasks"
    assert cells("*paper: best*", text) == ["0.646", "0.821"]
    assert cells("ours", text) == ["0.550 ± 0.071 (2)", "0.700"]
    assert cells("tuned there", text) == ["0.800", ""]
    assert cells("training rows", text) == ["50 or 100", "100"]
    assert "hidden" not in text and "Of two tasks." in text and "`psitext reproduce paper/table`" in text


def test_known_every_metric(tmp_path: Path) -> None:
    file = tmp_path / "paper-table.jsonl"
    lines.append(file, line("ours", "rte", 0.5))
    text = pages.section(build(Queue, TREE | {"all_metrics": True}, "table.toml"), file)
    assert cells("", text) == ["of", "accuracy", "f1"]
    assert cells("ours", text) == ["rte", "0.5", "0.1"]


def test_known_page_of_a_folder(tmp_path: Path) -> None:
    lines.append(tmp_path / "results" / "memory_of_something.jsonl", line("store", "200 MB", 0.25))
    pages.write_results(tmp_path / "results", tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert text.startswith("# Results") and "## Memory of something" in text
    with pytest.raises(UserError, match="there is no folder of result lines"):
        pages.write_results(tmp_path / "nothing", tmp_path / "results.md")
