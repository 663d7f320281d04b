"""Signals: the first asks, an echo of it asks nothing more, a later one acts."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from psitext.train import stopping
from psitext.train.stopping import Stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_law_the_first_signal_asks(number: signal.Signals) -> None:
    before = {each: signal.getsignal(each) for each in stopping.SIGNALS}
    with Stop() as stop:
        assert not stop.asked
        os.kill(os.getpid(), number)
        assert stop.asked
        os.kill(os.getpid(), signal.SIGINT)  # what a launcher passes on
        os.kill(os.getpid(), signal.SIGTERM)
    assert {each: signal.getsignal(each) for each in stopping.SIGNALS} == before


def test_law_a_later_signal_acts_as_if_there_were_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "SAME", 0.0)
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore it
    before = signal.getsignal(signal.SIGINT)
    with Stop():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
    signal.signal(signal.SIGINT, outside)


def test_law_in_another_thread_signals_are_left_alone() -> None:
    before, inside = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with Stop():
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
