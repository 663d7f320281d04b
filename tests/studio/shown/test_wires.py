"""Circuits as pictures: each gate once, none over another."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from psitext.studio.shown import wires


def test_known_gates_stand_as_soon_as_their_wires_are_free() -> None:
    gates = [("rx", (0,), 0.5), ("rx", (2,), 0.5), ("cz", (0, 2), None), ("rz", (1,), 0.1), ("h", (0,), None)]
    columns = wires._columns(gates, 3)
    assert [[gate[0] for gate in column] for column in columns] == [["rx", "rx"], ["cz"], ["rz", "h"]]


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=2, unique=True), max_size=20))
def test_law_every_gate_stands_once_and_in_its_order(places: list[list[int]]) -> None:
    gates = [(str(number), tuple(qubits), None) for number, qubits in enumerate(places)]
    columns = wires._columns(gates, 5)
    assert sorted(gate for column in columns for gate in column) == sorted(gates)
    for column in columns:
        covered = [qubit for gate in column for qubit in range(min(gate[1]), max(gate[1]) + 1)]
        assert len(covered) == len(set(covered))
    for qubit in range(5):
        own = [int(gate[0]) for column in columns for gate in column if qubit in gate[1]]
        assert own == sorted(own)


def test_known_pictures() -> None:
    dense = ElementTree.fromstring(wires.circuit(3, 2, (), "three & two"))
    assert dense.get("aria-label") == "three & two"
    said = [node.text for node in dense.iter("text")]
    assert said == ["0", "1", "2", "state", "head"]
    gates = [("ry", (0,), 0.25), ("cx", (0, 1), None)]
    drawn = ElementTree.fromstring(wires.circuit(2, 2, gates))
    assert "ry 0.25" in [node.text for node in drawn.iter("text")]
    assert len(drawn.findall(".//circle[@class='psi-open']")) == 1
    many = [("h", (0,), None)] * (wires.GATES + 1)
    assert "head" in [node.text for node in ElementTree.fromstring(wires.circuit(2, 2, many)).iter("text")]
