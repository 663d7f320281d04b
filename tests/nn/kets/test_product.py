"""Matrix-product states of kets: exactness, the fidelity's arithmetic, bounds, quimb, and variational steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.ket.controls import random_kets
from psitext.nn.kets.cuts import spectra
from psitext.nn.kets.geometry import fidelity
from psitext.nn.kets.product import bond_for, product
from psitext.nn.kets.qubits import padded

SEEDS = st.integers(0, 10_000)
BONDS = st.integers(1, 5)
GHZ = torch.tensor([[1.0, 0, 0, 0, 0, 0, 0, 1]])


def structured(seed: int, count: int = 2, width: int = 32) -> Tensor:
    """Kets between random and little entangled ones."""
    near = product(random_kets(count, width, seed), 2).vectors()[:, :width]
    return near + 0.1 * random_kets(count, width, seed + 1)


@settings(max_examples=20)
@given(SEEDS, BONDS, st.sampled_from([32, 24]))
def test_law_fidelity_is_what_the_amplitudes_say(seed: int, bond: int, width: int) -> None:
    kets = structured(seed, width=width)
    found = product(kets, bond)
    torch.testing.assert_close(found.fidelity, fidelity(padded(kets), found.vectors()), atol=1e-12, rtol=0)
    torch.testing.assert_close(found.fidelity, 1 - found.discarded.sum(1), atol=1e-12, rtol=0)
    weights = spectra(kets).square()[..., bond:].sum(-1)  # what the ket itself has beyond the bond at each cut
    assert (found.fidelity >= 1 - weights.sum(1) - 1e-12).all()
    assert (found.fidelity <= 1 - weights.amax(1) + 1e-12).all()


@settings(max_examples=20)
@given(SEEDS, BONDS)
def test_law_all_but_the_last_tensor_are_isometries(seed: int, bond: int) -> None:
    for sweeps in (0, 1):
        found = product(random_kets(2, 32, seed), bond, sweeps=sweeps)
        assert found.bond <= bond and found.qubits == 5
        for tensor in found.tensors[:-1]:
            gram = torch.einsum("blqr,blqs->brs", tensor.conj(), tensor)
            torch.testing.assert_close(gram, torch.eye(gram.shape[1], dtype=gram.dtype).expand_as(gram))
        assert found.tensors[0].shape[1] == found.tensors[-1].shape[-1] == 1
        torch.testing.assert_close(found.vectors().norm(dim=1), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("width", [2, 3, 4, 20, 32])
def test_law_the_full_bond_is_exact(width: int) -> None:
    kets = random_kets(3, width)
    found = product(kets, 1 << (found_qubits := max(1, (width - 1).bit_length())) // 2)
    torch.testing.assert_close(found.vectors(), padded(kets))
    torch.testing.assert_close(found.inside()[0], kets)
    torch.testing.assert_close(found.inside()[1], torch.ones(3, dtype=torch.float64))
    assert (found.qubits, found.padded) == (found_qubits, width not in (2, 4, 32))


@settings(max_examples=20)
@given(SEEDS, BONDS)
def test_law_variational_steps_never_lose(seed: int, bond: int) -> None:
    kets = structured(seed)
    before = product(kets, bond)
    for sweeps in (1, 3):
        after = product(kets, bond, sweeps=sweeps)
        torch.testing.assert_close(after.fidelity, fidelity(padded(kets), after.vectors()), atol=1e-12, rtol=0)
        assert (after.fidelity >= before.fidelity - 1e-12).all()
        before = after
    weights = spectra(kets).square()[..., bond:].sum(-1)
    assert (before.fidelity <= 1 - weights.amax(1) + 1e-12).all()


def test_known_variational_steps_gain_where_cutting_off_is_not_the_best() -> None:
    kets = random_kets(4, 64)
    assert (product(kets, 2, sweeps=4).fidelity > product(kets, 2).fidelity + 1e-3).all()


@settings(max_examples=20)
@given(SEEDS)
def test_law_product_states_need_a_bond_of_1(seed: int) -> None:
    ket = torch.einsum("i,j,k->ijk", *random_kets(3, 2, seed)).reshape(1, -1)
    torch.testing.assert_close(product(ket, 1).fidelity, torch.ones(1, dtype=torch.float64))
    assert bond_for(ket, 1.0).tolist() == [1]


@settings(max_examples=20)
@given(SEEDS, st.floats(0.3, 1.0))
def test_law_the_bond_needed_is_the_smallest(seed: int, wanted: float) -> None:
    kets = structured(seed, count=3, width=64)
    for row, bond in zip(kets, bond_for(kets, wanted).tolist(), strict=True):
        assert float(product(row[None], bond).fidelity) >= wanted - 1e-12
        for smaller in range(1, bond):
            assert float(product(row[None], smaller).fidelity) < wanted


def test_known_a_ghz_state() -> None:
    assert product(GHZ, 1).fidelity.item() == pytest.approx(0.5)
    assert product(GHZ, 2).fidelity.item() == pytest.approx(1)
    assert bond_for(GHZ).tolist() == [2] and bond_for(GHZ, 0.5).tolist() == [1]


@pytest.mark.parametrize("bond", [1, 2, 3, 4, 8])
def test_parity_with_quimb(bond: int) -> None:
    tensors = pytest.importorskip("quimb.tensor", reason="needs psitext[tensor]")
    ket = random_kets(1, 64)
    theirs = tensors.MatrixProductState.from_dense(ket[0].numpy(), [2] * 6, max_bond=bond, cutoff=0.0)
    vector = theirs.to_dense().ravel()
    found = product(ket, bond)
    ours = abs(np.vdot(ket[0].numpy(), vector)) ** 2 / np.vdot(vector, vector).real
    assert found.fidelity.item() == pytest.approx(ours, abs=1e-10)
    arrays = [tensor[0] for tensor in found.numpy()]
    built = tensors.MatrixProductState([arrays[0][0], *arrays[1:-1], arrays[-1][..., 0]], shape="lpr")
    np.testing.assert_allclose(built.to_dense().ravel(), found.vectors()[0], atol=1e-12)


def test_parity_with_the_chain_that_circuits_are_made_of() -> None:
    mps = pytest.importorskip("psitext.quantum.circuits.mps", reason="needs psitext[quantum]")
    kets = structured(3, width=64)
    for bond in (1, 2, 4):
        near = product(kets, bond, sweeps=2)
        for row, kept in zip(near.vectors().numpy(), near.fidelity, strict=True):
            assert mps.chain(row, bond).fidelity == pytest.approx(1, abs=1e-12)
            assert 0 < float(kept) < 1 + 1e-12


def test_known_what_is_refused() -> None:
    for bond, sweeps, says in ((0, 0, "a bond of 0 holds nothing"), (1, -1, "counted from 0, not -1")):
        with pytest.raises(UserError, match=says):
            product(GHZ, bond, sweeps=sweeps)
    for wanted in (0.0, 1.5, float("nan")):
        with pytest.raises(UserError, match="above 0 and at most 1"):
            bond_for(GHZ, wanted)
    with pytest.raises(UserError, match="no power of two"):
        product(torch.ones(1, 6), 2, pad=False)
