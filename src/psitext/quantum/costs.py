"""What a head costs on a quantum computer, before anything runs: qubits, gates, depth and shots.

How many shots a wanted precision takes: a logit is a mean over shots of the weight of what was read, so with the
outcomes' probabilities p its standard error after N shots is sqrt(Var / N), Var = sum p w^2 - (sum p w)^2. Whatever p
is, Hoeffding's bound holds: with probability 1 - delta no one of K logits is wrong by more than epsilon after

    N = (max w - min w)^2 ln(2 K / delta) / (2 epsilon^2)  shots.

Letters: B kets, n qubits, m measured ones, K classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psitext.errors import UserError
from psitext.quantum.circuits.build import Preparation, head_circuit, prepare
from psitext.quantum.circuits.synthesis import (
    COUNTED_QUBITS,
    GateCounts,
    counted,
    dense_counts,
    state_counts,
    to_basis,
)
from psitext.quantum.gates import Complex, Real
from psitext.quantum.head import HeadCircuit
from psitext.randomness import generator

DOUBT = 0.05  # delta
LEAST_ERROR = 1e-9  # of a logit: some 10^18 shots


@dataclass(frozen=True, slots=True)
class Cost:
    """Counts in rz, sx, x and cx on qubits that all couple; a real machine's couplings add to them."""

    width: int
    qubits: int
    measured: int
    outcomes: int
    classes: int
    head: GateCounts
    exact: GateCounts  # of preparing a ket exactly
    chain: GateCounts  # of preparing it as a matrix-product state
    bond: int
    fidelity: float | None  # of that, the least of the kets given; None where none was
    kets: int  # how many were given
    logit_error: float
    shots_typical: int  # for that standard error, with the kets' outcomes, or with uniform ones
    shots_certain: int  # by Hoeffding, whatever is read

    def rows(self) -> list[dict[str, str]]:
        """As a table: what, and how much."""
        told = f"{self.outcomes:,} outcomes, {self.classes} {'class' if self.classes == 1 else 'classes'}"
        pad = f" of {1 << self.qubits}, the rest zeros" if self.width < 1 << self.qubits else ""
        least = " at least" if self.kets > 1 else ""
        fidelity = "" if self.fidelity is None else f", fidelity {self.fidelity:.4f}{least}"
        read = ("if all outcomes were as likely", "for this text", "for the worst of these texts")[min(self.kets, 2)]
        rows = {
            "qubits": f"{self.qubits} (width {self.width}{pad}), {self.measured} measured ({told})",
            "head": in_words(self.head),
            "state, exact": in_words(self.exact),
            f"state, bond {self.bond}": in_words(self.chain) + fidelity,
            f"shots until the standard error of every logit is {self.logit_error:g}, {read}": f"{self.shots_typical:,}",
            f"shots until, in 95 of 100 measurements, no logit is wrong by more than {self.logit_error:g}, whatever "
            "the text": f"{self.shots_certain:,}",
        }
        return [{"what": what, "cost": cost} for what, cost in rows.items()]


def cost(head: HeadCircuit, kets: Complex | None = None, *, bond: int = 4, logit_error: float = 0.05) -> Cost:
    """The cost of a head, and of kets (B, 2^n) where some are given: the gates of a chain are those of the first of
    them, the exact preparation's those of a ket without any structure.

    Errors: a bond below 1, a logit error that is not above 0, or so small that no machine has the shots for it.
    """
    if not logit_error > 0:
        why = "takes infinitely many shots" if logit_error == 0 else "is none"
        raise UserError(f"a logit error of {logit_error:g} {why}; name one above 0")
    if logit_error < LEAST_ERROR:
        raise UserError(
            f"a logit error of {logit_error:g} takes more shots than there will be; name {LEAST_ERROR:g} or more"
        )
    some = kets if kets is not None else generic_ket(head.qubits)[None]
    chains = [prepare(ket, bond) for ket in some]
    outcomes = head.probabilities(some) if kets is not None else np.full((1, head.outcomes.count), 1.0)
    return Cost(
        width=head.width,
        qubits=head.qubits,
        measured=head.measured,
        outcomes=head.outcomes.count,
        classes=len(head.weight),
        head=head_counts(head),
        exact=ket_counts(head.qubits),
        chain=chains[0].gate_counts(),
        bond=bond,
        fidelity=_least(chains) if kets is not None else None,
        kets=0 if kets is None else len(kets),
        logit_error=logit_error,
        shots_typical=shots_typical(head.weight, outcomes / outcomes.sum(1, keepdims=True), logit_error),
        shots_certain=shots_certain(head.weight, logit_error),
    )


def head_counts(head: HeadCircuit) -> GateCounts:
    """The gates of U: counted, or by formula for a dense one of more than 7 qubits."""
    if head.unitary is not None and head.qubits > COUNTED_QUBITS:
        return dense_counts(head.qubits)
    return counted(to_basis(head_circuit(head)))


def ket_counts(qubits: int) -> GateCounts:
    """The gates that prepare a generic ket exactly: counted, or by formula for more than 7 qubits."""
    if qubits > COUNTED_QUBITS:
        return state_counts(qubits)
    return prepare(generic_ket(qubits)).gate_counts()


def shots_typical(weight: Real, outcomes: Real, error: float) -> int:
    """N for a standard error of every logit, at the worst of kets; weight (K, outcomes), outcomes (B, outcomes)."""
    mean = outcomes @ weight.T
    variance = outcomes @ (weight**2).T - mean**2
    return max(1, math.ceil(float(variance.max()) / error**2))


def shots_certain(weight: Real, error: float, doubt: float = DOUBT) -> int:
    """N by Hoeffding's bound, for all K logits together."""
    spread = float(np.ptp(weight, axis=1).max())
    return max(1, math.ceil(spread**2 * math.log(2 * len(weight) / doubt) / (2 * error**2)))


def generic_ket(qubits: int) -> Complex:
    """A ket without any structure, the same every time; (2^n,)."""
    draws = generator(0, "generic ket").standard_normal((2, 1 << qubits))
    found = draws[0] + 1j * draws[1]
    return np.asarray(found / np.linalg.norm(found))


def in_words(counts: GateCounts) -> str:
    """Counts as a line."""
    how = " (by formula)" if counts.by_formula else ""
    return f"{counts.two_qubit:,} two-qubit gates, {counts.one_qubit:,} one-qubit gates, depth {counts.depth:,}{how}"


def _least(chains: list[Preparation]) -> float:
    return min(chain.fidelity for chain in chains)
