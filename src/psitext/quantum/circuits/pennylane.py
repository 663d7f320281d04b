"""Heads in PennyLane: as a QNode here, or as a script of its own that needs no psitext.

PennyLane is big-endian as psitext is, so wire q is qubit q and nothing has to be turned round.
Letters: n qubits, m measured ones.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from psitext.errors import UserError
from psitext.files import write_atomic
from psitext.quantum.gates import Complex, Gate
from psitext.quantum.head import HeadCircuit

NAMES = {
    "rx": "RX",
    "ry": "RY",
    "rz": "RZ",
    "x": "PauliX",
    "sx": "SX",
    "h": "Hadamard",
    "cx": "CNOT",
    "cz": "CZ",
}


def qnode(head: HeadCircuit, device: Any = None) -> Any:
    """A QNode from a ket, (D,) or a batch of them (B, D), to the shares of what the m measured qubits read, (2^m,) or
    (B, 2^m); differentiable by the ket (of unit norm: PennyLane does not differentiate the norm). ``device`` is
    PennyLane's; None: its exact simulator.

    Errors: PennyLane is not installed.
    """
    qml = library()
    where = qml.device("default.qubit", wires=head.qubits) if device is None else device

    def readings(ket: Any) -> Any:
        qml.StatePrep(ket, wires=range(head.qubits), pad_with=0.0, normalize=True)
        if head.unitary is not None:
            qml.QubitUnitary(head.unitary, wires=range(head.qubits))
        for name, at, angle in head.gates:
            getattr(qml, NAMES[name])(*(() if angle is None else (angle,)), wires=list(at))
        return qml.probs(wires=range(head.measured))

    return qml.QNode(readings, where)


def library() -> Any:
    """PennyLane, or the reason why it is not there."""
    try:
        import pennylane
    except ModuleNotFoundError:
        raise UserError("this needs PennyLane: pip install 'psitext[quantum]'") from None
    return pennylane


def write_script(head: HeadCircuit, ket: Complex | None, text: str | None, path: Path) -> None:
    """A Python file with the circuit as a QNode, and an .npz file of numbers beside it (arrays, no pickles)."""
    if path.suffix != ".py":
        raise UserError(f"a PennyLane script is a file that ends in .py, not {path.name!r}")
    grouped = 1 << head.measured != head.outcomes.count
    arrays = {
        "weight": head.weight,
        "bias": head.bias,
        "starts": np.asarray(head.outcomes.starts if grouped else range(head.outcomes.count)),
    }
    if head.unitary is not None:
        arrays["unitary"] = head.unitary
    if ket is not None:
        arrays["ket"] = ket
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_atomic(path.with_suffix(".npz"), buffer.getvalue())
    write_atomic(path, _script(head, text, head.outcomes.width if grouped else head.outcomes.count))


def _script(head: HeadCircuit, text: str | None, logical: int) -> str:
    gates = [_line(gate) for gate in head.gates]
    if head.unitary is not None:
        gates = ['qml.QubitUnitary(NUMBERS["unitary"], wires=range(QUBITS))']
    end = "" if text is None else f"\n\n# the ket of {text!r}\nprint(logits(NUMBERS['ket']))"
    return _TEMPLATE.format(
        width=head.width,
        qubits=head.qubits,
        measured=head.measured,
        logical=logical,
        labels=list(head.labels),
        gates="\n    ".join(gates),
        end=end,
    )


def _line(gate: Gate) -> str:
    name, at, angle = gate
    first = "" if angle is None else f"{angle!r}, "
    return f"qml.{NAMES[name]}({first}wires={list(at)})"


_TEMPLATE = '''"""A measurement head, exported by psitext for PennyLane; wires are big-endian.

Kets have {width} amplitudes, padded with zeros to 2^{qubits}. The numbers are in the .npz file of the same name.
"""

from pathlib import Path

import numpy as np
import pennylane as qml

NUMBERS = np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False)
QUBITS, MEASURED, LOGICAL = {qubits}, {measured}, {logical}
LABELS = {labels!r}


def head():
    {gates}


@qml.qnode(qml.device("default.qubit", wires=QUBITS))
def readings(ket):
    """Shares of what the first MEASURED qubits read."""
    qml.StatePrep(ket, wires=range(QUBITS), pad_with=0.0, normalize=True)
    head()
    return qml.probs(wires=range(MEASURED))


def logits(ket):
    """The classes' scores, from shares of outcomes inside the logical width."""
    shares = np.asarray(readings(ket))[:LOGICAL]
    return np.add.reduceat(shares / shares.sum(), NUMBERS["starts"]) @ NUMBERS["weight"].T + NUMBERS["bias"]
{end}
'''
