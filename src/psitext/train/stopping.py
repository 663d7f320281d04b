"""Ctrl-C, SIGTERM and a closed terminal as a question that the loop answers after the step it is in."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
SAME = 2.0  # seconds in which a second signal is the same wish: launchers pass on what the terminal sent already


class Stop:
    """While entered, the first signal sets ``asked``; a later one acts as if psitext were not there."""

    def __init__(self) -> None:
        self.asked = False
        self._since = 0.0
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python delivers signals there only
            self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self.asked:
            self.asked, self._since = True, now
        elif now - self._since > SAME:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._before = {}
