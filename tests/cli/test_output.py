"""Answers and states as files that other programs read back."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from psitext.cli import output
from psitext.model import Answer
from psitext.state import SentenceState
from psitext.text.examples import Example


def test_law_complex_states_keep_both_parts(tmp_path: Path) -> None:
    state = SentenceState(torch.tensor([[1 + 2j, 0.1234567], [0, -1j]], dtype=torch.complex64))
    for name in ("s.jsonl", "s.npy", "s.npz"):
        output.write_states(["a", "b"], state, tmp_path / name)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert lines[0] == {"text": "a", "vector": [[1.0, 2.0], [0.123457, 0.0]]}
    assert np.array_equal(np.load(tmp_path / "s.npy"), state.numpy())
    with np.load(tmp_path / "s.npz") as arrays:
        assert np.array_equal(arrays["vector"], state.numpy())


def test_law_json_on_a_screen_has_escapes_for_what_a_screen_obeys() -> None:
    record = {"text": "a\x1b[2J \x9b \x7f \u202e caf\u00e9"}
    line = output.spoken(record)
    assert json.loads(line) == record and not set("\x1b\x9b\x7f\u202e") & set(line) and "caf\u00e9" in line


def test_law_a_pipe_of_another_encoding_gets_whole_json(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(told, encoding="cp1252", write_through=True))
    examples = [Example("見た 😀 café", line=1)]
    output.write_answers(examples, [Answer("x", 0.75, {"x": 0.75, "y": 0.25})], None)
    output.write_states(["見た 😀"], SentenceState(torch.ones(1, 2)), None)
    lines = [json.loads(line) for line in told.getvalue().decode("ascii").splitlines()]
    assert [line["text"] for line in lines] == ["見た 😀 café", "見た 😀"]


def test_known_tables_of_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = [Example('say "hi", all\tof you', pair="é\nè", line=3), Example("b", pair="", line=9)]
    answers = [Answer("x", 0.75, {"x": 0.75, "y": 0.25}), Answer("y", 1.0, {"x": 0.0, "y": 1.0})]
    for ending in output.TABLES:
        output.write_answers(examples, answers, tmp_path / f"a{ending}")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == (
        "line,text,pair,prediction,probability,probability of x,probability of y\n"
        '3,"say ""hi"", all\tof you","é\nè",x,0.75,0.75,0.25\n9,b,,y,1.0,0.0,1.0\n'
    )
    assert (tmp_path / "a.tsv").read_text(encoding="utf-8").splitlines()[1] == (
        '3\tsay "hi", all of you\té è\tx\t0.75\t0.75\t0.25'
    )
    assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])["pair"] == "é\nè"
    assert "2 predictions: " in capsys.readouterr().out
