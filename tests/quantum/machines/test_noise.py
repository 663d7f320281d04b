"""Noise is really there: it grows with its rate, falls on the preparation too, and matches a hand-made density."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.quantum_info import DensityMatrix, Operator

from kets import haar, module
from psitext.errors import UserError
from psitext.nn.unitary.born import Outcomes
from psitext.quantum import from_gates, from_head, measure, noisy
from psitext.quantum.circuits.build import OUTCOME, measured, prepare
from psitext.quantum.circuits.synthesis import BASIS
from psitext.quantum.machines.noise import Noise

SHOTS = 20_000


def test_law_distance_grows_with_the_rate() -> None:
    head, kets = from_head(module(16)), haar(4, 4)
    found = [measure(head, kets, noisy(Noise(rate)), SHOTS).distances.mean() for rate in (0.001, 0.01, 0.05)]
    # What the notes measured for generic 4-qubit heads: 0.036 and 0.222, of 0.347 for a uniform outcome.
    assert 0.02 < found[0] < 0.06 and 0.15 < found[1] < 0.3 and found[1] < found[2]


def test_law_noise_falls_on_the_preparation_alone() -> None:
    """A head without gates leaves only the state's; left as one instruction it would be silently noiseless."""
    head, kets = from_gates([], 16, 4, Outcomes(16), np.ones((2, 16)), None), haar(4, 3)
    assert measure(head, kets, noisy(Noise(0.05)), SHOTS).distances.mean() > 0.1


def test_law_a_noisy_machine_is_given_basis_gates_only() -> None:
    made = noisy(Noise(0.01)).translate(measured([prepare(haar(3)[0], 2).circuit], 3))
    assert {each.operation.name for each in made.data} <= {*BASIS, "measure"}


def test_parity_one_cx_depolarises_its_qubits() -> None:
    """(1 - p) of the pure state and p of the uniform one; x before it errs by a tenth, a reading by itself."""
    rate, flip = 0.3, 0.1
    circuit = QuantumCircuit(2)
    circuit.x(1)
    circuit.cx(1, 0)
    machine = noisy(Noise(rate, flip))
    counts = machine.counts([machine.translate(measured([circuit], 2))], 200_000, 0)[0]
    single = (1 - rate / 10) * np.diag([0, 1]) + rate / 10 * np.eye(2) / 2
    density = DensityMatrix(np.kron(single, np.diag([1, 0])))  # wire 1 is the most significant
    turn = QuantumCircuit(2)
    turn.cx(1, 0)
    probs = (1 - rate) * density.evolve(Operator(turn)).probabilities() + rate / 4
    misread = np.array([[1 - flip, flip], [flip, 1 - flip]])
    expected = reduce(np.kron, [misread, misread]) @ probs
    np.testing.assert_allclose(counts / 200_000, expected, atol=0.004)
    assert OUTCOME in {register.name for register in measured([circuit], 2).cregs}


def test_known_names_of_noise() -> None:
    assert Noise.named("depolarizing:0.001", 0.02) == Noise(0.001, 0.02)
    assert not Noise.named(None) and str(Noise(0.01, 0.05)) == "depolarizing:0.01,readout:0.05"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Noise.named("thermal:0.1"), "no noise called 'thermal:0.1'; write depolarizing:0.001"),
        (lambda: Noise.named("depolarizing:much"), "no noise called"),
        (lambda: Noise.named("depolarizing:nan"), "no noise called"),
        (lambda: Noise(1.5), "a depolarizing probability lies between 0 and 1, not at 1.5"),
        (lambda: Noise(0, 0.7), "a readout error probability lies between 0 and 0.5, not at 0.7"),
    ],
)
def test_known_what_is_refused(make: object, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make()  # type: ignore[operator]
