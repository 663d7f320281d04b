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


def test_known_control_characters_do_not_reach_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal.plain("caf\u00e9 \u732b\ttab\nline") == "caf\u00e9 \u732b\ttab\nline"
    assert terminal.plain("\x1b[2J\x07\r\x9b\x00") == r"\x1b[2J\x07\x0d\x9b\x00"
    assert terminal.plain("\u202ethgir\u2069 \u2028 \u05d0 \u200d") == r"\u202ethgir\u2069 \u2028" + " \u05d0 \u200d"
    terminal.rows_table([{"sentence": "a \x1b[31mred\x1b[0m girl", "written": "\x08"}])
    out = capsys.readouterr().out
    assert "\x1b" not in out and r"a \x1b[31mred\x1b[0m girl" in out and r"\x08" in out


def collapsed(step: int, value: float) -> dict[str, object]:
    return {"kind": "dev", "step": step, "collapsed": value, "latent_gap": 0.1, "rec": 20.0, "active_units": 0.0}


@pytest.mark.parametrize(
    ("found", "told", "over", "ends"),
    [
        ([1, 1, 1], [1, 3], [], True),
        ([1, 0], [1], [2], False),
        ([0, 1], [2], [], False),
        ([1, 1, 0, 0, 1], [1, 5], [3], False),
        ([0], [], [], False),
    ],
)
def test_law_a_collapse_is_told_when_it_comes_and_goes_and_at_the_end(
    found: list[float], told: list[int], over: list[int], ends: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal.shown("space") as hook:
        for step, value in enumerate(found, 1):
            hook(collapsed(step, value))
    said = capsys.readouterr().err.splitlines()
    lines = [line for line in said if "does not use its latents" in line]
    assert [int(line.split("at step ")[1].split(":")[0]) for line in lines] == told
    assert [int(line.split("at step ")[1]) for line in said if "uses its latents now" in line] == over
    assert any("3 evaluations in a row found it so" in line for line in lines) == ends
