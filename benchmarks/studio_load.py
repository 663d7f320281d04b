"""The studio under load: many users at once, whose answers must be those of a direct call; and inputs of every kind.

    python benchmarks/studio_load.py                                  # the models that come with psitext
    python benchmarks/studio_load.py --model runs/measured --users 20 --rounds 3 --inputs 1000

A studio is started as a command in a process of its own. Every user asks on a connection of its own, one question after
the other, over all tabs that the models fit. Then inputs are drawn by a key (empty, huge, control characters, emoji,
right to left, halves of surrogate pairs, markup, numbers outside, files that are none): each has to be answered or
refused in one sentence, and the process may print no traceback. One result line each goes to results/studio.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.model.shipped import names
from psitext.randomness import generator
from psitext.studio import bounds
from psitext.studio.models import CIRCUITS, MEASUREMENT, NEIGHBOURS, STATES, WRITING, Shelf, offered
from psitext.studio.tabs import circuits, measurement, neighbours, states, writing

MISTAKE = "psi-mistake"  # the class of a refusal in what the page is given
RESULTS = Path(__file__).parents[1] / "results" / "studio.jsonl"
WORDS = "a the film plot cast was is not very dull fine gripping funny slow thin and but girl dog sits runs".split()
PATIENCE = 600.0  # seconds that a user waits
ODD = (
    "", " ", "\n\n", "\0", "\x07\x1b[31m", "\u202eright to left\u202c", "\u0645\u0631\u062d\u0628\u0627",
    "\U0001f600" * 40,
    "e\u0301" * 90, "\ufeffmark", "\ud83d", "<script>alert(1)</script>", "{{x}} ${y} `z`", "1e309", "-1", "NaN",
    "../../etc/passwd",
    "a" * 999, "a" * 100_000, "word " * 190, "\u3053\u308c\u306f\u6620\u753b", "'; drop table", "%s%n", "\\", "\u2028x",
)  # fmt: skip
NUMBERS = (0, 1, 3, 5, -1, 2.5, 99, 1e308, -1e308, 2**31, None, 7, 10**30)
FILES = (
    b"", b"\n", b"text\n", b"text,label\nfine,good\ndull,bad\n", bytes(range(256)) * 4, b"\x00" * 100, b"\xff\xfea\x00",
    b'text\n"open\n', b"a,b\n1\n1,2,3\n", b"one\ntwo\nthree\nfour\nfive\nsix\n", b"{}",
    b'{"text": "fine"}\n[1]\n', b"PK\x03\x04",
    b"a" * 5_000, b"text\n" + b"x\n" * 3_000, b'{"text": "\\ud800"}\n', "text\nein schöner Film\n".encode("latin-1"),
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """What is asked of an endpoint, and the answer of a direct call."""

    endpoint: str
    given: list[Any]
    answer: Callable[[], str]
    file: Path | None = None  # uploaded first; its place stands where given has None


class User:
    """One browser's worth of connection."""

    def __init__(self, address: str) -> None:
        self.http = httpx.Client(base_url=f"{address}/gradio_api", timeout=PATIENCE, trust_env=False)

    def ask(self, endpoint: str, given: Sequence[Any], file: Path | None = None) -> tuple[str, Any]:
        """("complete", the answer) or ("error", what is said of it)."""
        if file is not None:
            sent = self.http.post("/upload", files={"files": (file.name, file.read_bytes())})
            sent.raise_for_status()
            place = {"path": sent.json()[0], "meta": {"_type": "gradio.FileData"}}
            given = [place if one is None else one for one in given]
        body = json.dumps({"data": list(given)}).encode()
        begun = self.http.post(f"/call/{endpoint}", content=body, headers={"content-type": "application/json"})
        if not begun.is_success:
            return "refused", begun.text
        with self.http.stream("GET", f"/call/{endpoint}/{begun.json()['event_id']}") as reply:
            kind = ""
            for line in reply.iter_lines():
                key, _, value = line.partition(": ")
                if key == "event":
                    kind = value
                elif key == "data" and kind in ("complete", "error"):
                    return kind, json.loads(value)
        return "error", None


