"""Kets and heads as qiskit circuits.

Two ways to prepare a ket: exact amplitude encoding, of 2^n - n - 1 CX gates, and a chain of a chosen bond, which is
nearly as good for kets that are little entangled and takes a number of gates that grows like n (``mps``). Wires are
little-endian (``order``). Letters: n qubits, m measured ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import library as gates

from psitext.errors import UserError
from psitext.nn.kets.qubits import whole as whole_number
from psitext.quantum.circuits import mps
from psitext.quantum.circuits.order import wire, wires
from psitext.quantum.circuits.synthesis import GateCounts, counted, to_basis
from psitext.quantum.gates import Complex
from psitext.quantum.head import HeadCircuit, padded_kets
from psitext.state import State

OUTCOME = "outcome"  # the classical register that is measured into


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """A circuit that takes |0...0> to a ket, and how near it comes."""

    circuit: QuantumCircuit
    fidelity: float  # |<ket|prepared>|^2
    bond: int | None  # None: exact
    width: int  # of the ket before it was padded

    @property
    def qubits(self) -> int:
        """n."""
        return int(self.circuit.num_qubits)

    @property
    def padded(self) -> bool:
        """Whether the ket was padded with zeros to a power of two."""
        return self.width < 1 << self.qubits

    def gate_counts(self) -> GateCounts:
        """What it costs in the gates that machines have."""
        return counted(to_basis(self.circuit))


def circuit(ket: State | Complex, bond: int | None = None, *, pad: bool = True) -> Preparation:
    """A circuit that prepares the ket of one state: exactly, or as a matrix-product state of ``bond``.

    Errors: neither a state nor an array of numbers; several kets; norm 0 or NaN; a bond below 1; a width that is no
    power of two, with ``pad`` False.
    """
    try:
        vectors = ket.to_ket().numpy() if isinstance(ket, State) else np.atleast_2d(np.asarray(ket))
    except (TypeError, ValueError, RuntimeError):  # rows of several lengths; a tensor that has no array
        vectors = np.empty(0)
    if vectors.dtype.kind not in "iufc" or vectors.ndim != 2:
        raise UserError(
            f"a circuit prepares a state, or one ket as an array (D,) of numbers, not a {type(ket).__name__}"
        )
    if len(vectors) != 1:
        raise UserError(f"a circuit prepares one ket, and here are {len(vectors)}; take one, as in ket[0]")
    bond = None if bond is None else whole_number(bond, "a bond")
    return prepare(padded_kets(vectors, pad=pad)[0], bond, width=vectors.shape[1])


def prepare(ket: Complex, bond: int | None = None, *, width: int | None = None, native: bool = False) -> Preparation:
    """A circuit for one ket of unit norm, (2^n,). A ``native`` one sets amplitudes without gates, as simulators can."""
    qubits = len(ket).bit_length() - 1
    found = QuantumCircuit(qubits, name="state")
    first = gates.Initialize if native else gates.StatePreparation
    if bond is None:
        found.append(first(ket), range(qubits))
        return Preparation(found, 1.0, None, width or len(ket))
    chain = mps.chain(ket, bond)
    start, *others = chain.gates
    found.append(first(start[:, 0]), wires(range(chain.width), qubits))
    for place, gate in enumerate(others, start=1):
        found.append(gates.UnitaryGate(gate), wires(range(place, place + chain.width), qubits))
    return Preparation(found, chain.fidelity, bond, width or len(ket))


def bond_of(state: str) -> int | None:
    """What an option says of state preparation: "exact" (None), or "mps:4"."""
    if state == "exact":
        return None
    kind, _, bond = state.partition(":")
    if kind != "mps" or not bond.isdecimal():
        raise UserError(f"no state preparation called {state!r}; write exact or mps:4")
    return int(bond)


def head_circuit(head: HeadCircuit) -> QuantumCircuit:
    """U on n wires, without measurement: one matrix, or the head's gates."""
    found = QuantumCircuit(head.qubits, name="head")
    if head.unitary is not None:
        found.append(gates.UnitaryGate(head.unitary, label="head"), range(head.qubits))
    for name, at, angle in head.gates:
        getattr(found, name)(*(() if angle is None else (angle,)), *(wire(qubit, head.qubits) for qubit in at))
    return found


def whole(head: HeadCircuit, ket: Complex | None = None, bond: int | None = None) -> QuantumCircuit:
    """A head and its measurement, behind the preparation of a ket (2^n,) where one is given."""
    parts = [] if ket is None else [prepare(ket, bond).circuit]
    return measured([*parts, head_circuit(head)], head.measured)


def measured(parts: Sequence[QuantumCircuit], count: int) -> QuantumCircuit:
    """Circuits on the same wires one after the other, and a measurement of the first ``count`` qubits, qubit 0 into the
    most significant bit.
    """
    qubits = parts[0].num_qubits
    found = QuantumCircuit(QuantumRegister(qubits, "q"), ClassicalRegister(count, OUTCOME))
    for part in parts:
        found.compose(part, range(qubits), inplace=True)
    for qubit in range(count):
        found.measure(wire(qubit, qubits), wire(qubit, count))
    return found
