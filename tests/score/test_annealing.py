"""Schedules of beta: exact shares of a run, whatever its length and the number of its cycles."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.score.annealing import CYCLES, Cycle, beta, exact

SHARES = st.integers(0, 20).flatmap(
    lambda zero: st.integers(0, 20 - zero).map(lambda rise: Cycle(Fraction(zero, 20), Fraction(rise, 20)))
)


def curve(total: int, cycle: Cycle, cycles: int = 1) -> list[Fraction]:
    return [beta(step, total, cycle, cycles) for step in range(total)]


@pytest.mark.parametrize(
    ("schedule", "cycles", "expected"),
    [
        ("constant", 1, [1] * 8),
        ("linear", 1, [1 / 8, 3 / 8, 5 / 8, 7 / 8, 1, 1, 1, 1]),
        ("cyclical", 2, [1 / 4, 3 / 4, 1, 1] * 2),
        ("cyclical-zero", 1, [0, 0, 0, 0, 1 / 4, 3 / 4, 1, 1]),
        ("cyclical-zero", 2, [0, 0, 1 / 2, 1] * 2),
    ],
)
def test_known_schedules(schedule: str, cycles: int, expected: list[float]) -> None:
    assert curve(8, CYCLES[schedule], cycles) == expected  # type: ignore[index]


def test_known_the_paper_s_cycles_where_floats_went_astray() -> None:
    """97 steps in 10 cycles: the original code was at 0 for 62 % of them and at the end for 17.5 %."""
    found = curve(97, CYCLES["cyclical-zero"], 10)
    assert abs(found.count(Fraction(0)) - 97 / 2) < 1
    assert abs(found.count(Fraction(1)) - 97 / 4) < 1


@given(st.integers(1, 400), st.integers(1, 12), SHARES)
def test_law_shares_are_exact(total: int, cycles: int, cycle: Cycle) -> None:
    found = curve(total, cycle, cycles)
    assert all(0 <= value <= 1 for value in found)
    ends = found.count(Fraction(0)), found.count(Fraction(1))
    asked = cycle.zero * total, (1 - cycle.zero - cycle.rise) * total
    # A step's middle falls on one side of a border: half a step to each side, twice a cycle.
    assert all(abs(found - wanted) <= cycles for found, wanted in zip(ends, asked, strict=True))
    if all((share * total / cycles).denominator == 1 for share in (Fraction(1), cycle.zero, cycle.rise)):
        assert ends == asked
        assert found == curve(total // cycles, cycle) * cycles  # each cycle is like the first
        assert sum(found) == asked[1] + cycle.rise * total / 2  # and rises in a line


@given(st.integers(1, 300), st.integers(1, 12), SHARES, st.integers(2, 5))
def test_law_a_longer_run_is_the_same_run_stretched(total: int, cycles: int, cycle: Cycle, factor: int) -> None:
    factor += factor % 2 == 0  # odd, so that the middle one of the finer steps has the middle of the coarse one
    fine = curve(total * factor, cycle, cycles)
    assert fine[factor // 2 :: factor] == curve(total, cycle, cycles)


@given(SHARES, st.integers(1, 200))
def test_law_one_cycle_never_falls(cycle: Cycle, total: int) -> None:
    found = curve(total, cycle)
    assert found == sorted(found)


def test_known_shares_are_what_is_written() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-5) == Fraction(1, 100_000)


@pytest.mark.parametrize("step", [-1, 10])
def test_known_a_step_outside_the_run(step: int) -> None:
    with pytest.raises(ValueError, match=f"a run of 10 steps has no step {step}"):
        beta(step, 10, CYCLES["linear"])


def test_known_shares_that_make_no_cycle() -> None:
    with pytest.raises(ValueError, match="3/4 of a cycle at 0 and 1/2 rising are not shares of one cycle"):
        Cycle(Fraction(3, 4), Fraction(1, 2))
