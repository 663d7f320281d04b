"""Schmidt coefficients and entropies: against reduced density matrices and quimb, and states whose values are known."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from psitext.errors import UserError
from psitext.nn.schmidt import entropy, entropy_bits, rank, schmidt

SEEDS = st.integers(0, 2**31 - 1)
BELL = torch.tensor([1.0, 0, 0, 1])


def reduced(vector: Tensor, rows: int) -> np.ndarray:
    """Eigenvalues, descending, of the first part's density matrix: no singular values involved."""
    unit = vector.numpy() / np.linalg.norm(vector.numpy())
    matrix = unit.reshape(rows, -1)
    return np.linalg.eigvalsh(matrix @ matrix.conj().T)[::-1]


@pytest.mark.parametrize("rows,columns", [(1, 8), (2, 8), (4, 4), (8, 2), (3, 5), (5, 3)])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_parity_with_the_reduced_density_matrix(rows: int, columns: int, kind: str) -> None:
    vectors = oracle.random(2, 3, rows * columns)
    vectors = vectors if kind == "complex" else vectors.real
    found = schmidt(vectors, rows)
    least = min(rows, columns)
    assert found.shape == (2, 3, least) and found.dtype == torch.float64
    for place in np.ndindex(2, 3):
        weights = reduced(vectors[place], rows)[:least]
        np.testing.assert_allclose(found[place].square(), weights, rtol=0, atol=1e-14)
        np.testing.assert_allclose(entropy_bits(found)[place], -(weights * np.log2(weights)).sum(), atol=1e-12)
        np.testing.assert_allclose(entropy(found, order=2.0)[place], -np.log2((weights**2).sum()), atol=1e-12)


