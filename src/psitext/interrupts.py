"""Ctrl-C that a library has made another error of."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def heard() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C was pressed since: an import that it cuts short may end as ImportError, and
    torch's exporter wraps it, so what is raised then is not what is wrong. Who ignores Ctrl-C, or has other plans for
    it, is left alone.
    """
    pressed: list[int] = []

    def hear(number: int, frame: FrameType | None) -> NoReturn:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = usual and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, hear)
    try:
        yield lambda: bool(pressed)
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
