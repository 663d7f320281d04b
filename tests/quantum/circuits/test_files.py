"""Circuit files: what is written is what is read, by qiskit too; strangers' files are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from qiskit import qasm3, qpy
from qiskit.quantum_info import Statevector

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import from_head, read_qasm3
from psitext.quantum.circuits.files import MARK, write_qasm3, write_qpy
from psitext.quantum.head import HeadCircuit

HEADS = [
    (8, {}),
    (6, {"groups": 3}),
    (8, {"groups": 2, "unitary": "circuit", "layers": 2}),
    (5, {"unitary": "circuit", "layers": 2, "entangler": "cx-ring", "bias": False}),
]


def written(path: Path, width: int = 8, **config: object) -> tuple[HeadCircuit, Path]:
    head = from_head(module(width, 3, **config), ["a", "b", "ä \n"])
    write_qasm3(head, None, None, path)
    return head, path


@pytest.mark.parametrize(("width", "config"), HEADS, ids=str)
def test_law_a_head_comes_back(tmp_path: Path, width: int, config: dict[str, object]) -> None:
    head, path = written(tmp_path / "head.qasm", width, **config)
    again = read_qasm3(path)
    assert (again.width, again.qubits, again.outcomes) == (head.width, head.qubits, head.outcomes)
    assert again.labels == ("a", "b", "ä \n")
    kets = head.kets(haar(4, 3, width=width))
    logits = [each.logits(each.probabilities(kets)) for each in (head, again)]
    np.testing.assert_allclose(logits[1], logits[0], atol=1e-10)
    if head.gates:
        assert again.gates == head.gates


def test_law_a_file_of_another_program_in_other_gates_is_the_same_head(tmp_path: Path) -> None:
    head, path = written(tmp_path / "head.qasm", unitary="circuit", layers=1)
    first, _, body = path.read_text(encoding="utf-8").partition("\n")
    turned = body.replace("cz q[2], q[1];", "h q[1];\ncx q[2], q[1];\nh q[1];").replace("rz(", "p(")
    path.write_text(f"{first}\n{turned}", encoding="utf-8")
    kets = haar(3, 3)
    np.testing.assert_allclose(read_qasm3(path).probabilities(kets), head.probabilities(kets), atol=1e-10)


@pytest.mark.parametrize("form", ["qasm3", "qpy"])
def test_law_a_file_with_a_ket_runs_anywhere(tmp_path: Path, form: str) -> None:
    head, ket = from_head(module(8, groups=2)), haar(3)[0]
    path = tmp_path / f"whole.{form}"
    {"qasm3": write_qasm3, "qpy": write_qpy}[form](head, ket, "a text", path)
    if form == "qasm3":
        found = qasm3.loads(path.read_text(encoding="utf-8"))
        with pytest.raises(UserError, match="prepares the ket of a text before the head"):
            read_qasm3(path)
    else:
        with path.open("rb") as file:
            found = qpy.load(file)[0]
        assert found.metadata["text"] == "a text" and found.metadata["groups"] == 2
        assert {"head", "state_preparation"} & {each.operation.label or each.operation.name for each in found.data}
    assert [register.size for register in found.cregs] == [1]
    found.remove_final_measurements()
    shares = Statevector(found).probabilities([2])
    np.testing.assert_allclose(shares, head.probabilities(ket[None])[0], atol=1e-10)


def changed(path: Path, **changes: object) -> None:
    first, _, body = path.read_text(encoding="utf-8").partition("\n")
    tree = json.loads(first.removeprefix(MARK)) | changes
    path.write_text(f"{MARK}{json.dumps(tree)}\n{body}", encoding="utf-8")


def rewritten(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: path.unlink(), "there is no circuit file .*head.qasm"),
        (lambda path: rewritten(path, MARK, "// my circuit: "), "is no circuit file of psitext: it does not begin"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is no circuit file of psitext"),
        (lambda path: rewritten(path, '{"format"', '{"format'), "line 1 is no JSON"),
        (lambda path: changed(path, format=2), "of another format; this psitext reads format 1"),
        (lambda path: changed(path, colour=2), "line 1 has an unknown key 'colour'"),
        (lambda path: changed(path, bias=[0.0]), "read-out does not fit 8 outcomes and 1 classes"),
        (lambda path: changed(path, groups=9), "no room for a width of 8 and 9 outcomes"),
        (lambda path: changed(path, qubits=4), "has 3 qubits, and its first line says 4"),
        (lambda path: rewritten(path, "cz q[2], q[1];", "cz q[2] q[1];"), "not OpenQASM 3 that can be read"),
        (lambda path: rewritten(path, "cz q[2], q[1];", "magic q[1];"), "not OpenQASM 3 that can be read"),
        (lambda path: rewritten(path, "outcome[0] = measure q[0];", "outcome[0] = measure q[1];"), "measures other"),
        (lambda path: rewritten(path, "outcome[0] = measure q[0];\n", ""), "measures other qubits"),
    ],
)
def test_known_what_is_refused(tmp_path: Path, spoil: object, sentence: str) -> None:
    _, path = written(tmp_path / "head.qasm", unitary="circuit", layers=2)
    spoil(path)  # type: ignore[operator]
    with pytest.raises(UserError, match=sentence):
        read_qasm3(path)
