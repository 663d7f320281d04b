"""From a model to its head as plain numbers, and from there to files that other programs read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from qiskit import QuantumCircuit

from psitext.errors import UserError, near
from psitext.heads.measurement import MeasurementHead
from psitext.quantum.circuits import files, pennylane
from psitext.quantum.circuits.build import whole
from psitext.quantum.gates import Complex
from psitext.quantum.head import HeadCircuit, from_head
from psitext.state import State
from psitext.text.examples import Task
from psitext.train.network import Network


class Readable(Protocol):
    """What is asked of a model: texts to states, its network, its task."""

    @property
    def network(self) -> Network:
        """Encoder and head."""

    @property
    def task(self) -> Task | None:
        """The task whose labels the head gives."""

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> State:
        """Texts (or pairs) to states."""


# Takes a head, the ket that it is to read (None: the head alone), the text of that ket, and a path.
Writer = Callable[[HeadCircuit, Complex | None, str | None, Path], None]
WRITERS: dict[str, Writer] = {
    "qasm3": files.write_qasm3,
    "qpy": files.write_qpy,
    "pennylane": pennylane.write_script,
}


def from_model(model: Readable) -> HeadCircuit:
    """A model's measurement head. Errors: a head that measures nothing."""
    head = model.network.head
    if not isinstance(head, MeasurementHead):
        raise UserError(
            "this model's head is no measurement, and so no circuit; `psitext finetune --head measurement` trains one"
        )
    return from_head(head, model.task.labels if model.task else ())


def to_circuit(model: Readable, text: str | None = None, bond: int | None = None) -> QuantumCircuit:
    """A model's head as a qiskit circuit with its measurement, behind the ket of a text where one is given: prepared
    exactly, or as a matrix-product state of ``bond``. Errors: as ``from_model``; an empty text.
    """
    if text is not None and not text.strip():
        raise UserError("the text is empty; a ket is made from at least one word")
    head = from_model(model)
    return whole(head, None if text is None else head.kets(model.encode([text]))[0], bond)


def writer(to: str) -> Writer:
    """The writer of a form by its name."""
    if to not in WRITERS:
        raise UserError(f"no form called {to!r}{near(to, WRITERS) or '; there are: ' + ', '.join(WRITERS)}")
    return WRITERS[to]
