"""Circuits of kets and heads, against statevectors; the order of bits with asymmetric states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from qiskit.quantum_info import Operator, Statevector

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import circuit, from_head
from psitext.quantum.circuits.build import bond_of, head_circuit, prepare, whole
from psitext.quantum.circuits.synthesis import to_basis
from psitext.state import Bond, Ket, Posterior, SentenceState, State, ket


@pytest.mark.parametrize("bond", [None, 2, 3, 8])
def test_law_a_ket_is_prepared_as_well_as_is_said(bond: int | None) -> None:
    state = haar(5)[0]
    found = prepare(state, bond)
    said = Statevector(found.circuit).data
    assert abs(np.vdot(state, said)) ** 2 == pytest.approx(found.fidelity, abs=1e-12)
    assert (found.fidelity == 1) if bond is None else (0.2 < found.fidelity < 1 + 1e-12)
    made = Statevector(to_basis(found.circuit)).data
    assert abs(np.vdot(said, made)) ** 2 == pytest.approx(1, abs=1e-12)
    native = Statevector(prepare(state, bond, native=True).circuit).data
    assert abs(np.vdot(said, native)) ** 2 == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("config", [{}, {"unitary": "circuit", "layers": 2, "entangler": "cx-chain"}], ids=str)
def test_parity_a_head_is_its_matrix_in_qiskits_eyes(config: dict[str, object]) -> None:
    module_ = module(8, **config)
    head = from_head(module_)
    np.testing.assert_allclose(Operator(head_circuit(head)).data, module_.unitary().numpy(), atol=1e-12)
    in_basis = Operator(to_basis(head_circuit(head)))
    assert in_basis.equiv(Operator(module_.unitary().numpy()), atol=1e-7)


def test_law_a_ket_of_the_state_is_a_circuit() -> None:
    """The call of the tour."""
    kets = ket(torch.from_numpy(haar(4, 2, width=12).astype(np.complex64)))
    found = circuit(kets[0], bond=4)
    assert (found.qubits, found.width, found.padded, found.bond) == (4, 12, True, 4)
    assert found.fidelity == pytest.approx(1, abs=1e-6)
    assert found.gate_counts().two_qubit == 23
    padded = np.pad(kets[0].vector.numpy()[0], (0, 4))
    assert abs(np.vdot(padded, Statevector(found.circuit).data)) ** 2 == pytest.approx(1, abs=1e-6)


def test_known_a_whole_circuit_reads_what_the_groups_need() -> None:
    found = whole(from_head(module(16, groups=4)), haar(4)[0], bond=2)
    assert [register.size for register in found.cregs] == [2]
    read = [found.find_bit(each.qubits[0]).index for each in found.data if each.operation.name == "measure"]
    assert read == [3, 2]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: circuit(Ket(torch.from_numpy(haar(3, 2)))), "a circuit prepares one ket, and here are 2"),
        (lambda: circuit(haar(3, 1, width=6), pad=False), "a width of 6 is no power of two"),
        (lambda: circuit(np.zeros(8)), "norm 0"),
        (lambda: bond_of("mps"), "no state preparation called 'mps'; write exact or mps:4"),
        (lambda: bond_of("mps:x"), "no state preparation called"),
    ],
)
def test_known_what_is_refused(make: object, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make()  # type: ignore[operator]


def test_known_names_of_preparations() -> None:
    assert (bond_of("exact"), bond_of("mps:4")) == (None, 4)


def test_law_any_state_is_prepared_as_its_ket() -> None:
    vector = torch.tensor([[3.0, -1.0, 0.5, 2.0, 1.0, 0.0]])
    kinds: list[State] = [SentenceState(vector), Posterior(vector, vector), Bond(vector, torch.tensor([500.0]))]
    wanted = np.pad(vector.numpy()[0], (0, 2)) / float(vector.norm())
    for state in [*kinds, SentenceState(vector.clone().requires_grad_())]:
        found = circuit(state)
        assert (found.width, found.padded) == (6, True)
        assert abs(np.vdot(wanted, Statevector(found.circuit).data)) ** 2 == pytest.approx(1, abs=1e-6)
    with pytest.raises(UserError, match="prepares one ket, and here are 2"):
        circuit(SentenceState(vector.repeat(2, 1)))


@pytest.mark.parametrize("given", [None, "x", True, [[1.0], [1.0, 2.0]], np.ones((1, 1, 2)), {}], ids=str)
def test_known_what_is_no_state(given: object) -> None:
    with pytest.raises(UserError, match=f"a circuit prepares a state, .* not a {type(given).__name__}"):
        circuit(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("bond", [1.5, "x", True], ids=str)
def test_known_bonds_that_are_no_numbers(bond: object) -> None:
    with pytest.raises(UserError, match=f"a bond is a whole number, not {bond!r}"):
        circuit(SentenceState(torch.ones(1, 4)), bond)  # type: ignore[arg-type]
