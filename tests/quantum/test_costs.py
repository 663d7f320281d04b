"""Costs before anything runs: gates as counted, and shots that keep what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import circuit, cost, from_head, ideal, measure
from psitext.quantum.circuits.build import head_circuit
from psitext.quantum.circuits.synthesis import counted, to_basis
from psitext.quantum.costs import in_words, shots_certain, shots_typical


@pytest.mark.parametrize("width", [8, 16, 32])
def test_parity_counts_are_those_of_the_translated_circuits(width: int) -> None:
    head = from_head(module(width))
    found, ket = cost(head, bond=2), haar(head.qubits)[0]
    assert found.head == counted(to_basis(head_circuit(head)))
    assert found.exact == circuit(ket).gate_counts()
    assert found.chain == circuit(ket, bond=2).gate_counts()
    assert found.fidelity is None


def test_known_a_head_of_768() -> None:
    """Without making 2.8 million gates."""
    head = from_head(module(768, init_std=0.01))
    found = cost(head)
    assert (found.qubits, found.measured, found.outcomes, found.width) == (10, 10, 768, 768)
    assert found.head.two_qubit == 479_063 and found.head.by_formula
    assert found.exact.two_qubit == 1013 and found.chain.two_qubit < 150
    rows = {row["what"]: row["cost"] for row in found.rows()}
    assert rows["qubits"] == "10 (width 768 of 1024, the rest zeros), 10 measured (768 outcomes, 2 classes)"
    assert rows["head"].startswith("479,063 two-qubit gates") and rows["head"].endswith("(by formula)")


def test_known_a_head_of_gates_costs_its_gates() -> None:
    head = from_head(module(8, unitary="circuit", layers=3, entangler="cx-chain", groups=2))
    found = cost(head, head.kets(haar(3, 4)), bond=2)
    assert found.head.two_qubit == 4 and found.measured == 1
    assert found.fidelity is not None and 0.5 < found.fidelity <= 1
    assert in_words(found.head).startswith("4 two-qubit gates, ")


def test_law_typical_shots_give_the_error_that_was_asked() -> None:
    head, kets = from_head(module(8)), np.repeat(haar(3), 200, axis=0)
    error = 0.1
    shots = shots_typical(head.weight, head.probabilities(kets[:1]), error)
    assert shots > 20
    assert shots_typical(head.weight + 9, head.probabilities(kets[:1]), error) == shots  # as the bias does not count
    run = measure(head, kets, ideal(), shots)
    spread = np.sqrt(((run.logits - run.exact_logits) ** 2).mean(0))
    assert spread.max() == pytest.approx(error, rel=0.2)


def test_law_certain_shots_hold_for_the_worst_outcomes() -> None:
    """Two outcomes of opposite weight, equally likely: the largest variance that there is."""
    weight, error = np.array([[1.0, -1.0], [-1.0, 1.0]]), 0.1
    shots = shots_certain(weight, error)
    assert shots == int(np.ceil(4 * np.log(2 * 2 / 0.05) / (2 * error**2)))
    draws = np.random.default_rng(0).binomial(shots, 0.5, 4_000) / shots
    assert (np.abs(2 * draws - 1) > error).mean() < 0.05


def test_known_what_is_refused() -> None:
    for error, why in ((0.0, "takes infinitely many shots"), (-1.0, "is none"), (float("nan"), "is none")):
        with pytest.raises(UserError, match=f"{why}; name one above 0"):
            cost(from_head(module(4)), logit_error=error)
    with pytest.raises(UserError, match="a bond of 0 holds nothing"):
        cost(from_head(module(4)), bond=0)


def test_known_what_shots_are_for_is_said() -> None:
    head = from_head(module(4))
    kets = haar(2, 3)
    for some, read in ((None, "if all outcomes were as likely"), (kets[:1], "for this text"), (kets, "for the worst")):
        rows = {row["what"]: row["cost"] for row in cost(head, some, bond=1).rows()}
        typical, certain = list(rows)[-2:]
        assert typical.startswith("shots until the standard error of every logit is 0.05, ") and read in typical
        assert certain.startswith("shots until, in 95 of 100 measurements, no logit is wrong by more than 0.05")
        assert ("fidelity" in rows["state, bond 1"]) == (some is not None)
        assert rows["state, bond 1"].endswith(" at least") == (some is kets)