def test_parity_with_quimb() -> None:
    quimb = pytest.importorskip("quimb", reason="needs psitext[tensor]")
    ket = oracle.random(32)
    ket = ket / ket.norm()
    for cut in range(1, 5):
        found = schmidt(ket, 1 << cut)
        rho = quimb.ptr(ket.numpy()[:, None], [2] * 5, range(cut))
        assert entropy_bits(found) == pytest.approx(quimb.entropy(rho), abs=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_known_states(dtype: torch.dtype) -> None:
    bell = schmidt(BELL.to(dtype), 2)
    torch.testing.assert_close(bell, torch.full((2,), 0.5**0.5, dtype=torch.float64))
    assert entropy_bits(bell) == pytest.approx(1) and entropy(bell, order=2.0) == pytest.approx(1) and rank(bell) == 2
    assert entropy(bell, base=math.e) == pytest.approx(math.log(2))
    ghz = torch.zeros(32, dtype=dtype)
    ghz[0], ghz[-1] = 1, -1
    product = torch.ones(1, dtype=dtype)
    for angle in range(5):
        product = torch.kron(product, torch.tensor([math.cos(angle), math.sin(angle)], dtype=dtype))
    for cut in range(1, 5):
        assert entropy_bits(schmidt(ghz, 1 << cut)) == pytest.approx(1, abs=1e-12)
        assert rank(schmidt(ghz, 1 << cut)) == 2
        alone = schmidt(product, 1 << cut)
        assert entropy_bits(alone) == pytest.approx(0, abs=1e-10)
        assert rank(alone, tolerance=1e-6) == 1, "rounded to float32 it is no product any more"


def test_known_the_first_qubits_are_the_leading_bits() -> None:
    """(|00> + |11>) |0>: the first qubit is entangled, the last one is not."""
    ket = torch.tensor([1.0, 0, 0, 0, 0, 0, 1, 0])
    assert [float(entropy_bits(schmidt(ket, rows))) for rows in (2, 4)] == pytest.approx([1, 0], abs=1e-12)


def test_known_random_states_have_pages_entropy() -> None:
    rows, columns = 8, 16
    found = entropy(schmidt(oracle.random(400, rows * columns), rows), base=math.e).mean()
    page = sum(1 / k for k in range(columns + 1, rows * columns + 1)) - (rows - 1) / (2 * columns)
    assert float(found) == pytest.approx(page, abs=0.01)


@given(seed=SEEDS, rows=st.sampled_from([2, 4, 8]), is_complex=st.booleans())
def test_law_local_unitaries_and_scale_change_nothing(seed: int, rows: int, is_complex: bool) -> None:
    columns = 16 // rows
    matrices = [oracle.random(*shape, seed=seed) for shape in ((rows, columns), (rows, rows), (columns, columns))]
    matrix, *turns = matrices if is_complex else [each.real for each in matrices]
    left, right = (torch.linalg.qr(turn)[0] for turn in turns)
    turned = 1e-200 * left @ matrix @ right
    before, after = schmidt(matrix.flatten(), rows), schmidt(turned.flatten(), rows)
    torch.testing.assert_close(after, before, rtol=0, atol=1e-13)
    torch.testing.assert_close(schmidt(matrix.T.flatten(), columns), before, rtol=0, atol=1e-13)


@given(seed=SEEDS, rows=st.sampled_from([1, 2, 4]))
def test_law_coefficients_and_bounds(seed: int, rows: int) -> None:
    found = schmidt(oracle.random(3, 16, seed=seed), rows)
    assert (found.diff(dim=-1) <= 0).all() and (found >= 0).all()
    torch.testing.assert_close(found.square().sum(-1), torch.ones(3, dtype=torch.float64))
    orders = [entropy(found, order=order) for order in (0.5, 1.0, 2.0, 5.0, math.inf)]
    bound = math.log2(found.shape[-1])
    for higher, lower in pairwise(orders):  # Renyi entropies fall with their order
        assert (higher >= lower - 1e-12).all() and (higher <= bound + 1e-12).all() and (lower >= 0).all()
    torch.testing.assert_close(entropy(found, order=1 + 1e-7), orders[1], rtol=0, atol=1e-5)


def test_law_entropies_have_gradients() -> None:
    """Degenerate spectra and those with coefficients of 0 too; the scale of a vector has none."""
    vector = oracle.random(12).requires_grad_()
    for function in (entropy_bits, *(partial(entropy, order=order) for order in (2.0, math.inf))):
        assert torch.autograd.gradcheck(lambda v, function=function: function(schmidt(v, 3)), vector)
    for special in (BELL.double(), torch.tensor([1.0, 0, 0, 0]).double(), torch.eye(4).double().flatten()):
        special.requires_grad_()
        for order in (1.0, 2.0, 3.0):
            (gradient,) = torch.autograd.grad(entropy(schmidt(special, len(special) // 2), order=order), special)
            assert gradient.isfinite().all() and float(gradient @ special.detach()) == pytest.approx(0, abs=1e-12)


def test_known_coefficients_too_small_to_be_squared_count_for_nothing() -> None:
    found = torch.tensor([1.0, 1e-170, 0.0], dtype=torch.float64, requires_grad=True)
    for order in (0.5, 1.0, 2.0):
        value = entropy(found, order=order)
        (gradient,) = torch.autograd.grad(value, found)
        assert value == 0 and gradient.isfinite().all()


def test_known_what_has_no_decomposition_is_refused() -> None:
    for rows in (0, 3, 8):
        with pytest.raises(ValueError, match=f"a vector of 4 components is no matrix of {rows} rows"):
            schmidt(BELL, rows)
    for bad in (torch.zeros(4), torch.tensor([1.0, torch.nan, 0, 0]), torch.tensor([torch.inf, 0, 0, 0])):
        with pytest.raises(ValueError, match="a vector that is 0 or not finite has no Schmidt coefficients"):
            schmidt(torch.stack([BELL, bad]), 2)
    for base, order in ((1.0, 1.0), (2.0, 0.0)):
        with pytest.raises(UserError, match="an entropy has a base above 1 and an order above 0"):
            entropy(torch.ones(1), base, order)