def questions(shelf: Shelf, folder: Path) -> list[Question]:
    """A few of every tab that a model fits."""
    table = folder / "films.csv"
    texts = [sentence(number) for number in range(60)]
    rows = [f"{text},{'good' if 'fine' in text else 'other'}" for text in texts]
    table.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    found, atlas = [], neighbours.Atlas()
    for name in shelf.names(STATES):
        some = [sentence(number) for number in range(3)]
        found.append(
            Question(
                "states",
                [name, "\n".join(some)],
                lambda n=name, s=some: states.told(states.look(shelf.model(n, STATES), s)),
            )
        )
        found.append(
            Question(
                "neighbours",
                [name, None, some[0], 5, "", ""],
                lambda n=name, q=some[0]: neighbours.told_near(shelf, atlas, n, neighbours.crowd(table), q, 5),
                table,
            )
        )
    for name in shelf.names(MEASUREMENT):
        found += [
            Question(
                "measurement",
                [name, sentence(9), power, 1],
                lambda n=name, p=power: measured(shelf, n, sentence(9), round(10**p)),
            )
            for power in (1.0, 3.0, 5.0)
        ]
    found += [
        Question(
            "circuits",
            [name, sentence(4)],
            lambda n=name: circuits.explained(shelf.model(n, CIRCUITS), sentence(4)),
        )
        for name in shelf.names(CIRCUITS)
    ]
    for name in shelf.names(WRITING):
        ends = sentence(5), sentence(6)
        found += [
            Question(
                "between",
                [name, *ends, 4, "linear"],
                lambda n=name, e=ends: writing.told_path(writing.path(shelf.model(n, WRITING), *e, 4, "linear")),
            ),
            Question(
                "sample",
                [name, 3, 0, 7],
                lambda n=name: writing.told_samples(writing.drawn(shelf.model(n, WRITING), 3, 0, 7)),
            ),
        ]
    return found


def measured(shelf: Shelf, name: str, text: str, shots: int) -> str:
    from psitext.quantum import cost

    found = measurement.measure(shelf.model(name, MEASUREMENT), text, shots, 1)
    return measurement.told(found, cost(found.head))


def sentence(number: int) -> str:
    """The same every time."""
    draw = generator(0, "studio", number)
    return " ".join(WORDS[place] for place in draw.integers(len(WORDS), size=int(draw.integers(4, 10))))


def loaded(address: str, asked: Sequence[Question], users: int, rounds: int) -> dict[str, float]:
    """All users at once, each through all questions from another one on."""
    answers = [one.answer() for one in asked]
    seconds: list[float] = []
    errors, wrong = [], []

    def use(number: int) -> None:
        user = User(address)
        for step in range(rounds * len(asked)):
            at = (number + step) % len(asked)
            began = time.perf_counter()
            kind, data = user.ask(asked[at].endpoint, asked[at].given, asked[at].file)
            seconds.append(time.perf_counter() - began)
            if kind != "complete":
                errors.append((asked[at].endpoint, data))
            elif data[0] != answers[at]:
                wrong.append(asked[at].endpoint)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(users)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = time.perf_counter() - began
    for one in errors[:5]:
        print("error:", one, file=sys.stderr)
    return {
        "users": users, "requests": len(seconds), "errors": len(errors), "wrong": len(wrong),
        "median_seconds": statistics.median(seconds), "p95_seconds": float(np.quantile(seconds, 0.95)),
        "max_seconds": max(seconds), "requests_per_second": len(seconds) / whole,
    }  # fmt: skip


def fuzzed(address: str, shelf: Shelf, inputs: int, folder: Path) -> dict[str, float]:
    """Inputs drawn by their number; each is answered, or refused in one sentence."""
    user, tally, bad = User(address), {"complete": 0, "error": 0, "refused": 0}, 0
    for number in range(inputs):
        endpoint, given, file = odd(shelf, number, folder)
        kind, data = user.ask(endpoint, given, file)
        if kind == "complete" and MISTAKE in str(data):  # the sentence stands in place of the answer
            kind, data = "refused", re.sub(r"<[^>]*>", " ", next(str(one) for one in data if MISTAKE in str(one)))
        tally[kind] += 1
        said = data.get("error") if isinstance(data, dict) else data if kind == "refused" else None
        if kind != "complete" and (not said or "\n" in str(said) or "Traceback" in str(said)):
            bad += 1
            print("no sentence:", endpoint, repr(given)[:200], repr(data)[:200], file=sys.stderr)
    return {
        "inputs": inputs,
        "answered": tally["complete"],
        "refused": tally["error"] + tally["refused"],
        "wordless": bad,
    }


