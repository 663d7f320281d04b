"""Measured sentences: exact parity with the model's own answer, counts by their law, the words."""

from __future__ import annotations

import numpy as np
import pytest

from psitext.studio.models import MEASUREMENT, Shelf
from psitext.studio.tabs import measurement

pytest.importorskip("qiskit_aer", reason="circuits need qiskit and its simulator")
TEXT = "not dull but gripping film"


@pytest.mark.parametrize("name", ["measured", "circuit-head"])
def test_parity_exact_probabilities_are_those_of_predict(shelf: Shelf, models: dict[str, str], name: str) -> None:
    model = shelf.model(models[name], MEASUREMENT)
    found = measurement.measure(model, TEXT, 100)
    answer = model.predict([TEXT])[0]
    assert found.labels == tuple(answer.probabilities)
    assert np.allclose(found.exact, list(answer.probabilities.values()), atol=1e-5)
    assert np.allclose(found.shares * 100, np.round(found.shares * 100)) and found.shares.sum() == pytest.approx(1)


def test_law_counts_follow_their_seed_and_come_nearer_with_more_shots(shelf: Shelf, models: dict[str, str]) -> None:
    model = shelf.model(models["circuit-head"], MEASUREMENT)
    few, again, other = (measurement.measure(model, TEXT, 100, seed) for seed in (0, 0, 1))
    many = measurement.measure(model, TEXT, 100_000)
    assert np.array_equal(few.shares, again.shares) and not np.array_equal(few.shares, other.shares)
    far = [np.abs(found.shares - found.outcomes).max() for found in (few, many)]
    assert far[1] < 0.01 < far[0]
    assert (few.low <= few.high).all() and (many.high - many.low < few.high - few.low).all()
    spread = np.sqrt(few.outcomes * (1 - few.outcomes) / 100)  # a binomial's deviation
    assert (np.abs(few.shares - few.outcomes) < 5 * spread + 1e-12).all()


def test_known_words_of_a_measurement(shelf: Shelf, models: dict[str, str]) -> None:
    from psitext.quantum import cost

    found = measurement.measure(shelf.model(models["circuit-head"], MEASUREMENT), TEXT, 1_000)
    told = measurement.told(found, cost(found.head))
    best = found.labels[int(found.exact.argmax())]
    assert f"<h3>{best}: {found.exact.max():.3f}</h3>" in told
    assert "1,000 shots" in told and "two-qubit gates" in told
    assert "shots until the standard error of every logit is 0.05" in told
    assert "no logit is wrong by more than 0.05" in told and "shots for" not in told
    assert told.count('class="psi-gate"') == sum(len(gate[1]) == 1 for gate in found.head.gates)
