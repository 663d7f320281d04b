"""The order of bits, in one place.

psitext is big-endian: qubit 0 is the most significant bit of an amplitude's index and the first of an outcome's.
qiskit is little-endian: its wire 0 is the least significant bit. So qubit q lies on wire n - 1 - q, and then a ket's
amplitudes have the same index on both sides, vectors and matrices pass as they are, and the bit strings that qiskit
prints read from qubit 0 on. PennyLane is big-endian, like psitext, and needs no converter.

Letters: n qubits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from psitext.quantum.gates import Real


def wire(qubit: int, qubits: int) -> int:
    """qiskit's wire of a qubit, and the qubit of a wire: the map is its own inverse."""
    return qubits - 1 - qubit


def wires(group: Sequence[int], qubits: int) -> list[int]:
    """The wires on which a matrix acts whose index is big-endian in ``group``; qiskit takes the least significant
    first.
    """
    return [wire(qubit, qubits) for qubit in reversed(group)]


def tally(readings: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.int64]:
    """Readings as qiskit packs them, (shots, bytes), the most significant byte first, as counts of every reading, also
    of those that never came; (2^bits,).
    """
    places = 8 * np.arange(readings.shape[1])[::-1]
    return np.bincount((readings.astype(np.int64) << places).sum(1), minlength=1 << bits)


def dense(counts: Mapping[str, float] | Mapping[int, float], bits: int) -> Real:
    """Counts or shares by reading, as a vector with a place for those that never came too; (2^bits,).

    Keys are numbers, or strings of bits from qubit 0 on. Leaving out what was not counted would shift all that follows.
    """
    found = np.zeros(1 << bits)
    for reading, count in counts.items():
        found[int(reading, 2) if isinstance(reading, str) else reading] += count
    return found
