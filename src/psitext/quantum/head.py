"""A measurement head as plain numbers: what circuits, machines and files are made of, and its exact answers.

    probabilities = |U ket|^2, added up over each outcome's basis states;   logits = probabilities weight^T + bias

Everything here is double precision. A ket of D amplitudes, where D is no power of two, is padded with zeros to 2^n, and
its unitary with the identity to diag(U, 1), so that the padding never gets any weight. Big-endian: qubit 0 is the most
significant bit of an amplitude's index. Letters: B kets, D width, n qubits, m measured ones, K classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from psitext.errors import UserError
from psitext.heads.measurement import MeasurementHead
from psitext.nn.kets.qubits import check_width, qubits_for
from psitext.nn.numerics import UNITARY_GAP, UNITARY_ROUNDING
from psitext.nn.unitary.born import Outcomes
from psitext.nn.unitary.circuit import Circuit
from psitext.quantum import memory
from psitext.quantum.gates import Complex, Gate, Real, act
from psitext.state import State, ket

_LOST = "this head is not finite: its training diverged, or its weights were damaged; train it again"


@dataclass(frozen=True, slots=True, eq=False)
class HeadCircuit:
    """A unitary on n qubits, as a matrix or as gates, and the linear map that reads its outcomes.

    ``unitary`` is (2^n, 2^n) complex128 and unitary to rounding, or None where ``gates`` say it; ``weight`` is
    (K, outcomes) and ``bias`` (K,), float64, any scale of the probabilities inside.
    """

    width: int  # D of the kets that it reads
    qubits: int
    outcomes: Outcomes  # which basis states are counted together: of the D logical ones, or of all 2^n of a circuit
    weight: Real
    bias: Real
    unitary: Complex | None = None
    gates: tuple[Gate, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def measured(self) -> int:
        """m: how many of the first qubits have to be read to tell the outcomes apart."""
        told = self.outcomes.qubits
        return self.qubits if told is None else max(1, told)

    @property
    def padded(self) -> bool:
        """Whether some basis states lie outside the D logical ones."""
        return self.width < 1 << self.qubits

    def amplitudes(self, kets: Complex) -> Complex:
        """U ket; (B, 2^n) -> (B, 2^n)."""
        return kets @ self.unitary.T if self.unitary is not None else act(kets, self.gates, self.qubits)

    def shares(self, amplitudes: Complex) -> Real:
        """Probabilities of what the m measured qubits read; (B, 2^n) -> (B, 2^m)."""
        probs = amplitudes.real**2 + amplitudes.imag**2
        return np.asarray(probs.reshape(len(probs), 1 << self.measured, -1).sum(-1))

    def told(self, shares: Real) -> tuple[Real, Real]:
        """Shares of the m measured qubits' readings as shares of outcomes, (B, 2^m) -> (B, outcomes), and how much of
        each row was inside the logical width, (B,).

        A reading outside it can only be an error of the machine, so it is left out and the rest counts as all. (That
        finds some errors for nothing; a row with nothing left stays 0.)
        """
        if shares.shape[1] == self.outcomes.count:
            return shares, np.ones(len(shares))
        logical = shares[:, : self.outcomes.width]
        kept = logical.sum(1)
        grouped = np.add.reduceat(logical, self.outcomes.starts, axis=1)
        return grouped / np.where(kept > 0, kept, 1)[:, None], kept

    def probabilities(self, kets: Complex) -> Real:
        """Exact probabilities of the outcomes; (B, 2^n) -> (B, outcomes)."""
        return self.told(self.shares(self.amplitudes(kets)))[0]

    def logits(self, probabilities: Real) -> Real:
        """(B, outcomes) -> (B, K)."""
        return np.asarray(probabilities @ self.weight.T + self.bias)

    def kets(self, states: State | Complex, *, pad: bool = True) -> Complex:
        """States, or (B, D) vectors, as this head's kets; (B, 2^n) complex128. See ``padded_kets``."""
        vectors = states.to_ket().vector.cpu().numpy() if isinstance(states, State) else states
        if vectors.shape[-1] != self.width:
            raise UserError(f"a head for kets of width {self.width} cannot read states of width {vectors.shape[-1]}")
        return padded_kets(vectors, pad=pad)


