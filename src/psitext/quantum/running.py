"""Sentences through a head on a machine, beside the exact answers.

Letters: B sentences, n qubits, m measured ones, K classes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from qiskit import QuantumCircuit

from psitext.errors import UserError
from psitext.quantum import memory
from psitext.quantum.circuits.build import head_circuit, measured, prepare
from psitext.quantum.circuits.synthesis import dense_counts, to_basis
from psitext.quantum.export import Readable, from_model
from psitext.quantum.gates import Complex, Real
from psitext.quantum.head import HeadCircuit
from psitext.quantum.machines import exact, mitigation
from psitext.quantum.machines.machine import Machine, ideal, noisy, on
from psitext.quantum.machines.noise import Noise

DENSE_QUBITS = 8  # of a head that is one matrix: more are too many gates for any machine with errors
TOGETHER = 16  # circuits handed over at a time: a dense head of 10 qubits takes 16 MB in each of them


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a machine answered for B sentences, and what is exact."""

    head: HeadCircuit
    found: Real  # (B, outcomes) shares of counts, or exact probabilities of the circuits
    exact: Real  # (B, outcomes) probabilities by plain linear algebra, from the kets themselves
    kept: Real  # (B,) share of readings inside the logical width
    fidelity: Real  # (B,) of the kets as they were prepared
    machine: str
    shots: int | None
    seconds: float

    @property
    def logits(self) -> Real:
        """(B, K) from the machine."""
        return self.head.logits(self.found)

    @property
    def exact_logits(self) -> Real:
        """(B, K) exact."""
        return self.head.logits(self.exact)

    @property
    def distances(self) -> Real:
        """(B,) total variation: half the sum of |found - exact|, the largest error of any event's probability."""
        return np.asarray(np.abs(self.found - self.exact).sum(1) / 2)

    @property
    def agreement(self) -> float:
        """Share of sentences for which both name the same class."""
        return float((self.logits.argmax(1) == self.exact_logits.argmax(1)).mean())

    def described(self) -> str:
        """How it ran, in a line."""
        shots = "exact" if self.shots is None else f"{self.shots:,} shots"
        return f"{shots}, {self.machine} machine, {self.head.qubits} qubits, {self.seconds:.1f} s"


def run(
    model: Readable,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    backend: object = None,
    shots: int | None = None,
    bond: int | None = None,
    noise: Noise | str | None = None,
    mitigate: bool = False,
    seed: int = 0,
) -> Run:
    """Texts (or pairs) through a model whose head is a measurement.

    ``backend`` is any qiskit BackendV2 or SamplerV2, None a simulation here, with ``noise`` ("depolarizing:0.001") or
    without; ``shots`` None is exact. ``bond`` prepares kets as matrix-product states, None exactly.
    Errors: those of ``measure``; a model without such a head.
    """
    head = from_model(model)
    if isinstance(noise, str):
        noise = Noise.named(noise)
    if backend is not None and noise:
        raise UserError("a backend has its own noise; name either it or a noise model")
    machine = on(backend) if backend is not None else noisy(noise) if noise else ideal()
    kets = head.kets(model.encode(texts, pairs))
    return measure(head, kets, machine, shots, bond=bond, mitigate=mitigate, seed=seed)


def measure(
    head: HeadCircuit,
    kets: Complex,
    machine: Machine,
    shots: int | None,
    *,
    bond: int | None = None,
    mitigate: bool = False,
    seed: int = 0,
) -> Run:
    """Kets (B, 2^n) through a head on a machine; ``mitigate`` corrects misreadings.

    Errors: zero shots; a machine with fewer qubits; a dense head of so many qubits that its gates would leave nothing
    but noise; shots missing where only they show anything; nothing to correct.
    """
    began = time.monotonic()
    _check(head, machine, shots, mitigate)
    if shots is None:
        readings, fidelity = exact.shares(head, kets, bond)
    else:
        readings, fidelity = _sampled(head, kets, machine, shots, bond, mitigate, seed)
    found, kept = head.told(readings)
    reference = head.probabilities(kets)
    return Run(head, found, reference, kept, fidelity, machine.name, shots, time.monotonic() - began)


def _check(head: HeadCircuit, machine: Machine, shots: int | None, mitigate: bool) -> None:
    if shots is None and (mitigate or not machine.native):
        raise UserError("noise, backends and corrections show in counts; name the number of shots")
    machine.check(head.qubits, shots)
    if mitigate and (machine.native or (machine.noise is not None and not machine.noise.readout)):
        raise UserError("this machine misreads nothing, so there is nothing to correct; name a readout error")
    if not machine.native and head.unitary is not None and head.qubits > DENSE_QUBITS:
        cx = dense_counts(head.qubits).two_qubit
        raise UserError(
            f"a dense head of {head.qubits} qubits takes {cx:,} CX gates, after which a machine with errors knows "
            "nothing; train one with head.unitary=circuit, or run this one without noise"
        )
    if machine.qubits is None:
        memory.check(head.qubits * (1 if machine.native else 2), 4, f"simulating {head.qubits} qubits")


def _sampled(
    head: HeadCircuit, kets: Complex, machine: Machine, shots: int, bond: int | None, mitigate: bool, seed: int
) -> tuple[Real, Real]:
    """Shares of what the measured qubits read, (B, 2^m), and fidelities of the kets as prepared, (B,)."""
    rows: list[Real] = []
    fidelities: list[float] = []
    for number, (circuits, some) in enumerate(_batches(head, kets, machine, bond)):
        counts = machine.counts(circuits, shots, seed, number)
        if mitigate:  # anew for each batch: the wires that are read, and a real machine's errors, may be others
            correction = mitigation.calibrated(machine, circuits, shots, seed, number)
            rows += [mitigation.corrected(*each, correction) for each in zip(counts, circuits, strict=True)]
        else:
            rows += [each / shots for each in counts]
        fidelities += some
    return np.stack(rows), np.asarray(fidelities)


def _batches(
    head: HeadCircuit, kets: Complex, machine: Machine, bond: int | None
) -> Iterator[tuple[list[QuantumCircuit], list[float]]]:
    """Translated circuits, some at a time; a dense head is made of gates once for all of them."""
    last = head_circuit(head)
    if not machine.native and head.unitary is not None:
        last = to_basis(last)
    for start in range(0, len(kets), TOGETHER):
        states = [prepare(ket, bond, native=machine.native) for ket in kets[start : start + TOGETHER]]
        circuits = [machine.translate(measured([state.circuit, last], head.measured)) for state in states]
        yield circuits, [state.fidelity for state in states]
