"""Long chains: how long they take is said before they are made, and Ctrl-C ends them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import door
import racs
from psitext.cli.explain import options


def test_law_only_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A clock on which a word takes a hundredth of a second."""
    now = [0.0]
    monkeypatch.setattr(options.time, "monotonic", lambda: now[0])

    def work(words: int) -> None:
        now[0] += words / 100

    options.told_long(None, work, "shorter")
    options.told_long(options.LONG - 1, work, "shorter")
    assert now == [0.0] and capsys.readouterr().err == ""
    options.told_long(5_000, work, "shorter")
    assert capsys.readouterr().err == "5,000 words take about 50 seconds here; shorter\n"
    options.told_long(60_000, work, "shorter")
    assert capsys.readouterr().err == "60,000 words take about 10 minutes here; shorter\n"


@pytest.mark.parametrize("verb", ["explain entanglement rac --json", "compress rac --chi 2 -o small"])
def test_law_a_long_chain_is_told_and_ends_at_once(tmp_path: Path, verb: str) -> None:
    racs.model().save(tmp_path / "rac")
    child = door.start(*verb.split(), "--length", str(options.LONGEST), cwd=tmp_path)
    door.until(lambda: child.err.exists() and "words take about" in child.err.read_text(encoding="utf-8"))
    child.kill(signal.SIGINT)
    done = child.wait()
    assert (done.code, done.out) == (130, "") and done.err.endswith("psitext: interrupted\n"), done
    assert not (tmp_path / "small").exists()


def test_known_longer_ones_are_refused(tmp_path: Path) -> None:
    racs.model().save(tmp_path / "rac")
    for verb in ("explain entanglement rac", "compress rac --chi 2 -o small", "export rac --to numpy -o x.npz"):
        done = door.run(*verb.split(), "--length", str(options.LONGEST + 1), cwd=tmp_path)
        assert (done.code, done.out) == (2, "") and "--length" in done.err and "100000" in done.err, done
