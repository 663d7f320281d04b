"""Critical sizes of curves whose plateau is known."""

from __future__ import annotations

import numpy as np
import pytest

from psitext.score.critical import critical, critical_of, saturating

SIZES = (1, 2, 3, 5, 8, 12, 16, 20, 30, 40)


def curve(top: float, drop: float, scale: float, noise: float, seed: int = 0) -> dict[int, list[float]]:
    rng = np.random.default_rng(seed)
    return {x: (top - drop * np.exp(-x / scale) + noise * rng.standard_normal(50)).tolist() for x in SIZES}


def test_known_fit() -> None:
    x = np.asarray(SIZES, dtype=float)
    top, drop, scale = saturating(x, 2.5 - 2.2 * np.exp(-x / 6))
    assert (top, drop) == pytest.approx((2.5, 2.2), abs=0.02)
    assert scale == pytest.approx(6, rel=0.03)


def test_known_critical_size() -> None:
    """Within two standard errors of 0.1 / sqrt(50) at x = 6 ln(2.2 sqrt(50) / 0.2) = 26."""
    found = critical(curve(2.5, 2.2, 6, 0.1))
    assert found.size in (20, 30)
    assert found.low is not None and found.high is not None and found.low <= found.size <= found.high
    assert found.top == pytest.approx(2.5, abs=0.03)
    assert found.reached > 0.9


def test_law_the_slower_of_two_decides() -> None:
    fast, slow = curve(0.9, 0.1, 1, 0.01), curve(2.5, 2.2, 6, 0.1, seed=1)
    both = critical_of([fast, slow]).size
    assert both is not None and both >= max(critical(fast).size or 0, critical(slow).size or 0)


def test_known_no_plateau() -> None:
    found = critical({x: [0.1 * x, 0.1 * x + 0.01] for x in SIZES})
    assert found.size is None and found.reached < 0.1


def test_known_slow_growth_is_no_plateau() -> None:
    """Of a logarithm the fit levels off below the last values, or at the last one only."""
    for sizes in (SIZES, (1, 3, 5, 10, 20, 40, 60, 80), (*SIZES, 60, 80)):
        found = critical({x: [np.log2(1 + x) - 0.05, np.log2(1 + x), np.log2(1 + x) + 0.05] for x in sizes})
        assert found.size is None and found.reached < 0.2


def test_law_the_last_size_is_never_critical() -> None:
    found = critical(curve(2.5, 2.2, 12, 0.1))
    assert found.size != max(SIZES) and (found.high is None or found.high < max(SIZES))


def test_known_too_little() -> None:
    with pytest.raises(ValueError, match="two sizes and two restarts"):
        critical({1: [0.1, 0.2]})