def odd(shelf: Shelf, number: int, folder: Path) -> tuple[str, list[Any], Path | None]:
    """A request that nobody would make, or somebody would."""
    draw = generator(1, "studio", number)

    def one(some: Sequence[Any]) -> Any:
        return some[int(draw.integers(len(some)))]

    def text() -> str:
        kind = int(draw.integers(4))
        if kind == 0:
            return sentence(number)
        if kind == 1:
            return one(ODD)
        if kind == 2:
            return one(ODD) + " " + sentence(number) + "\n" * int(draw.integers(3)) + one(ODD)
        return "".join(chr(int(code)) for code in draw.integers(1, 0x2FFF, size=int(draw.integers(1, 60))))

    def model(tab: str) -> Any:
        return one(shelf.names(tab)) if draw.random() < 0.95 else one(ODD)

    forms: dict[str, Callable[[], list[Any]]] = {"states": lambda: [model(STATES), text()]}
    forms["neighbours"] = lambda: [
        model(NEIGHBOURS),
        None,
        text(),
        one(NUMBERS),
        one(("", "text", text())),
        one(("", text())),
    ]
    if shelf.names(MEASUREMENT):
        forms["measurement"] = lambda: [
            model(MEASUREMENT),
            text(),
            one((1, 2.5, 5, one(NUMBERS))),
            one((0, one(NUMBERS))),
        ]
    if shelf.names(CIRCUITS):
        forms["circuits"] = lambda: [model(CIRCUITS), text()]
    if shelf.names(WRITING):
        forms["between"] = lambda: [
            model(WRITING),
            text(),
            text(),
            one((3, one(NUMBERS))),
            one(("linear", "spherical", "no")),
        ]
        forms["analogy"] = lambda: [model(WRITING), text(), text(), text(), one((1, one(NUMBERS)))]
        forms["sample"] = lambda: [
            model(WRITING),
            one((2, one(NUMBERS))),
            one((0, 1, one(NUMBERS))),
            one((0, one(NUMBERS))),
        ]
    endpoint = one(tuple(forms))
    file = None
    if endpoint == "neighbours":
        file = folder / f"{number}{one(bounds.FILES)}"
        file.write_bytes(one(FILES))
    return endpoint, forms[endpoint](), file


@contextmanager
def studio(models: Sequence[str], log: Path) -> Iterator[str]:
    """A running studio's address; what it prints to its standard error goes to a file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "psitext", "studio", "--port", str(port)]
    command += [part for name in models for part in ("--model", name)]
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        if not process.stdout.readline().startswith("studio: "):
            raise SystemExit(log.read_text())
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)


def line(task: str, metrics: dict[str, float], seconds: float, title: str) -> ResultLine:
    return ResultLine(
        run="studio", task=task, split="generated", metrics={name: float(value) for name, value in metrics.items()},
        recipe="studio-load", seed=0, seconds=seconds, threads=os.cpu_count() or 1, commit=stamp.commit(),
        versions=stamp.versions(), finished=lines.now(),
        notes={"title": title, "command": "python benchmarks/studio_load.py"},
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", default=[], help="one of your own; may be repeated")
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--inputs", type=int, default=1_000)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    shelf = offered(given.model, names())
    with tempfile.TemporaryDirectory() as place:
        folder, log = Path(place), Path(place) / "log"
        with studio(given.model, log) as address:
            began = time.perf_counter()
            load = loaded(address, questions(shelf, folder), given.users, given.rounds)
            middle = time.perf_counter()
            fuzz = fuzzed(address, shelf, given.inputs, folder)
        ended = time.perf_counter()
        printed = log.read_text(encoding="utf-8", errors="replace")
        fuzz["tracebacks"] = printed.count("Traceback")
        print(printed[-4_000:], file=sys.stderr)
    for found in (
        line("load", load, middle - began, "The studio under load: answers are those of a direct call"),
        line("inputs", fuzz, ended - middle, "The studio's answers to inputs of every kind"),
    ):
        lines.append(given.results, found)
        print(json.dumps(found.metrics), flush=True)


if __name__ == "__main__":
    main()
