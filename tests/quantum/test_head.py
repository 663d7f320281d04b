"""Heads as plain numbers: the same answers as the module's, exact unitaries, padding, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import from_head, from_matrix
from psitext.quantum.head import nearest_unitary, padded_kets
from psitext.state import SentenceState

KINDS = [
    (8, {}),
    (8, {"groups": 2}),  # one qubit tells them
    (8, {"groups": 3}),  # all qubits are read
    (6, {}),  # padded
    (6, {"groups": 4}),
    (12, {"groups": 5, "unitary": "cayley"}),
    (8, {"unitary": "circuit", "layers": 3, "entangler": "cx-ring"}),
    (5, {"unitary": "circuit", "layers": 2, "groups": 2, "bias": False}),
    (2, {"scale": "none"}),
]


@pytest.mark.parametrize(("width", "config"), KINDS, ids=str)
def test_parity_logits_are_the_modules(width: int, config: dict[str, object]) -> None:
    head, kets = module(width, 3, **config), haar(4, 5, width=width)
    with torch.no_grad():
        expected = head(SentenceState(torch.from_numpy(3.0 * kets)), None)["logits"].numpy()  # type: ignore[arg-type]
    found = from_head(head)
    probs = found.probabilities(found.kets(3.0 * kets))
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(found.logits(probs), expected, atol=1e-10)


def test_known_which_qubits_are_read() -> None:
    assert [from_head(module(width, **config)).measured for width, config in KINDS] == [3, 1, 3, 3, 3, 4, 3, 1, 1]


def test_law_a_float32_head_is_recomputed_not_cast() -> None:
    head = module(48).float()
    found = from_head(head)
    assert found.unitary is not None and found.unitary.shape == (64, 64)
    np.testing.assert_allclose(found.unitary.conj().T @ found.unitary, np.eye(64), atol=1e-13)
    np.testing.assert_array_equal(found.unitary[48:, 48:], np.eye(16))
    assert not found.unitary[:48, 48:].any() and not found.unitary[48:, :48].any()


@given(seed=st.integers(0, 99), error=st.floats(1e-9, 1e-5))
def test_law_the_nearest_unitary_is_the_polar_factor(seed: int, error: float) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.linalg.qr(rng.standard_normal((7, 7)) + 1j * rng.standard_normal((7, 7)))[0]
    bent = matrix + error * (rng.standard_normal((7, 7)) + 1j * rng.standard_normal((7, 7)))
    left, _, right = np.linalg.svd(bent)
    found = nearest_unitary(bent)
    np.testing.assert_allclose(found, left @ right, atol=1e-12)
    np.testing.assert_allclose(found.conj().T @ found, np.eye(7), atol=1e-12)


def test_law_a_rounded_unitary_is_repaired() -> None:
    matrix = from_head(module(64)).unitary
    assert matrix is not None
    rounded = matrix.astype(np.complex64)
    found = from_matrix(rounded, np.ones((2, 64)), None)
    assert found.unitary is not None
    np.testing.assert_allclose(found.unitary.conj().T @ found.unitary, np.eye(64), atol=1e-12)
    np.testing.assert_allclose(found.unitary, matrix, atol=1e-6)


def test_law_readings_outside_the_width_are_left_out() -> None:
    head = from_head(module(6, groups=3))
    shares = np.array([[0.1, 0.2, 0.3, 0.0, 0.1, 0.1, 0.1, 0.1], [0, 0, 0, 0, 0, 0, 0.5, 0.5]])
    outcomes, kept = head.told(shares)
    np.testing.assert_allclose(outcomes, [[0.375, 0.375, 0.25], [0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(kept, [0.8, 0], atol=1e-15)


def test_law_kets_are_of_unit_norm_in_double() -> None:
    single = haar(10, 3, width=768).astype(np.complex64)
    found = padded_kets(single)
    assert found.shape == (3, 1024) and found.dtype == np.complex128
    np.testing.assert_allclose((np.abs(found) ** 2).sum(1), 1, atol=1e-14)
    assert not found[:, 768:].any()
    real = from_head(module(6)).kets(np.arange(1.0, 7)[None])
    np.testing.assert_allclose(real[0, :6] * np.sqrt(91), np.arange(1, 7), atol=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: padded_kets(np.zeros((1, 8))), "sentence 0 has a vector of norm 0, which no quantum state can hold"),
        (lambda: padded_kets(np.full((1, 8), np.nan)), "has a vector of norm nan"),
        (lambda: padded_kets(haar(3, 1, width=6), pad=False), "a width of 6 is no power of two, .* with zeros to 8"),
        (lambda: from_head(module(8)).kets(haar(4)), "for kets of width 8 cannot read states of width 16"),
        (lambda: from_matrix(np.ones((4, 4)), np.ones((2, 4)), None), "U\\^H U up to 4 away .* is no unitary"),
        (lambda: from_matrix(np.full((4, 4), np.nan), np.ones((2, 4)), None), "the matrix of this head is not finite"),
        (lambda: from_matrix(np.eye(4), np.full((2, 4), np.inf), None), "the read-out of this head is not finite"),
        (lambda: from_matrix(np.eye(4), np.ones((2, 3)), None), r"a read-out of shape \(2, 3\) does not fit 4"),
    ],
)
def test_known_what_is_refused(make: object, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make()  # type: ignore[operator]
