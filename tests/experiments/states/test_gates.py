"""What preparations cost: counts of circuits that do prepare the kets, and the formula of the exact one."""

from __future__ import annotations

import pytest

pytest.importorskip("qiskit_aer", reason="needs psitext[quantum]")

from psitext.experiments.states.gates import cost_record, cost_rows, prepared, two_qubit_gates
from psitext.quantum.circuits.build import prepare
from psitext.quantum.costs import generic_ket


def test_known_gates_by_bond_stop_where_exact_is_cheaper() -> None:
    found = two_qubit_gates(5, (1, 2, 4, 8))
    assert list(found) == ["1", "2", "4", "exact"] and found["exact"] == 2**5 - 5 - 1
    assert found["1"] == 0 < found["2"] < found["exact"] < found["4"]


def test_parity_with_the_circuit_itself() -> None:
    counts = prepare(generic_ket(4), 2).gate_counts()
    assert prepared(4, 2) == counts
    record = cost_record(4, 2)
    assert record["bond 2"] == {"two_qubit": counts.two_qubit, "one_qubit": counts.one_qubit, "depth": counts.depth}
    assert record["exact"]["two_qubit"] == 11
    assert [row["preparation"] for row in cost_rows(4, 2)] == ["bond 2", "exact"]
