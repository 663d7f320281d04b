"""Keyed randomness: known values, uniformity, and that a draw depends on its keys alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psitext.randomness import below, bits, generator, more, torch_seed, uniform

WORDS = st.integers(0, 2**64 - 1)


def splitmix64(seed: int, count: int) -> list[int]:
    """The generator of Steele, Lea and Flood in Python's integers, with its state."""
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        word = seed
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        out.append(word ^ (word >> 31))
    return out


def test_known_first_outputs_of_splitmix64() -> None:
    assert int(bits(0)) == 0xE220A8397B1DCDAF
    assert int(bits(0x9E3779B97F4A7C15)) == 0x6E789E6AA1B965F4  # the second output of seed 0
    assert int(bits(1234567)) == 6457827717110365317
    assert splitmix64(1234567, 2) == [6457827717110365317, 3203168211198807973]


@given(WORDS, WORDS, WORDS)
def test_parity_keys_are_chained_through_splitmix64(seed: int, first: int, second: int) -> None:
    state = splitmix64(seed, 1)[0]
    for key in (first, second):
        state = splitmix64(state ^ key, 1)[0]
    assert int(bits(seed, first, second)) == state


@given(WORDS, st.integers(-(2**40), 2**40), st.integers(1, 5), st.integers(1, 7))
def test_law_a_draw_does_not_depend_on_the_shape_it_is_drawn_in(seed: int, start: int, n: int, m: int) -> None:
    rows, columns = start + np.arange(n), np.arange(m)
    together = bits(seed, rows[:, None], "purpose", columns)
    assert together.shape == (n, m)
    one_by_one = [[bits(seed, int(row), "purpose", int(column)) for column in columns] for row in rows]
    assert np.array_equal(together, np.array(one_by_one))


def test_law_keys_may_be_mixed_in_later() -> None:
    rows, columns = np.arange(4)[:, None], np.arange(3)
    whole = bits(7, "purpose", rows, columns)
    assert np.array_equal(more(bits(7, "purpose", rows), columns), whole)
    assert np.array_equal(more(bits(7, "purpose"), rows, columns), whole)
    early = bits(7, "purpose", rows)
    kept = early.copy()
    more(early, columns)
    assert np.array_equal(early, kept), "what is mixed further is not changed"


def test_law_scalars_of_numpy_and_negative_keys_count_like_python_integers() -> None:
    assert bits(3, np.int64(-7)) == bits(3, -7) == bits(3, np.array(-7)) == bits(3, 2**64 - 7)
    assert bits(3, np.int32(9)) == bits(3, 9)


def test_law_every_key_and_their_order_matter() -> None:
    keys = [(), (0,), (0, 0), (1,), (1, 2), (2, 1), ("mask",), ("order",), ("mask", 1)]
    draws = {int(bits(seed, *key)) for seed in (0, 1) for key in keys}
    assert len(draws) == 18
    grid = bits(5, np.arange(300)[:, None], np.arange(300))
    assert len(np.unique(grid)) == grid.size


@pytest.mark.parametrize(
    "keys",
    [(np.arange(200_000),), (np.arange(400)[:, None], np.arange(500)), ("mask", np.arange(200_000) << 32)],
)
def test_law_draws_are_uniform_over_neighbouring_keys(keys: tuple[object, ...]) -> None:
    values = uniform(0, *keys).ravel()  # type: ignore[arg-type]
    assert values.min() >= 0 and values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 1e-3
    neighbours = np.histogram2d(values[:-1], values[1:], bins=16, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(neighbours.ravel()).pvalue > 1e-3


def test_law_one_bit_of_a_key_changes_half_of_the_bits() -> None:
    keys = np.arange(2_000)
    for shift in (0, 7, 31, 63):
        flipped = bits(0, keys) ^ bits(0, keys.astype(np.uint64) ^ np.uint64(1 << shift))
        assert 31.5 < np.bitwise_count(flipped).mean() < 32.5


def test_law_uniform_has_53_bits_and_stays_below_one() -> None:
    values = uniform(0, np.arange(1_000)) * 2.0**53
    assert np.array_equal(values, np.floor(values))
    assert np.array_equal(values.astype(np.uint64), bits(0, np.arange(1_000)) >> np.uint64(11))


@given(st.integers(1, 10**9), WORDS)
def test_law_below_stays_below(limit: int, seed: int) -> None:
    drawn = below(limit, seed, np.arange(50))
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0 and drawn.max() < limit


def test_law_below_takes_a_limit_for_every_draw() -> None:
    limits = np.array([1, 2, 10, 1000])
    drawn = below(limits, 0, np.arange(5_000)[:, None])
    assert (drawn < limits).all()
    assert [len(np.unique(drawn[:, i])) for i in range(3)] == [1, 2, 10]


def test_law_generators_and_seeds_are_functions_of_their_keys() -> None:
    first, again, other = (generator(1, "order", epoch).permutation(50) for epoch in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch_seed(1, 2) == torch_seed(1, 2) != torch_seed(1, 3)
    assert all(0 <= torch_seed(1, step) < 2**63 for step in range(100))
