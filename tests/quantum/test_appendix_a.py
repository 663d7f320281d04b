"""Appendix A: exact agreement, counts that pass a chi-square test, and a test that would fail if they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from kets import haar
from psitext.quantum.appendix_a import expected_distance, p_value, table

SHOTS = (1_000, 20_000)


def test_law_exact_circuits_equal_the_network_and_counts_are_its_draws() -> None:
    rows = table(SHOTS)
    assert [(row.std, row.shots) for row in rows] == [(std, n) for std in (0.001, 1.0) for n in (None, *SHOTS)]
    for row in rows:
        if row.shots is None:
            assert row.largest <= 1e-10 and row.p_value is None
        else:
            assert row.p_value is not None and row.p_value > 0.001
            assert row.distance == pytest.approx(row.expected_distance, rel=0.25)
    # The paper's 4.29e-10 comes from tiny weights and 1,000 shots; the same circuit at ordinary weights says 6e-4.
    tiny, ordinary = rows[1], rows[4]
    assert 2e-10 < tiny.mse < 2e-9 and ordinary.mse > 1e-4
    assert set(tiny.record()) >= {"std", "shots", "distance", "p_value", "mse"}


def draws(probs: np.ndarray, shots: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(shots, probs) / shots


def test_law_p_values_of_true_draws_are_uniform() -> None:
    probs = np.abs(haar(3, 4)) ** 2
    found = [p_value(draws(probs, 500, seed), probs, 500) for seed in range(300)]
    assert kstest(found, "uniform").pvalue > 0.01


def test_law_p_values_of_false_draws_are_small() -> None:
    probs = np.abs(haar(3, 4)) ** 2
    turned = probs.reshape(4, 2, 2, 2).transpose(0, 3, 2, 1).reshape(4, 8)  # the bits read backwards
    assert p_value(draws(turned, 1_000, 0), probs, 1_000) < 1e-6
    mixed = 0.9 * probs + 0.1 / 8  # one in ten readings is noise
    assert p_value(draws(mixed, 20_000, 0), probs, 20_000) < 1e-6


def test_parity_chi_square_is_scipys() -> None:
    probs = np.full((1, 8), 1 / 8)
    found = draws(probs, 800, 1)
    assert p_value(found, probs, 800) == pytest.approx(chisquare(found[0] * 800).pvalue)


def test_law_the_expected_distance_is_the_mean_of_draws() -> None:
    probs = np.abs(haar(3, 4)) ** 2
    found = np.mean([np.abs(draws(probs, 2_000, seed) - probs).sum(1) / 2 for seed in range(200)])
    assert found == pytest.approx(expected_distance(probs, 2_000), rel=0.05)
