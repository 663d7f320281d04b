"""The order of bits, with asymmetric states, against qiskit's own vectors and counts."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.primitives import BitArray, StatevectorSampler
from qiskit.quantum_info import Statevector

from kets import haar
from psitext.quantum.circuits.build import OUTCOME, measured
from psitext.quantum.circuits.order import dense, tally, wire, wires


def test_known_counts_are_dense() -> None:
    np.testing.assert_array_equal(dense({"101": 7, "010": 3}, 3), [0, 0, 3, 0, 0, 7, 0, 0])
    np.testing.assert_array_equal(dense({5: 7}, 4), np.eye(16)[5] * 7)
    assert dense({}, 2).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("bits", [3, 8, 11, 17])
def test_parity_packed_readings_are_qiskits_counts(bits: int) -> None:
    readings = BitArray.from_counts({1: 3, 2: 1, (1 << bits) - 2: 2}, bits)
    found = tally(readings.array, bits)
    np.testing.assert_array_equal(found, dense(readings.get_int_counts(), bits))
    assert len(found) == 1 << bits and found.sum() == 6


def test_law_the_map_of_wires_is_its_own_inverse() -> None:
    assert [wire(wire(qubit, 5), 5) for qubit in range(5)] == list(range(5))
    assert wires([1, 2], 4) == [1, 2] and wires([0, 3], 4) == [0, 3]


@pytest.mark.parametrize(("qubit", "index"), [(0, 4), (1, 2), (2, 1)])
def test_known_a_flip_of_one_qubit(qubit: int, index: int) -> None:
    circuit = QuantumCircuit(3)
    circuit.x(wire(qubit, 3))
    assert np.flatnonzero(Statevector(circuit).data) == [index]
    result = StatevectorSampler().run([measured([circuit], 3)], shots=1).result()
    assert list(result[0].data[OUTCOME].get_counts()) == [f"{index:03b}"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_law_the_first_qubits_are_read_into_the_first_bits(count: int) -> None:
    ket = haar(3)[0]
    circuit = QuantumCircuit(3)
    circuit.initialize(ket, range(3))
    result = StatevectorSampler(seed=1).run([measured([circuit], count)], shots=40_000).result()
    shares = dense(result[0].data[OUTCOME].get_int_counts(), count) / 40_000
    expected = (np.abs(ket) ** 2).reshape(1 << count, -1).sum(1)
    np.testing.assert_allclose(shares, expected, atol=0.012)
    assert np.abs(expected - expected[::-1]).max() > 0.05  # so that turned bits would show
