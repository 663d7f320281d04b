"""Gate counts: the formulas equal what is counted, and a circuit in basis gates computes the same."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit.quantum_info import Statevector

from kets import haar, module
from psitext.quantum import from_head
from psitext.quantum.circuits.build import head_circuit, prepare
from psitext.quantum.circuits.synthesis import BASIS, counted, dense_counts, state_counts, to_basis


@pytest.mark.parametrize("qubits", [3, 4, 5])
def test_parity_formulas_are_what_is_counted(qubits: int) -> None:
    head = head_circuit(from_head(module(1 << qubits)))
    made = to_basis(head)
    assert {each.operation.name for each in made.data} <= set(BASIS)
    found, expected = counted(made), dense_counts(qubits)
    assert (found.two_qubit, found.one_qubit, found.depth) == (
        expected.two_qubit,
        expected.one_qubit,
        expected.depth,
    )
    assert expected.by_formula and not found.by_formula
    found, expected = prepare(haar(qubits)[0]).gate_counts(), state_counts(qubits)
    assert (found.two_qubit, found.one_qubit, found.depth) == (
        expected.two_qubit,
        expected.one_qubit,
        expected.depth,
    )


def test_known_cx_gates_of_dense_unitaries() -> None:
    """Counted by hand up to 10 qubits, which took 20 s and 2.8 million gates."""
    expected = {3: 19, 4: 95, 5: 423, 6: 1783, 7: 7319, 8: 29_655, 9: 119_383, 10: 479_063}
    assert {qubits: dense_counts(qubits).two_qubit for qubits in expected} == expected
    assert dense_counts(10).depth == 1_733_641
    assert state_counts(10).two_qubit == 1013 and state_counts(10).depth == 6082


def test_law_what_is_made_of_gates_is_the_same_map() -> None:
    head, ket = from_head(module(16)), haar(4)[0]
    made = Statevector(ket).evolve(to_basis(head_circuit(head))).data
    exact = head.amplitudes(ket[None])[0]
    assert abs(np.vdot(exact, made)) ** 2 == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.abs(made) ** 2, np.abs(exact) ** 2, atol=1e-10)
