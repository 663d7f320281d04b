"""What the demo starts from, how much it does, and what every family of it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from psitext.experiments.results import report
from psitext.train.loop import Hook

Show: TypeAlias = Callable[[str], AbstractContextManager[Hook]]
Part: TypeAlias = report.Table | report.Curves | report.Comparison

# The same words in two orders, which is all that tells them apart.
SAME_WORDS = ("It was more funny than dull.", "It was more dull than funny.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Models to start from, by name or path, and sizes."""

    bert: str = "bert-tiny"
    qbert: str = "qbert-tiny"
    rac: str = "rac-tiny"
    optimus: str = "optimus-tiny"
    rows: int = 4000  # generated reviews to fine-tune on
    judged: int | None = None  # so many of the reviews to judge by, the first; None: all
    settings: tuple[str, ...] = ()  # laid over both recipes, as --set lays them
    sentences: int = 30  # that the sentence space writes again
    known: int = 24_000  # stories that it may have read
    circuits: int = 20  # reviews that go through the circuit
    shots: int = 1000


@dataclass(frozen=True, slots=True)
class Section:
    """A family: its rows of the table of all, what a terminal says, what the page shows, the recipes of its runs."""

    family: str
    rows: tuple[dict[str, Any], ...]
    lines: tuple[str, ...]
    parts: tuple[Part, ...]
    settings: Mapping[str, Any]


def called(model: str) -> str:
    """The name of a model for a reader: of one by path, its folder's."""
    return Path(model).name


def row(
    model: str, scores: Mapping[str, float], parameters: int | None = None, seconds: float | None = None
) -> dict[str, Any]:
    """A row of the table of all: metrics in words, since not every model has every number."""
    found = {name: f"{value:.3f}" for name, value in scores.items() if name != "collapsed"}
    return {
        "model": model,
        **found,
        "parameters": "-" if parameters is None else f"{parameters:,}",
        "trained here": "no" if seconds is None else f"{seconds:.0f} s",
    }
