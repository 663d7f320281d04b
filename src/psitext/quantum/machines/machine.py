"""Machines: what takes circuits and gives counts, each behind one of qiskit's SamplerV2 primitives.

A machine is a translation into the gates that it has, and a sampler. Three are made here: an ideal one, a noisy one,
and any backend or sampler that qiskit knows. Letters: n qubits, m measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from qiskit import QuantumCircuit
from qiskit.primitives import BackendSamplerV2, BaseSamplerV2
from qiskit.providers import BackendV2
from qiskit.transpiler import generate_preset_pass_manager
from qiskit_aer import AerSimulator

from psitext.errors import UserError
from psitext.quantum.circuits.build import OUTCOME
from psitext.quantum.circuits.order import tally
from psitext.quantum.circuits.synthesis import BASIS, to_basis
from psitext.quantum.machines.noise import Noise
from psitext.randomness import bits

Counts = npt.NDArray[np.int64]  # of every reading of the measured qubits, qubit 0 the most significant bit; (2^m,)


@dataclass(frozen=True, slots=True)
class Machine:
    """Runs circuits. ``native`` ones take kets and matrices as they are; others gates only."""

    name: str
    translate: Callable[[QuantumCircuit], QuantumCircuit]
    rebase: Callable[[QuantumCircuit], QuantumCircuit]  # the same for gates on one wire each, which stay on it
    sampler: Callable[[int], Any]  # a SamplerV2 primitive whose draws follow a seed, where it can be seeded
    qubits: int | None = None  # None: as many as memory holds
    native: bool = False
    noise: Noise | None = None  # what is known of it; None: an ideal machine, or one that keeps its errors to itself

    def check(self, qubits: int, shots: int | None) -> None:
        """Refuse what cannot run, before anything is made.

        Errors: no shots; more qubits than the machine has.
        """
        if shots is not None and shots < 1:
            raise UserError(f"{shots} shots measure nothing; one at least is needed, and a thousand to see anything")
        if self.qubits is not None and qubits > self.qubits:
            raise UserError(f"{self.name} has {self.qubits} qubits, and these circuits take {qubits}")

    def counts(self, circuits: Sequence[QuantumCircuit], shots: int, seed: int, *keys: int | str) -> list[Counts]:
        """What translated circuits read, each ``shots`` times; the draws follow the seed and the keys."""
        draw = int(bits(seed, "shots", *keys)) >> 33  # 31 bits: a simulator's seed
        results = self.sampler(draw).run(list(circuits), shots=shots).result()
        found = [result.data[OUTCOME] for result in results]
        return [tally(readings.array, readings.num_bits) for readings in found]


def ideal() -> Machine:
    """No errors; kets and matrices are applied as they are, without being made of gates."""

    def sampler(seed: int) -> BaseSamplerV2:
        return BackendSamplerV2(backend=AerSimulator(method="statevector"), options={"seed_simulator": seed})

    return Machine("ideal", _as_it_is, _as_it_is, sampler, native=True)


def noisy(noise: Noise) -> Machine:
    """Every circuit in rz, sx, x and cx, with errors after each; without coupling map, so that any two qubits meet."""

    def sampler(seed: int) -> BaseSamplerV2:
        backend = AerSimulator(noise_model=noise.model(), basis_gates=list(BASIS))
        return BackendSamplerV2(backend=backend, options={"seed_simulator": seed})

    return Machine(f"noisy ({noise})", to_basis, to_basis, sampler, noise=noise)


def on(backend: BackendV2 | BaseSamplerV2) -> Machine:
    """Any backend of qiskit, with its own gates and couplings; or any sampler, which is given rz, sx, x and cx."""
    if isinstance(backend, BaseSamplerV2):
        return Machine(type(backend).__name__, to_basis, to_basis, lambda seed: backend)
    if not isinstance(backend, BackendV2):
        raise UserError(f"a {type(backend).__name__} runs no circuits; give a qiskit BackendV2 or SamplerV2")
    passes, plain = (
        generate_preset_pass_manager(optimization_level=level, backend=backend, seed_transpiler=0) for level in (1, 0)
    )

    def sampler(seed: int) -> BaseSamplerV2:
        return BackendSamplerV2(backend=backend, options={"seed_simulator": seed})

    name = getattr(backend, "name", None) or type(backend).__name__
    return Machine(str(name), passes.run, plain.run, sampler, backend.num_qubits)


def _as_it_is(circuit: QuantumCircuit) -> QuantumCircuit:
    return circuit
