"""Circuits as files: OpenQASM 3 out and in, and QPY out.

An OpenQASM file of psitext begins with one comment that holds, as JSON, what the gates do not say: how wide the kets
are, which outcomes count together, and the read-out. Wires are little-endian, as everywhere in qiskit: q[n - 1] is
qubit 0, the most significant bit of an amplitude's index, and so is the last bit of what is measured. QPY is qiskit's
own form, which keeps a matrix as a matrix; psitext only writes it, since it reads no file that could run anything.

Letters: n qubits, K classes.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator
from qiskit import QuantumCircuit, qasm3, qpy

from psitext.config import Config, build
from psitext.errors import UserError
from psitext.files import write_atomic
from psitext.nn.unitary.born import Outcomes
from psitext.quantum.circuits.build import whole
from psitext.quantum.circuits.order import wire
from psitext.quantum.circuits.synthesis import to_basis
from psitext.quantum.gates import FIXED, TURNS, Complex, Gate
from psitext.quantum.head import HeadCircuit, from_gates

FORMAT = 1
MARK = "// psitext circuit: "
_NOT_OURS = f"it does not begin with {MARK.strip()!r}, as `psitext circuit export` writes it"


class About(Config):
    """The first line of a circuit file."""

    format: int = FORMAT
    qubits: int = Field(gt=0)
    width: int = Field(gt=0)  # D of the kets
    outcomes: int = Field(gt=0)  # basis states whose outcomes count; D of a padded matrix
    groups: int | None = None
    weight: list[list[float]]  # (K, outcomes)
    bias: list[float]  # (K,)
    labels: tuple[str, ...] = ()
    order: str = "q[n - 1] is the most significant bit of an amplitude's index"
    text: str | None = None  # whose ket the circuit prepares first; None: the head alone

    @model_validator(mode="after")
    def _fits(self) -> Self:
        states, told = 1 << self.qubits, self.groups or self.outcomes
        if max(self.width, self.outcomes) > states or told > self.outcomes:
            raise ValueError(f"{self.qubits} qubits have no room for a width of {self.width} and {told} outcomes")
        if len(self.bias) != len(self.weight) or any(len(row) != told for row in self.weight):
            raise ValueError(f"the read-out does not fit {told} outcomes and {len(self.bias)} classes")
        return self


def about(head: HeadCircuit, text: str | None) -> About:
    """What a head's gates do not say."""
    return About(
        qubits=head.qubits,
        width=head.width,
        outcomes=head.outcomes.width,
        groups=head.outcomes.groups,
        weight=head.weight.tolist(),
        bias=head.bias.tolist(),
        labels=head.labels,
        text=text,
    )


def write_qasm3(head: HeadCircuit, ket: Complex | None, text: str | None, path: Path) -> None:
    """OpenQASM 3 in rz, sx, x, cx, or in the head's own gates where it has some and no ket is prepared."""
    first = MARK + json.dumps(about(head, text).tree(), ensure_ascii=False)
    found = whole(head, ket)
    if ket is not None or head.unitary is not None:
        found = to_basis(found)
    write_atomic(path, f"{first}\n{qasm3.dumps(found)}")


def write_qpy(head: HeadCircuit, ket: Complex | None, text: str | None, path: Path) -> None:
    """QPY with matrices as they are; ``about`` is in the circuit's metadata."""
    found = whole(head, ket)
    found.metadata = about(head, text).tree()
    buffer = io.BytesIO()
    qpy.dump(found, buffer)
    write_atomic(path, buffer.getvalue())


def read_qasm3(path: Path) -> HeadCircuit:
    """A head that ``write_qasm3`` wrote, also after another program has rewritten its gates.

    Errors: no such file, one that is not psitext's, one that holds a sentence's ket too, one whose gates and first line
    do not fit.
    """
    head, _, body = _text(path).partition("\n")
    if not head.startswith(MARK):
        raise UserError(f"{path} is no circuit file of psitext: {_NOT_OURS}")
    try:
        tree = json.loads(head.removeprefix(MARK))
    except json.JSONDecodeError as error:
        raise UserError(f"{path} line 1 is no JSON after {MARK.strip()!r} ({error.msg}); export it again") from None
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise UserError(f"{path} is a circuit file of another format; this psitext reads format {FORMAT}")
    facts = build(About, tree, f"{path} line 1")
    if facts.text is not None:
        raise UserError(f"{path} prepares the ket of a text before the head; export the head alone, without --text")
    return _head(facts, _loaded(body, path), path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"there is no circuit file {path}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is no circuit file of psitext: {_NOT_OURS}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


def _loaded(body: str, path: Path) -> QuantumCircuit:
    try:
        found: QuantumCircuit = qasm3.loads(body)
    except Exception as error:  # three parsers' own kinds, down to a lexer's; the file is to blame for all of them
        why = " ".join(str(error).split()) or "its syntax is wrong"
        raise UserError(f"{path} is not OpenQASM 3 that can be read ({why}); export it again") from None
    known = {*FIXED, *TURNS, "measure", "barrier"}
    return found if {each.operation.name for each in found.data} <= known else to_basis(found)


def _head(facts: About, circuit: QuantumCircuit, path: Path) -> HeadCircuit:
    if circuit.num_qubits != facts.qubits:
        raise UserError(f"{path} has {circuit.num_qubits} qubits, and its first line says {facts.qubits}")
    gates: list[Gate] = []
    readings: dict[int, int] = {}  # which qubit each bit reads, both from the most significant on
    for each in circuit.data:
        at = tuple(wire(circuit.find_bit(bit).index, facts.qubits) for bit in each.qubits)
        if each.operation.name == "measure":
            readings[wire(circuit.find_bit(each.clbits[0]).index, circuit.num_clbits)] = at[0]
        elif each.operation.name != "barrier":
            gates.append((each.operation.name, at, *_angle(each.operation)))
    outcomes = Outcomes(facts.outcomes, facts.groups)
    weight, bias = np.asarray(facts.weight), np.asarray(facts.bias)
    found = from_gates(gates, facts.width, facts.qubits, outcomes, weight, bias, facts.labels)
    if readings != {qubit: qubit for qubit in range(found.measured)}:
        raise UserError(f"{path} measures other qubits than its first line asks for; export it again")
    return found


def _angle(operation: Any) -> tuple[float | None]:
    return (float(operation.params[0]) if operation.params else None,)
