"""Gates on kets, against matrices written out with Kronecker products."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from scipy.linalg import expm

from kets import haar
from psitext.quantum.gates import FIXED, TURNS, Gate, act, matrix

PAULI = {
    "rx": np.array([[0, 1], [1, 0]]),
    "ry": np.array([[0, -1j], [1j, 0]]),
    "rz": np.diag([1, -1]),
}


def full(gate: Gate, qubits: int) -> np.ndarray:
    """The gate on all qubits: a sum over what its control is in, of Kronecker products from qubit 0 on."""
    name, at, angle = gate
    parts = [np.eye(2, dtype=complex) for _ in range(qubits)]
    if len(at) == 1:
        parts[at[0]] = matrix(name, angle)
        return reduce(np.kron, parts)
    off, on = parts.copy(), parts.copy()
    off[at[0]], on[at[0]] = np.diag([1, 0]), np.diag([0, 1])
    on[at[1]] = {"cx": FIXED["x"], "cz": np.diag([1, -1])}[name]
    return reduce(np.kron, off) + reduce(np.kron, on)


@pytest.mark.parametrize("name", TURNS)
def test_parity_turns_are_exponentials(name: str) -> None:
    np.testing.assert_allclose(matrix(name, 0.7), expm(-0.35j * PAULI[name]), atol=1e-15)


def test_known_a_half_of_x() -> None:
    np.testing.assert_allclose(FIXED["sx"] @ FIXED["sx"], FIXED["x"], atol=1e-15)


def test_parity_gates_act_as_kronecker_products() -> None:
    gates: list[Gate] = [
        ("h", (2,), None), ("cx", (0, 2), None), ("ry", (1,), 0.3), ("cz", (2, 1), None), ("cx", (2, 0), None),
        ("sx", (0,), None), ("rx", (2,), -1.1), ("rz", (1,), 2.0), ("x", (1,), None), ("cx", (1, 0), None),
    ]  # fmt: skip
    kets = haar(3, 4)
    expected = kets
    for gate in gates:
        expected = expected @ full(gate, 3).T
    np.testing.assert_allclose(act(kets, gates, 3), expected, atol=1e-14)


def test_known_qubit_0_is_the_most_significant_bit() -> None:
    start = np.eye(8, dtype=complex)[:1]
    assert np.flatnonzero(act(start, [("x", (0,), None)], 3)) == [4]
    both: list[Gate] = [("x", (0,), None), ("cx", (0, 2), None)]
    assert np.flatnonzero(act(start, both, 3)) == [5]
