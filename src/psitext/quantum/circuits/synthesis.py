"""Circuits in the gates that superconducting machines have, and what they cost there.

A CX is what costs: on machines of today it fails ten times as often as a gate on one qubit, and a turn about z is no
pulse at all but a change of frame. A dense unitary on n qubits is made by quantum Shannon decomposition, of

    22/48 4^n - 3/2 2^n + 5/3 CX gates                                  (Krol and Al-Ars 2024)

and a depth of 53/32 4^n - 3 2^n + 9, which from n = 3 on is what qiskit's first level of optimisation makes of a
generic one (up to 8 qubits counted, tests do it again). So the cost of a large one is known without making it: 10
qubits take 20 s and 2.8 million gates to learn that they are 479,063 CX. Preparing a generic ket exactly takes
2^n - n - 1 CX gates at a depth of 6 2^n - 6 n - 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from qiskit import QuantumCircuit, transpile

BASIS = ("rz", "sx", "x", "cx")
COUNTED_QUBITS = 7  # up to which what is generic is made to be counted: a second or two
_FREE = ("barrier", "measure", "delay")


@dataclass(frozen=True, slots=True)
class GateCounts:
    """Gates in the basis rz, sx, x, cx."""

    two_qubit: int  # CX
    one_qubit: int  # rz included
    depth: int  # of all gates, measurements aside
    by_formula: bool = False

    def __add__(self, other: GateCounts) -> GateCounts:
        """One circuit after the other; the depth is then an upper bound."""
        return GateCounts(
            self.two_qubit + other.two_qubit,
            self.one_qubit + other.one_qubit,
            self.depth + other.depth,
            self.by_formula or other.by_formula,
        )


def to_basis(circuit: QuantumCircuit) -> QuantumCircuit:
    """The circuit in ``BASIS``, state preparations and unitaries made of it; the same every time."""
    found: QuantumCircuit = transpile(
        circuit, basis_gates=list(BASIS), optimization_level=1, seed_transpiler=0, num_processes=1
    )
    return found


def counted(circuit: QuantumCircuit) -> GateCounts:
    """The gates of a circuit in ``BASIS``."""
    sizes = [len(each.qubits) for each in circuit.data if each.operation.name not in _FREE]
    depth = circuit.depth(lambda each: each.operation.name not in _FREE)
    return GateCounts(sizes.count(2), sizes.count(1), int(depth))


def dense_counts(qubits: int) -> GateCounts:
    """What a generic unitary on 3 qubits or more costs, by formula."""
    full, side = 4**qubits, 2**qubits
    cx = (22 * full - 72 * side + 80) // 48
    one = (35 * full - 36 * side + 136) // 24 + (19 * full + 80) // 24  # rz and sx
    return GateCounts(cx, one, (53 * full - 96 * side + 288) // 32, by_formula=True)


def state_counts(qubits: int) -> GateCounts:
    """What preparing a generic ket on 3 qubits or more costs, by formula."""
    size = 1 << qubits
    one = 3 * size - (qubits + 3) + 2 * size - (qubits + 1)  # rz and sx
    return GateCounts(size - qubits - 1, one, 6 * size - 6 * qubits - 2, by_formula=True)
