"""Entanglement at cuts: against numpy, quimb and qiskit; local unitaries; Bell, GHZ and W states."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.ket.controls import random_kets
from psitext.nn.kets.cuts import bloch, entropies, entropy_at, mutual_bits, reduced, schmidt_at, spectra
from psitext.nn.kets.qubits import Cut, padded, qubits_for

SEEDS = st.integers(0, 10_000)
PARTS: list[tuple[int, ...]] = [(0,), (2,), (1, 3), (3, 1), (4, 0, 2)]
BELL = torch.tensor([1.0, 0, 0, 1])
GHZ = torch.tensor([1.0, 0, 0, 0, 0, 0, 0, 1])
W = torch.tensor([0, 1.0, 1, 0, 1, 0, 0, 0])


def unitary(size: int, seed: int) -> Tensor:
    return torch.linalg.qr(random_kets(size, size, seed))[0]


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_parity_with_numpys_singular_values(cut: int) -> None:
    kets = random_kets(3, 32)
    values = np.stack([np.linalg.svd(row.numpy().reshape(1 << cut, -1), compute_uv=False) for row in kets])
    np.testing.assert_allclose(schmidt_at(kets, cut), values, atol=1e-14)
    weights = values**2
    bits = -(weights * np.log2(weights)).sum(1)
    np.testing.assert_allclose(entropy_at(kets, cut), bits, atol=1e-12)
    np.testing.assert_allclose(entropies(kets)[:, cut - 1], bits, atol=1e-12)
    np.testing.assert_allclose(spectra(kets)[:, cut - 1, : values.shape[1]], values, atol=1e-14)
    assert not spectra(kets)[:, cut - 1, values.shape[1] :].any()


@pytest.mark.parametrize("part", PARTS)
def test_parity_with_qiskit(part: tuple[int, ...]) -> None:
    """qiskit's qubit 0 is the least significant: the order of bits is turned round, on random kets that show it."""
    info = pytest.importorskip("qiskit.quantum_info", reason="needs psitext[quantum]")
    ket = random_kets(1, 32, seed=len(part))[0]
    others = [4 - qubit for qubit in range(5) if qubit not in part]
    rho = info.partial_trace(info.Statevector(ket.numpy()), others)
    assert float(entropy_at(ket, part)) == pytest.approx(info.entropy(rho, base=2), abs=1e-10)
    if part == tuple(sorted(part)):
        np.testing.assert_allclose(reduced(ket, part), rho.data, atol=1e-14)
    paulis = [info.Pauli(name) for name in "XYZ"]
    for qubit in range(5):
        one = info.partial_trace(info.Statevector(ket.numpy()), [4 - other for other in range(5) if other != qubit])
        np.testing.assert_allclose(bloch(ket)[qubit], [one.expectation_value(p).real for p in paulis], atol=1e-12)
    pair = info.partial_trace(info.Statevector(ket.numpy()), [4 - other for other in range(5) if other not in (1, 3)])
    assert float(mutual_bits(ket)[1, 3]) == pytest.approx(info.mutual_information(pair, base=2), abs=1e-10)


@pytest.mark.parametrize("part", PARTS)
def test_parity_with_quimb(part: tuple[int, ...]) -> None:
    quimb = pytest.importorskip("quimb", reason="needs psitext[tensor]")
    ket = random_kets(1, 32, seed=len(part))[0]
    rho = quimb.ptr(ket.numpy()[:, None], [2] * 5, sorted(part))
    assert float(entropy_at(ket, part)) == pytest.approx(quimb.entropy(rho), abs=1e-10)
    bits = quimb.mutinf(quimb.ptr(ket.numpy()[:, None], [2] * 5, [0, 4]))
    assert float(mutual_bits(ket)[0, 4]) == pytest.approx(bits, abs=1e-10)


@settings(max_examples=20)
@given(SEEDS)
def test_law_local_unitaries_keep_entropies(seed: int) -> None:
    ket = random_kets(1, 16, seed)[0]
    local = [unitary(2, 4 * seed + place) for place in range(4)]
    turned = torch.einsum("ai,bj,ck,dl,ijkl->abcd", *local, ket.reshape(2, 2, 2, 2)).flatten()
    torch.testing.assert_close(entropies(turned), entropies(ket), atol=1e-12, rtol=0)
    torch.testing.assert_close(mutual_bits(turned), mutual_bits(ket), atol=1e-12, rtol=0)
    torch.testing.assert_close(bloch(turned).norm(dim=-1), bloch(ket).norm(dim=-1), atol=1e-12, rtol=0)


