"""Distances and geodesics of kets: laws of the Fubini-Study metric, qiskit's fidelities, the Bloch sphere."""

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
from psitext.nn.kets.geometry import angle, angles, fidelities, fidelity, geodesic, overlap

SEEDS = st.integers(0, 10_000)
ZERO, ONE = torch.tensor([1.0, 0j]), torch.tensor([0j, 1.0])
PLUS = torch.tensor([1.0, 1.0 + 0j])


def pair(seed: int, width: int = 6) -> tuple[Tensor, Tensor]:
    first, second = random_kets(2, width, seed)
    return first, second


def test_parity_with_qiskit_and_numpy() -> None:
    info = pytest.importorskip("qiskit.quantum_info", reason="needs psitext[quantum]")
    kets = random_kets(5, 8)
    matrix, between = fidelities(kets, kets), angles(kets, kets)
    for i, j in np.ndindex(5, 5):
        a, b = (info.Statevector(kets[place].numpy()) for place in (i, j))
        assert float(matrix[i, j]) == pytest.approx(info.state_fidelity(a, b), abs=1e-12)
        assert complex(overlap(kets[i], kets[j])) == pytest.approx(np.vdot(kets[i].numpy(), kets[j].numpy()), abs=1e-12)
        assert math.cos(between[i, j]) ** 2 == pytest.approx(float(matrix[i, j]), abs=1e-12)
    torch.testing.assert_close(fidelity(kets[:1], kets), matrix[0])
    torch.testing.assert_close(angle(kets, kets.flip(0)), between.flip(1).diagonal())


@settings(max_examples=20)
@given(SEEDS, st.floats(0, 6.28), st.floats(1e-3, 1e3))
def test_law_phase_and_scale_change_nothing(seed: int, phase: float, scale: float) -> None:
    a, b = pair(seed)
    turned = scale * complex(math.cos(phase), math.sin(phase)) * b
    torch.testing.assert_close(fidelity(a, turned), fidelity(a, b), atol=1e-12, rtol=0)
    torch.testing.assert_close(angle(a, turned), angle(a, b), atol=1e-12, rtol=0)
    assert float(angle(b, turned)) < 1e-14


@settings(max_examples=20)
@given(SEEDS, st.floats(0, 1), st.floats(0, 1))
def test_law_a_geodesic_has_constant_speed_and_is_the_shortest(seed: int, first: float, second: float) -> None:
    a, b = pair(seed)
    theta = float(angle(a, b))
    one, two = geodesic(a, b, first), geodesic(a, b, second)
    assert float(angle(a, one)) == pytest.approx(first * theta, abs=1e-12)
    assert float(angle(one, two)) == pytest.approx(abs(second - first) * theta, abs=1e-12)
    assert float(angle(one, b)) == pytest.approx((1 - first) * theta, abs=1e-12)
    torch.testing.assert_close(one.abs().square().sum(), torch.tensor(1.0, dtype=torch.float64))


@settings(max_examples=20)
@given(SEEDS)
def test_law_a_geodesic_ends_at_both_kets_in_phase(seed: int) -> None:
    a, b = pair(seed)
    start, end = geodesic(a, b, torch.tensor([0.0, 1.0]))
    torch.testing.assert_close(start, a)
    assert float(fidelity(end, b)) == pytest.approx(1, abs=1e-12)
    along = complex(overlap(a, end))
    assert along.real > 0 and abs(along.imag) < 1e-12


@settings(max_examples=20)
@given(SEEDS, SEEDS)
def test_law_the_triangle_inequality(seed: int, other: int) -> None:
    a, b = pair(seed)
    (c,) = random_kets(1, 6, other + 20_000)
    assert float(angle(a, b)) <= float(angle(a, c) + angle(c, b)) + 1e-12


def test_known_a_geodesic_on_the_bloch_sphere() -> None:
    torch.testing.assert_close(angle(ZERO, PLUS), torch.tensor(math.pi / 4, dtype=torch.float64))
    half = geodesic(ZERO, PLUS, 0.5)
    expected = torch.tensor([math.cos(math.pi / 8), math.sin(math.pi / 8)], dtype=torch.complex128)
    torch.testing.assert_close(half, expected)


def test_known_orthogonal_kets_keep_their_phase() -> None:
    """Antipodal on the Bloch sphere: every meridian is the shortest, and the one taken has b as it is."""
    assert float(angle(ZERO, ONE)) == pytest.approx(math.pi / 2)
    half = geodesic(ZERO, 1j * ONE, 0.5)
    torch.testing.assert_close(half, torch.tensor([1, 1j], dtype=torch.complex128) / math.sqrt(2))
    nearly = torch.tensor([1e-9j, 1.0])  # of float32 amplitudes a phase of this is rounding
    torch.testing.assert_close(geodesic(ZERO, nearly, 0.5), geodesic(ZERO, ONE, 0.5), atol=1e-8, rtol=0)


def test_known_opposite_vectors_are_one_ket() -> None:
    real = torch.tensor([0.6, 0.8])
    assert float(angle(real, -real)) < 1e-15
    torch.testing.assert_close(geodesic(real, -real, 0.3), geodesic(real, real, 0.3))


def test_known_small_angles_keep_their_digits() -> None:
    near = torch.tensor([1.0, 1e-9], dtype=torch.complex128)
    assert float(angle(ZERO.to(torch.complex128), near)) == pytest.approx(1e-9, rel=1e-9)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_known_what_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="from t = 0 to t = 1"):
        geodesic(ZERO, ONE, share)
    with pytest.raises(UserError, match="kets of width 2 and 3 have no overlap"):
        angle(ZERO, torch.ones(3))
