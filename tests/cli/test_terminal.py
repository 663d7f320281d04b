"""What a terminal shows: few lines in a log, a live one on a screen, scores as tables."""

from __future__ import annotations

import pytest

from psitext.cli import terminal

TRAIN = {"kind": "train", "step": 1234, "epoch": 2, "loss": 1 / 3, "loss_words": 0.25, "tokens": 98765, "seconds": 1.5}
DEV = {"kind": "dev", "step": 1234, "accuracy": 0.91}


def test_known_events_in_words() -> None:
    assert terminal.described(TRAIN) == "step 1,234, loss 0.3333, loss words 0.25, tokens 98,765"
    assert terminal.described(DEV) == "step 1,234 on dev, accuracy 0.91"


def test_law_a_log_file_stays_readable(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal.shown("books") as hook:
        for _ in range(50):
            hook(TRAIN)
        hook(DEV)
    assert capsys.readouterr().err.splitlines() == [f"books: {terminal.described(event)}" for event in (TRAIN, DEV)]
    monkeypatch.setenv("RANK", "1")
    with terminal.shown("books") as hook:
        hook(DEV)
    assert capsys.readouterr() == ("", "")


def test_smoke_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal._live("books") as hook:
        hook(TRAIN)
        hook(DEV)
    assert "on dev" in capsys.readouterr().err


def test_known_tables(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.score_table([{"dev": {"accuracy": 0.5, "collapsed": 1.0}}])
    out = capsys.readouterr().out
    assert "0.5000" in out and "value" in out and "COLLAPSED on dev in 1 of 1" in out
    terminal.score_table([{"dev": {"accuracy": value, "collapsed": 0.0}} for value in (0.5, 0.7, 0.9)])
    out = capsys.readouterr().out
    assert "0.7000" in out and "0.2000" in out and "COLLAPSED" not in out
    terminal.rows_table([{"name": "a", "score": 0.25}, {"name": "b", "score": 1.0}])
    assert "0.2500" in capsys.readouterr().out
    terminal.rows_table([])
    assert capsys.readouterr().out == ""