@settings(max_examples=20)
@given(SEEDS, st.sets(st.integers(0, 4), min_size=1, max_size=4))
def test_law_both_sides_of_a_cut_have_one_entropy(seed: int, part: set[int]) -> None:
    ket = random_kets(1, 32, seed)[0]
    rest = [qubit for qubit in range(5) if qubit not in part]
    torch.testing.assert_close(entropy_at(ket, sorted(part)), entropy_at(ket, rest), atol=1e-12, rtol=0)
    torch.testing.assert_close(schmidt_at(ket, 3), schmidt_at(ket, [2, 0, 1]), atol=1e-12, rtol=0)


@settings(max_examples=20)
@given(SEEDS)
def test_law_products_have_no_entropy(seed: int) -> None:
    parts = random_kets(4, 2, seed)
    ket = torch.einsum("i,j,k,l->ijkl", *parts).flatten()
    assert float(entropies(ket).max()) < 1e-12
    assert float(mutual_bits(ket).max()) < 1e-12
    torch.testing.assert_close(bloch(ket).norm(dim=-1), torch.ones(4, dtype=torch.float64))


@settings(max_examples=20)
@given(SEEDS)
def test_law_reduced_matrices_are_density_matrices_of_that_entropy(seed: int) -> None:
    rho = reduced(random_kets(2, 16, seed), [3, 1])
    assert rho.shape == (2, 4, 4)
    weights = torch.linalg.eigvalsh(rho)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, dtype=torch.float64))
    bits = -(weights * weights.log2()).sum(-1)
    torch.testing.assert_close(entropy_at(random_kets(2, 16, seed), [3, 1]), bits, atol=1e-10, rtol=0)


def test_known_bell_ghz_and_w() -> None:
    assert entropies(BELL).tolist() == pytest.approx([1])
    assert mutual_bits(BELL).tolist() == [[0, pytest.approx(2)], [pytest.approx(2), 0]]
    assert bloch(BELL).abs().max() < 1e-15
    assert entropies(GHZ).tolist() == pytest.approx([1, 1])
    assert mutual_bits(GHZ)[0, 2] == pytest.approx(1)
    third = -(math.log2(1 / 3) / 3 + 2 * math.log2(2 / 3) / 3)
    assert entropies(W).tolist() == pytest.approx([third, third])
    assert bloch(W)[1].tolist() == pytest.approx([0, 0, 1 / 3])
    assert schmidt_at(W, 1).tolist() == pytest.approx([math.sqrt(2 / 3), math.sqrt(1 / 3)])


def test_known_bloch_vectors_point_where_the_qubits_do() -> None:
    plus, left = torch.tensor([1, 1 + 0j]), torch.tensor([1, 1j])
    found = bloch(torch.einsum("i,j,k->ijk", plus, left, torch.tensor([0j, 1])).flatten())
    torch.testing.assert_close(found, torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, -1]], dtype=torch.float64))


def test_known_a_width_that_is_no_power_of_two_is_padded_where_that_is_allowed() -> None:
    ket = torch.tensor([1.0, 2, 3])
    torch.testing.assert_close(entropies(ket), entropies(torch.tensor([1.0, 2, 3, 0])))
    assert (qubits_for(1), qubits_for(2), qubits_for(768), qubits_for(1024)) == (1, 1, 10, 10)
    assert padded(torch.ones(2, 768)).shape == (2, 1024)
    for ask in (entropies, bloch, mutual_bits, spectra):
        with pytest.raises(UserError, match=r"3 is no power of two.*padding with zeros to 4"):
            ask(ket, pad=False)


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        (0, "cut after 1 to 2"),
        (3, "not after 3"),
        ([3], "are 0 to 2, each named once; not 3"),
        ([1, 1], "not 1, 1"),
        ([], "0 were named"),
        ([0, 1, 2], "3 were named"),
    ],
)
def test_known_cuts_that_there_are_not(cut: Cut, says: str) -> None:
    with pytest.raises(UserError, match=says):
        entropy_at(GHZ, cut)
    with pytest.raises(UserError, match="one qubit cannot be cut"):
        entropies(torch.ones(2))
