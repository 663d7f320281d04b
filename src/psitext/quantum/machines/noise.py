"""Noise models: gates that depolarise, and readings that flip.

A noise model knows gates by name, so noise falls only on circuits that are made of those gates. On a circuit that still
holds a ket to prepare or a matrix to apply it falls nowhere, without a word. ``machine.noisy`` therefore always
translates first, preparations included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from qiskit_aer.noise import NoiseModel, ReadoutError, depolarizing_error

from psitext.errors import UserError
from psitext.quantum.circuits.synthesis import BASIS

PULSES = ("sx", "x")  # rz is a change of frame: no pulse, no error
ONE_QUBIT = 0.1  # of the error of a CX


@dataclass(frozen=True, slots=True)
class Noise:
    """After each CX its two qubits are depolarised with probability ``depolarizing``, after each pulse on one qubit
    with a tenth of it; a reading flips with probability ``readout``.
    """

    depolarizing: float = 0.0
    readout: float = 0.0

    def __post_init__(self) -> None:
        for what, value, most in (("depolarizing", self.depolarizing, 1.0), ("readout error", self.readout, 0.5)):
            if not 0 <= value <= most:
                raise UserError(f"a {what} probability lies between 0 and {most:g}, not at {value:g}")

    def __bool__(self) -> bool:
        return self.depolarizing > 0 or self.readout > 0

    def __str__(self) -> str:
        kinds = {"depolarizing": self.depolarizing, "readout": self.readout}
        return ",".join(f"{name}:{value:g}" for name, value in kinds.items() if value) or "none"

    @classmethod
    def named(cls, text: str | None, readout: float = 0.0) -> Self:
        """From what an option says: "depolarizing:0.001"."""
        if text is None:
            return cls(readout=readout)
        kind, _, amount = text.partition(":")
        try:
            value = float(amount)
        except ValueError:
            value = float("nan")
        if kind != "depolarizing" or value != value:
            raise UserError(f"no noise called {text!r}; write depolarizing:0.001")
        return cls(value, readout)

    def model(self) -> NoiseModel:
        """The noise model of Aer."""
        found = NoiseModel(basis_gates=list(BASIS))
        if self.depolarizing:
            found.add_all_qubit_quantum_error(depolarizing_error(self.depolarizing, 2), ["cx"])
            found.add_all_qubit_quantum_error(depolarizing_error(ONE_QUBIT * self.depolarizing, 1), list(PULSES))
        if self.readout:
            flip = self.readout
            found.add_all_qubit_readout_error(ReadoutError([[1 - flip, flip], [flip, 1 - flip]]))
        return found