def padded_kets(vectors: Complex, *, pad: bool = True) -> Complex:
    """Vectors as kets of unit norm to double precision, with zeros up to a power of two; (B, D) -> (B, 2^n).

    Single precision is not enough: a machine's library refuses a ket whose squares do not sum to 1 within 1e-8.
    Errors: a vector of norm 0 or one that is not finite; a width that is no power of two, where ``pad`` is False.
    """
    width, size = vectors.shape[-1], 1 << qubits_for(vectors.shape[-1])
    check_width(width, pad=pad)
    memory.check(qubits_for(width), len(vectors), "these kets")
    found = ket(torch.from_numpy(np.asarray(vectors, dtype=np.complex128))).vector.numpy()
    return np.pad(found, ((0, 0), (0, size - width)))


def from_matrix(
    matrix: Complex, weight: Real, bias: Real | None, groups: int | None = None, labels: Sequence[str] = ()
) -> HeadCircuit:
    """A head out of a unitary matrix (D, D) and its read-out (K, outcomes), (K,).

    Errors: a matrix that is not unitary, a read-out of another number of outcomes, more qubits than memory has room
    for.
    """
    width = len(matrix)
    qubits, outcomes = qubits_for(width), Outcomes(width, groups)
    memory.check(2 * qubits, 4, f"the matrix of {qubits} qubits")
    full = np.eye(1 << qubits, dtype=np.complex128)
    full[:width, :width] = nearest_unitary(matrix)
    weight, offset = _readout(weight, bias, outcomes)
    return HeadCircuit(width, qubits, outcomes, weight, offset, unitary=full, labels=tuple(labels))


def from_gates(
    gates: Sequence[Gate],
    width: int,
    qubits: int,
    outcomes: Outcomes,
    weight: Real,
    bias: Real | None,
    labels: Sequence[str] = (),
) -> HeadCircuit:
    """A head out of gates on ``qubits``, for kets of ``width``, that tells these outcomes apart.

    Errors: a read-out of another number of outcomes; angles or a read-out that are not finite.
    """
    if not all(angle is None or math.isfinite(angle) for _, _, angle in gates):
        raise UserError(f"an angle of {_LOST}")
    weight, offset = _readout(weight, bias, outcomes)
    return HeadCircuit(width, qubits, outcomes, weight, offset, gates=tuple(gates), labels=tuple(labels))


def from_head(head: MeasurementHead, labels: Sequence[str] = ()) -> HeadCircuit:
    """A trained head, with its unitary recomputed in double precision rather than cast."""
    weight, bias = (None if part is None else part.detach().cpu().numpy() for part in head.readout())
    assert weight is not None
    if isinstance(head.turn, Circuit):
        return from_gates(head.gates(), head.width, head.turn.qubits, head.outcomes, weight, bias, labels)
    return from_matrix(head.unitary().detach().cpu().numpy(), weight, bias, head.config.groups, labels)


def nearest_unitary(matrix: Complex) -> Complex:
    """The unitary factor of the polar decomposition, which is the nearest unitary in every unitarily invariant norm.

    By Newton and Schulz's iteration X (3 - X^H X) / 2, whose error is squared at each step; for a matrix that was
    unitary before it was rounded two steps reach double precision, at a fraction of an SVD's cost.
    """
    found, one = np.asarray(matrix, dtype=np.complex128), np.eye(len(matrix))
    gram = found.conj().T @ found
    gap = float(np.abs(gram - one).max())
    if math.isnan(gap):
        raise UserError(f"the matrix of {_LOST}")
    if not gap <= UNITARY_GAP:
        raise UserError(f"a matrix with U^H U up to {gap:.2g} away from the identity is no unitary, and no circuit")
    while gap > UNITARY_ROUNDING:
        found = found @ (1.5 * one - 0.5 * gram)
        gram = found.conj().T @ found
        gap = float(np.abs(gram - one).max())
    return found


def _readout(weight: Real, bias: Real | None, outcomes: Outcomes) -> tuple[Real, Real]:
    found = np.asarray(weight, dtype=np.float64)
    if not np.isfinite(found).all() or not (bias is None or np.isfinite(bias).all()):
        raise UserError(f"the read-out of {_LOST}")
    if found.ndim != 2 or found.shape[1] != outcomes.count:
        raise UserError(f"a read-out of shape {found.shape} does not fit {outcomes.count} outcomes")
    return found, np.zeros(len(found)) if bias is None else np.asarray(bias, dtype=np.float64)
