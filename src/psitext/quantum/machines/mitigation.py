"""Correction of readings that flip, by M3 (Nation, Kang, Sundaresan and Gambetta 2021; the package mthree).

Two circuits show how often each qubit is misread: one with all of them in |0>, one with all in |1>, so errors are taken
to be those of each qubit alone. The flips are then undone in the space of the readings that came. That leaves
quasi-probabilities, some below zero; the nearest probabilities to them are what is passed on.

Letters: B circuits, m measured qubits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from qiskit import ClassicalRegister, QuantumCircuit

from psitext.errors import UserError
from psitext.quantum.circuits.build import OUTCOME
from psitext.quantum.circuits.order import dense
from psitext.quantum.gates import Real
from psitext.quantum.machines.machine import Counts, Machine


def calibrated(machine: Machine, circuits: Sequence[QuantumCircuit], shots: int, seed: int, number: int) -> Any:
    """An M3 correction for every wire that these translated circuits measure.

    Errors: mthree is not installed.
    """
    try:
        from mthree import M3Mitigation
    except ModuleNotFoundError:
        raise UserError("correcting readings needs mthree: pip install 'psitext[mitigation]'") from None
    read = sorted({wire for circuit in circuits for wire in reading_wires(circuit)})
    size = max(circuit.num_qubits for circuit in circuits)
    plates = [machine.rebase(_plate(size, read, ones)) for ones in (False, True)]
    flips = np.zeros((2, len(read)))
    for state, counts in enumerate(machine.counts(plates, shots, seed, number, "calibration")):
        bits = np.arange(len(counts))[:, None] >> np.arange(len(read)) & 1  # (readings, wires read)
        flips[state] = counts @ (bits != state) / shots
    matrices: list[Real | None] = [None] * size
    for wire, (zero, one) in zip(read, flips.T, strict=True):
        matrices[wire] = np.array([[1 - zero, one], [zero, 1 - one]])
    found = M3Mitigation(None)
    found.cals_from_matrices(matrices)
    return found


def corrected(counts: Counts, circuit: QuantumCircuit, correction: Any) -> Real:
    """Counts of one translated circuit as shares, without its misreadings; (2^m,)."""
    wires = reading_wires(circuit)
    named = {f"{reading:0{len(wires)}b}": int(counts[reading]) for reading in counts.nonzero()[0]}
    quasi = correction.apply_correction(named, wires, distance=-1)
    probs: dict[str, float] = quasi.nearest_probability_distribution()
    found = dense(probs, len(wires))
    return np.asarray(found / found.sum())


def reading_wires(circuit: QuantumCircuit) -> list[int]:
    """The wire that each classical bit is read from, least significant bit first."""
    found = {
        circuit.find_bit(each.clbits[0]).index: circuit.find_bit(each.qubits[0]).index
        for each in circuit.data
        if each.operation.name == "measure"
    }
    return [found[bit] for bit in sorted(found)]


def _plate(size: int, read: Sequence[int], ones: bool) -> QuantumCircuit:
    """All wires that are read in |0> or in |1>, and read into the bits 0, 1, ... in order."""
    found = QuantumCircuit(size)
    found.add_register(ClassicalRegister(len(read), OUTCOME))
    for bit, wire in enumerate(read):
        if ones:
            found.x(wire)
        found.measure(wire, bit)
    return found
