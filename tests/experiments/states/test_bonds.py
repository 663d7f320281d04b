"""The experiment on kets, whole, with a model of seconds: the queue's way, its lines, its tables and figure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import kets as made
import toys
from psitext.config import build
from psitext.errors import UserError
from psitext.experiments import queue
from psitext.experiments.queue import Bench, Queue
from psitext.experiments.results import lines, pages
from psitext.experiments.states.bonds import AFTER, OTHER, RANDOM, Bonds, bonds, profile, read
from psitext.heads.measurement import MeasurementHead
from psitext.state import State
from psitext.train.loop import Hook

pytest.importorskip("qiskit_aer", reason="needs psitext[quantum]")
SETTINGS = ["head.kind=measurement", "calibrate=false", "train.epochs=1", "train.optim.lr=3e-3"]


@contextmanager
def quiet(name: str) -> Iterator[Hook]:
    yield lambda event: None


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Queue, Bench]:
    """A queue of two seeds, done."""
    folder = tmp_path_factory.mktemp("kets")
    run = {
        "name": "tiny", "how": "kets", "init": "start", "tasks": [str(toys.task_file(folder, "sentiment"))],
        "seeds": [1, 2], "limit": 60, "set": SETTINGS, "kets": {"bonds": [1, 2, 4, 8], "sentences": 40},
    }  # fmt: skip
    wanted = build(Queue, {"title": "Kets", "command": "psitext reproduce", "runs": [run]}, "queue.toml")
    bench = Bench(folder / "runs", folder / "lines.jsonl", None, {"start": str(toys.pretrained())})
    assert queue.work(wanted, bench, quiet) == 2
    assert queue.work(wanted, bench, quiet) == 0
    return wanted, bench


def test_known_the_lines(done: tuple[Queue, Bench]) -> None:
    found = lines.read(done[1].results)
    assert [line.seed for line in found] == [1, 2]
    for line in found:
        notes = line.notes
        assert (notes["qubits"], notes["width"], notes["real"], notes["metric"]) == (5, 32, True, "accuracy")
        assert list(notes["profiles"]) == ["untrained", "before", AFTER, OTHER, RANDOM]
        assert {len(one["bits"]) for one in notes["profiles"].values()} == {4}
        assert line.metrics[f"bits, {AFTER}"] == pytest.approx(np.mean(notes["profiles"][AFTER]["bits"]))
        assert line.rows == {"dev": 40}
        assert notes["gates"]["1"] == 0 < notes["gates"]["2"] < notes["gates"]["exact"] == 26


def test_law_the_full_bond_answers_as_the_kets_do_in_any_order(done: tuple[Queue, Bench]) -> None:
    for line in lines.read(done[1].results):
        records = line.notes["bonds"]
        assert [(one["kets"], one["bond"]) for one in records] == [(n, b) for n in (AFTER, OTHER) for b in (1, 2, 4)]
        for one in records:
            assert 0 < one["least fidelity"] <= one["fidelity"] <= 1
            if one["bond"] == 4:
                assert (one["fidelity"], one["same"], one["score"]) == (1, 1, line.metrics["accuracy"])


def test_known_the_page(done: tuple[Queue, Bench]) -> None:
    wanted, bench = done
    (drawing,) = pages.drawings(wanted, bench.results).values()
    ElementTree.fromstring(drawing)
    for text in ("untrained", "fine-tuned, other order", "bond dimension", "entropy (bits)"):
        assert text in drawing
    page = pages.section(wanted, bench.results, ["figures/kets-1.svg"])
    assert "real kets of 5 qubits (width 32)" in page and "Page" not in page  # his formula is of complex kets
    assert "| bond | fidelity | least | accuracy | same answer |" in page and "±" in page
    assert page.count("figures/kets-1.svg") == 1


def test_parity_of_the_reading_with_the_model() -> None:
    for classes in (3, 1):
        model = made.model(12, classes, heads=2)
        examples, head = made.examples(6), model.network.head
        assert isinstance(head, MeasurementHead) and model.task is not None
        state: State = model.encode([one.text for one in examples])
        said = read(head, state.to_ket(), model.task, np.arange(6) % max(classes, 2))
        logits = model.logits(examples)
        expected = logits.argmax(1) if classes > 1 else logits[:, 0]
        np.testing.assert_allclose(said.predicted, expected, atol=1e-5)


def test_known_a_profile() -> None:
    state = made.model(8).encode(list(made.TEXTS))
    found = profile(state, 0.99)
    np.testing.assert_allclose(found["bits"], state.entropy_bits().mean(0), atol=1e-4)
    assert found["bond"] == pytest.approx(float(state.bond_for(0.99).double().mean()), abs=1e-3)


def test_known_what_is_refused(tmp_path: Path) -> None:
    given = {"task": str(toys.task_file(tmp_path, "tags")), "init": str(toys.pretrained())}
    with pytest.raises(UserError, match="a task of kind tagging"):
        bonds(toys.finetuning(encoder=None, **given), Bonds(), tmp_path / "out", None)
    given["task"] = str(toys.task_file(tmp_path, "sentiment"))
    recipe = toys.finetuning(["train.steps=1", "train.epochs=1"], encoder=None, **given)
    with pytest.raises(UserError, match="read by a measurement head"):
        bonds(recipe, Bonds(), tmp_path / "out", None)
