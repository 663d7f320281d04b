"""Result lines: one JSON object per finished run, appended to a file and never changed.

A line says what was measured (metrics), of what (run name, task, split, recipe hash, seed), by which code
(commit, versions) and at what cost (seconds, rows, threads). Tables and figures are made from these lines
only, and a queue of runs asks them what is already done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from psitext.config import Config, build
from psitext.errors import UserError, json_fault
from psitext.files import append_line

FORMAT = 1  # raised when a field changes its meaning


class ResultLine(Config):
    """One finished run. Unknown keys, missing keys and numbers that are not finite are errors."""

    format: int = FORMAT
    run: str  # what the run is called in its table: "mrpc/minilm", "mrpc/bag-of-words"
    task: str
    split: str
    metrics: dict[str, float]
    collapsed: bool = False  # a constant prediction: the metrics are no result
    recipe: str  # recipe hash, 12 hexadecimal digits
    seed: int
    rows: dict[str, int] = Field(default_factory=dict)  # examples by split: {"train": 3668, "dev": 408}
    seconds: float  # wall clock of the whole run
    threads: int
    commit: str
    versions: dict[str, str]
    finished: str  # UTC, ISO 8601 to the second
    notes: dict[str, Any] = Field(default_factory=dict)  # whatever else a table shows: {"temperature": 1.3}

    @field_validator("format")
    @classmethod
    def _known(cls, value: int) -> int:
        if value != FORMAT:
            raise ValueError(f"this version of psitext reads format {FORMAT}")
        return value

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the run in a queue: a second line with the same key is the same run done again."""
        return (self.run, self.task, self.split, self.recipe, self.seed)


def now() -> str:
    """The time of day as result lines write it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def append(path: Path, *added: ResultLine) -> None:
    """Add lines, all or none, and wait until they are on the disk; several processes may append to one file.

    Errors: a last line without its end, as a crash leaves it (nothing is added behind it), a file that cannot be
    written.
    """
    if path.is_file() and (data := path.read_bytes()) and not data.endswith(b"\n"):
        raise UserError(_cut_short(path, data.count(b"\n") + 1))
    written = (json.dumps(line.tree(), ensure_ascii=False, allow_nan=False) for line in added)
    append_line(path, "\n".join(written), durable=True)


def read(paths: Path | Iterable[Path]) -> list[ResultLine]:
    """All lines of a file, of every ``*.jsonl`` below a folder, or of several of either, in order.

    A damaged line is an error that names file and line; nothing is skipped silently.
    """
    lines: list[ResultLine] = []
    for path in [paths] if isinstance(paths, Path) else paths:
        for file in sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]:
            lines.extend(_read_file(file))
    return lines


def latest(lines: Iterable[ResultLine]) -> dict[tuple[str, str, str, str, int], ResultLine]:
    """The last line of every run, by ``ResultLine.key``: what is in here is done."""
    return {line.key: line for line in lines}


def _read_file(path: Path) -> list[ResultLine]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"there is no result file {path}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    *whole, rest = data.split(b"\n")
    lines = [_parse(raw, path, number) for number, raw in enumerate(whole, 1) if raw.strip()]
    if rest:
        raise UserError(_cut_short(path, len(whole) + 1))
    return lines


def _parse(raw: bytes, path: Path, number: int) -> ResultLine:
    try:
        tree = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} line {number} is not UTF-8 text (byte {error.start} of the line)") from None
    except json.JSONDecodeError as error:
        why = json_fault(error.msg)
        raise UserError(f"{path} line {number} column {error.colno} is not valid JSON: {why}") from None
    except ValueError as error:
        raise UserError(f"{path} line {number} {error}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path} line {number} holds {type(tree).__name__}, not one JSON object")
    return build(ResultLine, tree, f"{path} line {number}")


def _no_constant(name: str) -> None:
    raise ValueError(f"holds {name}, which is no number in JSON")


def _cut_short(path: Path, number: int) -> str:
    return f"{path} line {number} is cut short, as by a crash; remove it (its run counts as not done)"


def newest(path: Path) -> list[ResultLine]:
    """The lines of a file that hold, where a run was done again the last one; none of a file that is not there."""
    return list(latest(read(path)).values()) if path.exists() else []
