"""Random kets: Page's formula against his table, its limit and drawn kets; orders of coordinates."""

from __future__ import annotations

import math

import pytest
import torch

from psitext.errors import UserError
from psitext.explain.ket.controls import page_bits, page_profile, random_kets, random_profile, shuffle, unshuffle
from psitext.nn.kets.cuts import entropies, entropy_at
from psitext.nn.kets.geometry import fidelities


def test_known_pages_formula() -> None:
    """Two qubits: 1/3 + 1/4 - 1/4 nats (Page 1993); one part of one dimension: none."""
    assert page_bits(2, 2) == pytest.approx((1 / 3 + 1 / 4 - 1 / 4) / math.log(2))
    assert page_bits(1, 8) == 0
    assert page_bits(4, 16) == page_bits(16, 4)
    assert page_bits(32, 1024) == pytest.approx(5 - 32 / (2 * 1024 * math.log(2)), abs=1e-4)
    assert page_profile(5) == [page_bits(2, 16), page_bits(4, 8), page_bits(8, 4), page_bits(16, 2)]
    with pytest.raises(UserError, match="at least 1 dimension"):
        page_bits(0, 4)


@pytest.mark.parametrize("qubits", [2, 5, 6])
def test_parity_of_the_formula_with_random_kets(qubits: int) -> None:
    bits = entropies(random_kets(2_000, 1 << qubits))
    error = bits.std(0) / math.sqrt(len(bits))
    found = torch.tensor(page_profile(qubits), dtype=torch.float64)
    assert ((bits.mean(0) - found).abs() < 4 * error).all()


def test_parity_of_a_padded_width_with_its_rows() -> None:
    """Of 24 amplitudes on 5 qubits the first two tell 3 of 4 rows: 3 x 8, which the formula knows."""
    bits = entropy_at(random_kets(2_000, 24), 2)
    assert float(bits.mean()) == pytest.approx(page_bits(3, 8), abs=4 * float(bits.std()) / math.sqrt(2_000))
    assert random_profile(24)[1] == pytest.approx(page_bits(3, 8), abs=0.03)


def test_known_random_kets_are_keyed_and_of_unit_norm() -> None:
    kets, real = random_kets(3, 6, 7), random_kets(3, 6, 7, real=True)
    assert torch.equal(kets, random_kets(3, 6, 7)) and not torch.equal(kets, random_kets(3, 6, 8))
    assert not real.imag.any() and kets.imag.any()
    torch.testing.assert_close(real.norm(dim=1), torch.ones(3, dtype=torch.float64))


def test_law_random_profiles_by_field() -> None:
    assert random_profile(32) == page_profile(5)
    assert all(real < page for real, page in zip(random_profile(32, real=True), page_profile(5), strict=True))


def test_law_another_order_keeps_fidelities_and_can_be_undone() -> None:
    kets, order = random_kets(4, 12), shuffle(12, 3)
    assert sorted(order.tolist()) == list(range(12)) and order.tolist() != list(range(12))
    moved = kets[:, order]
    assert torch.equal(moved[:, unshuffle(order)], kets)
    torch.testing.assert_close(fidelities(moved, moved), fidelities(kets, kets))
