"""What a training shows while it runs: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from psitext.train.loop import Event, Hook

EVERY = 10.0  # seconds between plain lines, so that a log file of a long run stays readable


@contextmanager
def shown(title: str) -> Iterator[Hook]:
    """A hook that shows every event of a run under ``title``."""
    if sys.stderr.isatty():
        with _live(title) as hook:
            yield hook
    else:
        yield _plain(title)


def _plain(title: str) -> Hook:
    last = [float("-inf")]

    def hook(event: Event) -> None:
        now = time.monotonic()
        if event["kind"] != "train" or now - last[0] >= EVERY:
            last[0] = now
            print(f"{title}: {described(event)}", file=sys.stderr, flush=True)

    return hook


@contextmanager
def _live(title: str) -> Iterator[Hook]:
    from rich.console import Console
    from rich.status import Status

    console = Console(stderr=True)
    with Status(f"{title}: starting", console=console) as status:

        def hook(event: Event) -> None:
            if event["kind"] == "train":
                status.update(f"{title}: {described(event)}")
            else:
                console.print(f"{title}: {described(event)}", highlight=False)

        yield hook


def described(event: Mapping[str, object]) -> str:
    """One event as words: step, then every value with four digits."""
    values = [
        f"{name.replace('_', ' ')} {value:.4g}" if isinstance(value, float) else f"{name} {value:,}"
        for name, value in event.items()
        if isinstance(value, int | float) and name not in ("step", "epoch", "seconds")
    ]
    head = f"step {event['step']:,}" + (" on dev" if event["kind"] == "dev" else "")
    return f"{head}, " + ", ".join(values)
