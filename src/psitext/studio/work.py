"""Who works when: one answer at a time, in one thread, each within a time.

Everything on the page uses the same processor, so two answers at once would only both be late; and matplotlib's look,
which is global, never meets two figures. Whoever waits is in gradio's queue, which has an end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from psitext.errors import UserError
from psitext.studio.models import Shelf
from psitext.studio.shown import markup

T = TypeVar("T")
SECONDS = 60.0  # that an answer may take
WAITING = 64  # in the queue; the next one is told to come back


class Worker:
    """A thread that does one order after the other."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._orders: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        Thread(target=self._work, name="studio", daemon=True).start()

    def do(self, work: Callable[[], T]) -> T:
        """What the work gives back, or its error. Errors: it takes too long; what has begun goes on, unheard."""
        order: Future[T] = Future()
        self._orders.put((order, work))
        try:
            return order.result(self.seconds)
        except TimeoutError:
            order.cancel()
            took = math.ceil(self.seconds)
            raise UserError(f"this took longer than {took} s; give fewer or shorter sentences, or try again") from None

    def _work(self) -> None:
        while True:
            order, work = self._orders.get()
            if order.set_running_or_notify_cancel():
                try:
                    order.set_result(work())
                except BaseException as error:  # it belongs to whoever asked
                    order.set_exception(error)


@dataclass(frozen=True, slots=True)
class Studio:
    """What every tab is given: the models, and who does the work."""

    shelf: Shelf
    worker: Worker

    def answers(self, work: Callable[..., str]) -> Callable[..., str]:
        """The work as gradio calls it: in its turn, and a user's mistake as a sentence in the place of the answer, so
        that it is gone with the next one.
        """

        def answer(*given: Any) -> str:
            try:
                return self.worker.do(lambda: work(*given))
            except UserError as error:
                return markup.answer(markup.mistake(str(error)))

        return answer

    def ask(self, work: Callable[..., str], inputs: Sequence[Any], output: Any, name: str, *events: Any) -> None:
        """Answer these events of the page, which begins to wait at once and shows the place in the queue."""
        import gradio as gr

        gr.on(
            list(events),
            self.answers(work),
            list(inputs),
            output,
            api_name=name,
            concurrency_id="work",
            concurrency_limit=1,
            show_progress="minimal",
            preprocess=False,  # what comes is checked by bounds, whose sentences say what would be right
        )
