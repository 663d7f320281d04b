"""One at a time, each within its time."""

from __future__ import annotations

import threading

import pytest

from psitext.errors import UserError
from psitext.studio.models import Shelf
from psitext.studio.work import Studio, Worker


def test_law_work_is_done_in_order_by_one_thread() -> None:
    worker, done = Worker(), []
    threads = [threading.Thread(target=worker.do, args=(lambda: done.append(threading.get_ident()),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8 and len(set(done)) == 1
    with pytest.raises(ZeroDivisionError):
        worker.do(lambda: 1 // 0)
    assert worker.do(lambda: 7) == 7, "an error ends no worker"


def test_law_what_takes_too_long_is_given_up_and_what_has_not_begun_is_not_done() -> None:
    worker, gate, done = Worker(seconds=0.05), threading.Event(), []
    with pytest.raises(UserError, match="longer than 1 s"):
        worker.do(gate.wait)
    with pytest.raises(UserError, match="longer than"):
        worker.do(lambda: done.append("never"))
    gate.set()
    worker.seconds = 30.0
    assert worker.do(lambda: "next") == "next"
    assert done == []


def test_law_a_mistake_is_a_sentence_of_the_page_that_says_what_was_typed() -> None:
    def refuse(given: str) -> str:
        raise UserError(f"no column {given!r}")

    answer = Studio(Shelf(()), Worker()).answers(refuse)
    assert answer("<b>") == (
        '<div class="psi"><p class="psi-mistake" role="alert">no column &#x27;&lt;b&gt;&#x27;</p></div>'
    )
    with pytest.raises(TypeError):  # a mistake of ours is not hidden
        answer()
