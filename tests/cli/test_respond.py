"""Answers from the command line: what the verb writes is what the function gives; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import door
import talks
from psitext.experiments.dialog import load_responder, respond_run

SAID = ("do you like this tea ?", "this tea is here .", "is this tea yours ?")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = talks.written(tmp_path_factory.mktemp("respond"))
    style = [{"files": ["style.txt"], "dir": str(folder)}]
    respond_run(talks.recipe(folder, style=style, train={"steps": 30}), folder / "run")
    return folder


def test_known_answers(place: Path) -> None:
    found = load_responder(place / "run")
    done = door.run("generate", "respond", *SAID, "-m", "run", cwd=place)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == found.respond(SAID)
    done = door.run(
        "generate", "respond", *SAID, "-m", "run", "--n", 4, "--style", "0.5", "--spread", "1.5", "--seed", 3,
        "-o", "out.jsonl", cwd=place,
    )  # fmt: skip
    assert (done.code, done.err, done.out) == (0, "", "4 lines: out.jsonl\n")
    lines = [json.loads(line) for line in (place / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["answer"] for line in lines] == found.respond(SAID, 4, style=0.5, spread=1.5, seed=3)
    assert all(line["context"] == list(SAID) for line in lines)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["hello", "-m", "space"], "space is no run of responses"),
        (["hello", "-m", "nowhere"], "nowhere"),
        (["hello", " ", "-m", "run"], "an utterance of the context is empty"),
        (["hello", "-m", "run", "--style", "2"], "--style is a share of the way, from 0 to 1, not 2"),
        (["hello", "-m", "run", "--spread", "-1"], "--spread is 0 or more, not -1"),
        (["hello", "-m", "run", "--n", "0"], "--n is at least 1"),
        (["hello", "-m", "run", "-o", "a.txt"], ".jsonl"),
    ],
)
def test_known_mistakes(place: Path, args: list[str], why: str) -> None:
    done = door.run("generate", "respond", *args, cwd=place)
    assert done.code == 2 and done.out == ""
    assert why in done.err and len(done.err.strip().splitlines()) == 1
