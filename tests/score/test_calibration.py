"""score/calibration.py: values by hand, a temperature that was put in comes out, laws of the error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.score.calibration import (
    COLDEST,
    HOTTEST,
    calibration_error,
    expected_calibration_error,
    fit_temperature,
    log_probs,
    negative_log_likelihood,
    reliability,
)

BATCH = st.tuples(st.integers(1, 60), st.integers(2, 5), st.integers(0, 2**32 - 1))


def draw(count: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits (N, K) and labels drawn from exactly the probabilities that they state."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(count, classes))
    chance = np.exp(log_probs(logits)).cumsum(axis=1)
    labels = (generator.random((count, 1)) > chance).sum(axis=1)
    return logits, np.minimum(labels, classes - 1)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_known_temperature_that_was_put_in_comes_out(temperature: float) -> None:
    logits, labels = draw(20_000, 3, seed=1)
    assert fit_temperature(logits * temperature, labels) == pytest.approx(temperature, rel=0.03)


def test_parity_temperature_equals_logistic_regression_on_the_one_logit() -> None:
    """With two classes 1 / T is the weight of a logistic regression without intercept on the difference."""
    from sklearn.linear_model import LogisticRegression

    logits, labels = draw(2_000, 2, seed=2)
    difference = (logits[:, 1] - logits[:, 0]).reshape(-1, 1)
    weight = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-9).fit(difference, labels).coef_.item()
    assert fit_temperature(logits, labels) == pytest.approx(1 / weight, rel=1e-4)


@given(BATCH)
def test_law_no_temperature_is_better_than_the_fitted_one(size: tuple[int, int, int]) -> None:
    logits, labels = draw(*size)
    best = fit_temperature(logits, labels)
    least = negative_log_likelihood(logits, labels, best)
    for other in (COLDEST, 0.3, 1.0, 3.0, HOTTEST, best * 1.05, best / 1.05):
        if COLDEST <= other <= HOTTEST:
            assert least <= negative_log_likelihood(logits, labels, other) + 1e-6


def test_known_limits() -> None:
    gold = np.array([0, 1, 2])
    assert fit_temperature(np.eye(3), gold) == pytest.approx(COLDEST, rel=1e-3)  # always right: be sure
    assert fit_temperature(-np.eye(3), gold) == pytest.approx(HOTTEST, rel=1e-3)  # always wrong: say nothing


def test_parity_log_probs_equal_scipy_and_survive_huge_logits() -> None:
    from scipy.special import log_softmax

    logits = np.random.default_rng(0).normal(size=(7, 4)) * 10
    np.testing.assert_allclose(log_probs(logits, 2.0), log_softmax(logits / 2.0, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(log_probs([[1e30, 0.0]]), [[0.0, -1e30]])


def test_parity_likelihood_equals_scikit_learn() -> None:
    from sklearn.metrics import log_loss

    logits, labels = draw(200, 4, seed=3)
    theirs = log_loss(labels, np.exp(log_probs(logits)), labels=range(4))
    assert negative_log_likelihood(logits, labels) == pytest.approx(theirs, rel=1e-9)


def test_known_calibration_error_by_hand() -> None:
    """Two bins of five: 0.55 sure and 4 of 6 right, 0.95 sure and 1 of 2 right."""
    probs = [[0.55, 0.45]] * 6 + [[0.95, 0.05]] * 2
    labels = [0, 0, 0, 0, 1, 1, 0, 1]
    table = reliability(probs, labels, bins=5)
    assert [entry.count for entry in table] == [0, 0, 6, 0, 2]
    assert table[2].accuracy == pytest.approx(4 / 6)
    assert table[4].confidence == pytest.approx(0.95)
    expected = 6 / 8 * (4 / 6 - 0.55) + 2 / 8 * (0.95 - 0.5)
    assert expected_calibration_error(probs, labels, bins=5) == pytest.approx(expected)


@given(st.integers(1, 30))
def test_law_bins_are_open_below_and_closed_above(bins: int) -> None:
    for edge in np.linspace(0, 1, bins + 1)[1:]:
        if edge >= 0.5:  # the greatest probability of two classes
            (filled,) = [entry for entry in reliability([[edge, 1 - edge]], [0], bins) if entry.count]
            assert filled.high == edge


@given(BATCH, st.integers(1, 20))
def test_law_every_example_is_in_one_bin_and_the_error_in_the_unit_interval(
    size: tuple[int, int, int], bins: int
) -> None:
    logits, labels = draw(*size)
    table = reliability(np.exp(log_probs(logits)), labels, bins)
    assert sum(entry.count for entry in table) == len(labels)
    assert 0 <= calibration_error(table) <= 1
    assert all(entry.low < entry.confidence <= entry.high + 1e-12 for entry in table if entry.count)
    right = sum(entry.accuracy * entry.count for entry in table)
    assert right == pytest.approx((logits.argmax(axis=1) == labels).sum())


def test_known_honest_probabilities_have_nearly_no_error_and_boasting_has() -> None:
    logits, labels = draw(20_000, 3, seed=4)
    assert expected_calibration_error(np.exp(log_probs(logits)), labels) < 0.01
    boasting = expected_calibration_error(np.exp(log_probs(logits, 0.2)), labels)
    assert boasting > 0.1
    mended = fit_temperature(logits / 0.2, labels)
    assert expected_calibration_error(np.exp(log_probs(logits / 0.2, mended)), labels) < 0.01


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        ([[0.5, 0.5]], [0, 1], "need"),
        ([0.5, 0.5], [0, 1], "need"),
        (np.zeros((0, 2)), np.zeros(0, dtype=int), "need"),
        ([[0.5, 0.5]], [2], "from 0 to 1"),
        ([[0.5, 0.5]], [-1], "from 0 to 1"),
        ([[0.5, 0.5]], [0.0], "class ids"),
        ([[np.nan, 0.5]], [0], "not finite"),
    ],
)
def test_known_misuse_is_refused(values: object, labels: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_temperature(values, labels)  # type: ignore[arg-type]


def test_known_logits_are_no_probabilities() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        reliability([[2.0, -1.0]], [0])
