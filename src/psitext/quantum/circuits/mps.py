"""A ket as a matrix-product state, and as the chain of small maps that prepares it one qubit after the other.

Cutting a ket between its qubits and keeping the ``bond`` largest Schmidt coefficients at every cut leaves

    ket ~ sum over bonds of first[s_1, a_1] B_2[a_1, s_2, a_2] ... B_n[a_(n-1), s_n],

where every B_i is an isometry from its left bond to (qubit, right bond). An isometry is what a gate does to a fresh
qubit: with the bond held in b = ceil(log2 bond) qubits, gate i takes them and one qubit in |0> to qubit i, which is
done, and the next bond (Schoen et al. 2005). So n - b gates on b + 1 neighbouring qubits make the whole state.

Letters: n qubits, b qubits of the bond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psitext.errors import UserError
from psitext.quantum.gates import Complex


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """``gates[i]`` (2^(b+1), 2^(b+1)) acts on qubits i to i + b, in order; the first one's column 0 starts the chain.

    ``discarded`` is the weight, the sum of squared Schmidt coefficients, that each cut lost, from the last cut to the
    first; what is left of the norm, 1 - their sum, is |<ket|chain>|^2.
    """

    width: int  # b + 1
    gates: tuple[Complex, ...]
    discarded: tuple[float, ...]

    @property
    def fidelity(self) -> float:
        """|<ket|chain>|^2."""
        return max(0.0, 1.0 - sum(self.discarded))


def chain(ket: Complex, bond: int) -> Chain:
    """The chain of a ket (2^n,) with at most ``bond`` Schmidt coefficients at every cut.

    Errors: a bond below 1.
    """
    if bond < 1:
        raise UserError(f"a bond of {bond} holds nothing; 1 is a product state, and each doubling takes a qubit more")
    qubits, held = len(ket).bit_length() - 1, (bond - 1).bit_length()
    if qubits <= held + 1:
        return Chain(qubits, (_unitary(ket[:, None], [0]),), ())
    gates: list[Complex] = []
    discarded: list[float] = []
    rest = ket.reshape(-1, 2 << held)  # the last b + 1 qubits are made by one gate
    while len(rest) > 1:
        left, schmidt, right = np.linalg.svd(rest, full_matrices=False)
        discarded.append(float((schmidt[bond:] ** 2).sum()))
        right = right[:bond]
        columns = [2 * state for state in range(len(right))]  # bond in the first b qubits, the last one in |0>
        gates.append(_unitary(_held(right, held), columns))
        rest = left[:, :bond] * schmidt[:bond]  # (2^i, bond)
        rest = rest.reshape(len(rest) // 2, -1)
    start = _held(rest / np.linalg.norm(rest), held)
    return Chain(held + 1, (_unitary(start, [0]), *reversed(gates)), tuple(discarded))


def _held(rows: Complex, held: int) -> Complex:
    """(k, 2 * bond) rows over (qubit, bond) as (2^(b+1), k) columns, the bond padded to b qubits."""
    bonds = rows.shape[1] // 2
    wide = np.pad(rows.reshape(len(rows), 2, bonds), ((0, 0), (0, 0), (0, (1 << held) - bonds)))
    return np.asarray(wide.reshape(len(rows), -1).T)


def _unitary(columns: Complex, places: list[int]) -> Complex:
    """A unitary with these orthonormal columns at these places, and any others elsewhere."""
    size, count = columns.shape
    full = np.linalg.qr(columns, mode="complete")[0]
    found = np.empty((size, size), dtype=np.complex128)
    found[:, places] = columns
    found[:, [place for place in range(size) if place not in places]] = full[:, count:]
    return found
