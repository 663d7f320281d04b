"""Exact probabilities of a circuit, by qiskit's own statevectors: what shots would show after infinitely many."""

from __future__ import annotations

import numpy as np
from qiskit import QuantumCircuit
from qiskit.quantum_info import Statevector

from psitext.quantum.circuits.build import head_circuit, prepare
from psitext.quantum.gates import Complex, Real
from psitext.quantum.head import HeadCircuit


def shares(head: HeadCircuit, kets: Complex, bond: int | None = None) -> tuple[Real, Real]:
    """Probabilities of what the measured qubits read, (B, 2^n) -> (B, 2^m), and fidelities of the kets as prepared,
    (B,). Letters: B kets, n qubits, m measured ones.
    """
    measurement = head_circuit(head)
    rows, fidelities = [], []
    for ket in kets:
        start, fidelity = _start(ket, bond)
        rows.append(np.asarray(start.evolve(measurement).data))
        fidelities.append(fidelity)
    return head.shares(np.stack(rows)), np.asarray(fidelities)


def _start(ket: Complex, bond: int | None) -> tuple[Statevector, float]:
    """The ket itself, or what the gates of its chain make of |0...0>."""
    if bond is None:
        return Statevector(ket), 1.0
    preparation = prepare(ket, bond)
    return Statevector(QuantumCircuit(preparation.qubits)).evolve(preparation.circuit), preparation.fidelity
