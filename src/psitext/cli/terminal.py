"""What a terminal shows: a live line while something trains (plain lines elsewhere), and scores as tables."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from psitext.score.statistics import summary

if TYPE_CHECKING:
    from pathlib import Path

    from psitext.model import Model
    from psitext.train.loop import Event, Hook

Scores = Mapping[str, Mapping[str, float]]  # split -> metric -> value
NAME = 24  # letters; a first column no wider than this is never cut nor wrapped, it holds names to type
WIDE = 10_000  # columns of a pipe, which has no edge
EVERY = 10.0  # seconds between plain lines, so that a log file of a long run stays readable


@contextmanager
def shown(title: str) -> Iterator[Hook]:
    """A hook that shows every event of a run under ``title``."""
    if os.environ.get("RANK", "0") != "0":  # of several processes the main one shows what all of them do
        yield lambda event: None
    elif sys.stderr.isatty():
        with _live(title) as hook:
            yield hook
    else:
        with _plain(title) as hook:
            yield hook


@contextmanager
def _plain(title: str) -> Iterator[Hook]:
    last = float("-inf")

    def told(line: str) -> None:
        print(f"{title}: {line}", file=sys.stderr, flush=True)

    def hook(event: Event) -> None:
        nonlocal last
        now = time.monotonic()
        if event["kind"] != "train" or now - last >= EVERY:
            last = now
            told(described(event))

    with _warned(hook, told) as both:
        yield both


class Warnings:
    """That a sentence space has collapsed: said when it has, when it no longer is, and at the end if it still is."""

    def __init__(self) -> None:
        self._found = 0  # evaluations in a row that found it so
        self._last: Event | None = None  # the last evaluation of a space

    def of(self, event: Event) -> Iterator[str]:
        """What there is to say of an event."""
        if "latent_gap" not in event:
            return
        before, self._last = self._found, event
        self._found = before + 1 if event.get("collapsed") else 0
        if self._found == 1:
            yield self._words(event)
        elif before and not self._found:
            yield f"the decoder uses its latents now, at step {event['step']:,}"

    def at_end(self) -> Iterator[str]:
        """What there is to say of a run that has ended, if more evaluations than the first found the same."""
        if self._last is not None and self._found > 1:
            yield f"{self._words(self._last)} ({self._found:,} evaluations in a row found it so)"

    def _words(self, event: Event) -> str:
        from psitext.experiments.latents.monitor import words

        return words(event) or ""


@contextmanager
def _warned(hook: Hook, told: Callable[[str], None]) -> Iterator[Hook]:
    """The hook, and after it what there is to warn of."""
    warnings = Warnings()

    def both(event: Event) -> None:
        hook(event)
        for line in warnings.of(event):
            told(line)

    yield both
    for line in warnings.at_end():
        told(line)


@contextmanager
def _live(title: str) -> Iterator[Hook]:
    from rich.status import Status

    console = Console(stderr=True)
    with Status(f"{title}: starting", console=console) as status:

        def told(line: str) -> None:
            console.print(f"{title}: {line}", highlight=False)

        def hook(event: Event) -> None:
            if event["kind"] == "train":
                status.update(f"{title}: {described(event)}")
            else:
                told(described(event))

        with _warned(hook, told) as both:
            yield both


def plain(text: str) -> str:
    """A text for a screen: control characters, which could move its cursor or worse, and marks that turn the direction
    of what follows, as their escapes; line ends and tabs stay.
    """
    return "".join(_escaped(sign) if is_control(sign) else sign for sign in text)


def is_control(sign: str) -> bool:
    """True of a character that a screen obeys and does not show, but for line ends and tabs."""
    turns = unicodedata.bidirectional(sign) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    return turns or (unicodedata.category(sign) in ("Cc", "Zl", "Zp") and sign not in "\n\t")


def _escaped(sign: str) -> str:
    return f"\\x{ord(sign):02x}" if ord(sign) < 256 else f"\\u{ord(sign):04x}"


def described(event: Mapping[str, object]) -> str:
    """One event as words: step, then every value with four digits; of a run that goes on, what is damaged."""
    if event["kind"] == "rewound":
        return f"the run goes on from step {event['step']:,}, since what is later is damaged: {event['damaged']}"
    values = [
        f"{name.replace('_', ' ')} {value:.4g}" if isinstance(value, float) else f"{name} {value:,}"
        for name, value in event.items()
        if isinstance(value, int | float) and name not in ("step", "epoch", "seconds")
    ]
    head = f"step {event['step']:,}" + (" on dev" if event["kind"] == "dev" else "")
    return f"{head}, " + ", ".join(values)


def tell_notes(folder: Path) -> None:
    """What a finished run noted of its text: what it left out, what it could not judge."""
    from psitext.experiments.runs.folder import RunFolder

    for note in RunFolder(folder).result().get("facts", {}).get("notes", ()):
        typer.echo(note, err=True)


def tell_counting(path: str, text: str | None, pair: str | None, label: str | None) -> None:
    """Say of a table whose columns are numbers that its first line is a row, and how names would be given."""
    from psitext.text.rows import counting

    sentence = counting(path, {"text": text, "pair": pair, "label": label})
    if sentence is not None:
        typer.echo(plain(sentence), err=True)


def tell_cut(cut: Sequence[bool], model: Model, what: str) -> None:
    """Say how many texts, by the name of ``what``, are longer than the model reads."""
    if any(cut):
        which = f"{sum(cut):,} of {len(cut):,} {what} are"
        typer.echo(f"{which} longer than the {model.text.max_len} tokens that the model reads; cut there", err=True)


def score_table(results: Sequence[Scores]) -> None:
    """Every split and metric of one or several seeds: the value, or mean, deviation and a bootstrap interval."""
    table = Table(
        "split",
        "metric",
        *(["value"] if len(results) == 1 else ["mean", "sd", "median", "95 % interval", "seeds"]),
    )
    for split, metrics in results[0].items():
        for name in metrics:
            if name == "collapsed":
                continue
            values = [result[split][name] for result in results]
            table.add_row(split, name, *_cells(values))
    Console().print(table)
    for split in results[0]:
        count = sum(bool(result[split].get("collapsed")) for result in results)
        if count:
            typer.echo(f"COLLAPSED on {split} in {count} of {len(results)}: every prediction is the same")


def rows_table(rows: Sequence[Mapping[str, object]]) -> None:
    """Records of one shape as a table, numbers with four digits; nothing where there are none.

    In a pipe or file every row is one plain line, however long.
    """
    if not rows:
        return
    cells = [[f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    first, *others = rows[0]
    name = max(len(text) for text in (first, *(row[0] for row in cells)))
    columns = [Column(first, no_wrap=name <= NAME, min_width=name if name <= NAME else None)]
    columns += [Column(other, overflow="fold") for other in others]
    screen = sys.stdout.isatty()
    table = Table(*columns) if screen else Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in cells:
        # Text, because a sentence may hold what rich would take for its own marks.
        table.add_row(*(Text(plain(text if screen else " ".join(text.split()))) for text in row))
    Console(width=None if screen else WIDE).print(table)


def _cells(values: Sequence[float]) -> list[str]:
    if len(values) == 1:
        return [f"{values[0]:.4f}"]
    found = summary(values)
    return [
        f"{found.mean:.4f}",
        f"{found.sd:.4f}",
        f"{found.median:.4f}",
        f"{found.low:.4f} to {found.high:.4f}",
        str(found.n),
    ]
