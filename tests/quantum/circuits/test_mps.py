"""Matrix-product states: the law of discarded weight, and exactness at a full bond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kets import haar
from psitext.errors import UserError
from psitext.quantum.circuits.mps import Chain, chain
from psitext.quantum.gates import Complex


def prepared(found: Chain, qubits: int) -> Complex:
    """The state that the gates make of |0...0>, by matrices on the whole space."""
    state = np.zeros(1 << qubits, dtype=complex)
    state[0] = 1
    for start, gate in enumerate(found.gates):
        front, back = 1 << start, 1 << (qubits - start - found.width)
        state = np.einsum("xy,fyb->fxb", gate, state.reshape(front, len(gate), back)).ravel()
    return state


@given(qubits=st.integers(1, 7), bond=st.integers(1, 12), seed=st.integers(0, 9))
def test_law_fidelity_is_what_the_cuts_left(qubits: int, bond: int, seed: int) -> None:
    ket = haar(qubits, seed=seed)[0]
    found = chain(ket, bond)
    assert abs(np.vdot(ket, prepared(found, qubits))) ** 2 == pytest.approx(found.fidelity, abs=1e-12)
    assert len(found.gates) == max(1, qubits - found.width + 1)
    for gate in found.gates:
        np.testing.assert_allclose(gate.conj().T @ gate, np.eye(len(gate)), atol=1e-12)


@given(qubits=st.integers(1, 8))
def test_law_a_full_bond_is_exact(qubits: int) -> None:
    ket = haar(qubits)[0]
    found = chain(ket, 1 << (qubits // 2))
    np.testing.assert_allclose(prepared(found, qubits), ket, atol=1e-12)


def test_known_a_product_takes_bond_1_and_a_ghz_state_bond_2() -> None:
    parts = haar(1, 4)
    product = np.einsum("a,b,c,d->abcd", *parts).ravel()
    assert chain(product, 1).fidelity == pytest.approx(1, abs=1e-14)
    ghz = np.zeros(32, dtype=complex)
    ghz[[0, -1]] = np.sqrt(0.5)
    assert chain(ghz, 1).fidelity == pytest.approx(0.5, abs=1e-14)
    assert chain(ghz, 2).fidelity == pytest.approx(1, abs=1e-14)


def test_law_a_larger_bond_is_no_worse() -> None:
    ket = haar(7)[0]
    found = [chain(ket, bond).fidelity for bond in range(1, 9)]
    assert found == sorted(found) and found[0] < 0.2 and found[-1] == pytest.approx(1, abs=1e-12)


def test_known_no_bond_is_refused() -> None:
    with pytest.raises(UserError, match="a bond of 0 holds nothing"):
        chain(haar(3)[0], 0)
