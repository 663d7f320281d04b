"""Models on machines, scored beside their exact selves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("qiskit_aer", reason="needs psitext[quantum]")

from kets import examples, model
from psitext.errors import UserError
from psitext.experiments.circuits import scoring
from psitext.experiments.circuits.scoring import CircuitConfig
from psitext.experiments.results import lines

EXAMPLES = examples(40)


def test_parity_exact_circuits_score_as_the_model_does() -> None:
    found = model(16)
    graded = scoring.graded(found, found.asked(), EXAMPLES, CircuitConfig())
    assert graded.found == graded.exact
    assert graded.exact["accuracy"] == found.evaluate(EXAMPLES)["accuracy"]
    np.testing.assert_allclose(graded.run.logits, found.logits(EXAMPLES), atol=1e-4)
    assert graded.distances()["total variation"] < 1e-10


def test_law_rows_tell_scores_and_distances() -> None:
    found = model(24, groups=4)
    graded = scoring.graded(found, found.asked(), EXAMPLES[:6], CircuitConfig(shots=50, noise="depolarizing:0.2"))
    rows = {row["what"]: row for row in graded.rows()}
    assert set(rows) == {
        "accuracy", "total variation", "state fidelity", "same class", "readings inside the width"
    }  # fmt: skip
    assert rows["accuracy"]["exact"] == graded.exact["accuracy"]
    assert rows["total variation"]["circuit"] > 0.01  # type: ignore[operator]
    assert rows["readings inside the width"]["circuit"] < 0.99  # type: ignore[operator]


def test_law_scores_of_a_regression() -> None:
    found = model(8, 1)
    some = [example.__class__(text=example.text, label=index / 9) for index, example in enumerate(EXAMPLES[:9])]
    graded = scoring.graded(found, found.asked(), some, CircuitConfig(shots=2_000))
    assert set(graded.found) == {"pearson"} and "same class" not in graded.distances()
    np.testing.assert_allclose(graded.run.logits, graded.run.exact_logits, atol=0.6)


def test_law_examples_are_drawn_by_the_seed_and_stay_in_order() -> None:
    some = scoring.drawn(EXAMPLES, CircuitConfig(limit=7))
    assert some == scoring.drawn(EXAMPLES, CircuitConfig(limit=7, shots=9))
    assert [example.line for example in some] == sorted(example.line for example in some)
    assert some != scoring.drawn(EXAMPLES, CircuitConfig(limit=7, seed=1))
    assert scoring.drawn(EXAMPLES, CircuitConfig()) == EXAMPLES


def test_law_a_result_line_holds_all_of_it(tmp_path: Path) -> None:
    found, config = model(8), CircuitConfig(shots=20, state="mps:2", noise="depolarizing:0.1")
    graded = scoring.graded(found, found.asked(), EXAMPLES[:3], config)
    line = scoring.line(found, found.asked(), "dev", graded, config)
    lines.append(tmp_path / "lines.jsonl", line)
    again = lines.read(tmp_path / "lines.jsonl")[0]
    assert again == line
    name = "tiny, 3 qubits: 20 shots, depolarizing:0.1, states mps:2"
    assert (again.run, again.task, again.rows) == (name, "films", {"dev": 3})
    assert again.metrics["accuracy exact"] == graded.exact["accuracy"]
    assert again.notes["noise"] == "depolarizing:0.1" and again.notes["machine"] == "noisy (depolarizing:0.1)"
    other = scoring.line(found, found.asked(), "dev", graded, CircuitConfig(shots=21))
    assert other.recipe != line.recipe and "qiskit" in line.versions


def test_known_what_is_refused() -> None:
    with pytest.raises(UserError, match="a backend has its own noise"):
        CircuitConfig(noise="depolarizing:0.1").machine(object())
    found = model(8)
    tags = found.asked().model_copy(update={"kind": "tagging"})
    with pytest.raises(UserError, match="films is a task of kind tagging; a measurement gives a text a class"):
        scoring.examples_of(found.__class__(**{**vars(found), "task": tags}), None, None, None, {}, None)
