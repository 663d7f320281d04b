"""What it costs to prepare kets, exactly or as matrix-product states of a bond; in CX and other gates.

Counts are those of a generic ket of so many qubits, as on every page about circuits: which ket it is makes no
difference to its gates. A chain's gates grow with the square of the bond, so from some bond on the exact preparation is
the cheaper one; bonds beyond that are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psitext.quantum.circuits.build import prepare
from psitext.quantum.circuits.synthesis import GateCounts
from psitext.quantum.costs import generic_ket, in_words, ket_counts


def prepared(qubits: int, bond: int) -> GateCounts:
    """The gates that prepare a ket of n qubits as a chain of a bond."""
    return prepare(generic_ket(qubits), bond).gate_counts()


def two_qubit_gates(qubits: int, bonds: Sequence[int]) -> dict[str, int]:
    """CX gates by bond ("4"), up to the first that takes more than "exact" does."""
    exact = ket_counts(qubits).two_qubit
    found = {}
    for bond in sorted(bonds):
        found[str(bond)] = prepared(qubits, bond).two_qubit
        if found[str(bond)] > exact:
            break
    return {**found, "exact": exact}


def cost_rows(qubits: int, bond: int) -> list[dict[str, Any]]:
    """A table for a user: the chain of a bond beside the exact preparation."""
    found = {f"bond {bond}": prepared(qubits, bond), "exact": ket_counts(qubits)}
    return [{"preparation": name, "gates": in_words(counts)} for name, counts in found.items()]


def cost_record(qubits: int, bond: int) -> dict[str, dict[str, int]]:
    """The same as plain numbers."""
    found = {f"bond {bond}": prepared(qubits, bond), "exact": ket_counts(qubits)}
    return {
        name: {"two_qubit": counts.two_qubit, "one_qubit": counts.one_qubit, "depth": counts.depth}
        for name, counts in found.items()
    }
