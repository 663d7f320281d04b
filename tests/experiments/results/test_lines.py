"""experiments/lines.py: what is appended comes back, and damage is named by file and line."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disk import largest_file
from psitext.config import build
from psitext.errors import UserError
from psitext.experiments.results.lines import ResultLine, append, latest, now, read

TREE: dict[str, Any] = {
    "run": "mrpc/minilm",
    "task": "mrpc",
    "split": "dev",
    "metrics": {"f1": 0.91, "accuracy": 0.87},
    "recipe": "0123456789ab",
    "seed": 1,
    "rows": {"train": 3668, "dev": 408},
    "seconds": 12.5,
    "threads": 1,
    "commit": "abc",
    "versions": {"torch": "2.9"},
    "finished": "2026-11-30T12:00:00+00:00",
}


def line(**changes: Any) -> ResultLine:
    return build(ResultLine, TREE | changes, "test")


def test_law_lines_come_back_as_they_were_in_order(tmp_path: Path) -> None:
    path = tmp_path / "results" / "glue.jsonl"
    wanted = [line(seed=1), line(seed=2, notes={"note": "ähm, 日本\n", "deep": [1, {"a": None}]})]
    for entry in wanted:
        append(path, entry)
    assert read(path) == wanted
    assert path.read_bytes().count(b"\n") == 2


@given(st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False), max_size=4))
def test_law_metrics_survive_exactly(metrics: dict[str, float]) -> None:
    entry = line(metrics=metrics)
    assert build(ResultLine, json.loads(json.dumps(entry.tree())), "test") == entry


def test_law_appending_never_changes_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append(path, line())
    before = path.read_bytes()
    append(path, line(seed=2))
    assert path.read_bytes().startswith(before)


def test_known_folders_are_read_in_order_of_names(tmp_path: Path) -> None:
    append(tmp_path / "b.jsonl", line(seed=3))
    append(tmp_path / "a" / "z.jsonl", line(seed=1))
    (tmp_path / "notes.txt").write_text("not a result")
    assert [entry.seed for entry in read(tmp_path)] == [1, 3]
    assert [entry.seed for entry in read([tmp_path / "b.jsonl", tmp_path / "a"])] == [3, 1]


def test_known_the_last_line_of_a_run_counts() -> None:
    lines = [line(metrics={"f1": 0.1}), line(seed=2), line(metrics={"f1": 0.2})]
    done = latest(lines)
    assert list(done) == [lines[0].key, lines[1].key]
    assert done[lines[0].key].metrics == {"f1": 0.2}
    assert lines[0].key == ("mrpc/minilm", "mrpc", "dev", "0123456789ab", 1)


def written(path: Path, *rows: bytes | dict[str, Any]) -> Path:
    path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b'{"run": "x"\n', "r.jsonl line 2 column 12 is not valid JSON: a comma or a closing bracket is missing"),
        (b"\xff\xfe\n", r"r.jsonl line 2 is not UTF-8 text \(byte 0 of the line\)"),
        (b"[1, 2]\n", r"r.jsonl line 2 holds list, not one JSON object"),
        (b'{"metrics": {"f1": NaN}}\n', r"r.jsonl line 2 holds NaN, which is no number in JSON"),
        (b"{}\n", r"r.jsonl line 2 lacks 'run'"),
        (json.dumps(TREE).encode()[:40], r"r.jsonl line 2 column \d+ is not valid JSON|r.jsonl line 2 is cut short"),
        (json.dumps(TREE).encode(), r"r.jsonl line 2 is cut short"),
        (
            json.dumps(TREE | {"sed": 1}).encode() + b"\n",
            r"line 2 has an unknown key 'sed'; did you mean 'seed'",
        ),
        (
            json.dumps(TREE | {"format": 9}).encode() + b"\n",
            r"line 2 sets format to 9: this version .* format 1",
        ),
        (json.dumps(TREE | {"seed": "one"}).encode() + b"\n", r"line 2 sets seed to 'one'"),
    ],
)
def test_known_damage_is_named_by_file_and_line(tmp_path: Path, damage: bytes, message: str) -> None:
    path = written(tmp_path / "r.jsonl", TREE, damage)
    with pytest.raises(UserError, match=message):
        read(path)


def test_known_blank_lines_are_no_damage_and_keep_the_count(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", TREE, b"\n", TREE)
    assert len(read(path)) == 2
    with pytest.raises(UserError, match=r"line 4 column \d+ is not valid JSON"):
        read(written(tmp_path / "r.jsonl", TREE, b"\n", TREE, b"?\n"))


def test_known_nothing_is_added_behind_a_line_that_is_cut_short(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", TREE, b'{"run": "mr')
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"r.jsonl line 2 is cut short"):
        append(path, line())
    assert path.read_bytes() == before


def test_known_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    append(path, line())
    before = path.read_bytes()
    with (
        largest_file(len(before) + 10),
        pytest.raises(UserError, match=r"cannot write .*r.jsonl: .*; what was there is"),
    ):
        append(path, line(seed=2))
    assert path.read_bytes() == before


def test_known_missing_file_and_bad_numbers(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no result file"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match=r"test sets metrics\.f1 to nan: it takes a finite number"):
        line(metrics={"f1": float("nan")})


def test_known_time_is_utc_to_the_second() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", now())
    assert datetime.fromisoformat(now()).utcoffset() is not None
