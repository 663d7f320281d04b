"""score/statistics.py: bootstraps against scipy and theory, averages against the published table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.score.metrics import METRICS
from psitext.score.statistics import (
    GLUE_ENTRIES,
    bootstrap_interval,
    bootstrap_metric,
    glue_average,
    paired,
    summary,
)

SCORES = st.lists(st.integers(0, 1000).map(lambda score: score / 1000), min_size=2, max_size=12)

# Table 1 of the QBERT paper in the order of GLUE_ENTRIES; beside it the averages of these cells. The paper's
# own averages are 79.8, 80.1, 76.2, 47.1, 49.8, 50.8 and 51.4: only two of them follow from its cells.
PUBLISHED = {
    "BERT": ((82.1, 83.0, 86.6, 88.8, 64.6, 90.1, 85.6, 46.5, 87.9), 79.47, 79.08),
    "CVBERT": ((81.6, 81.7, 86.2, 88.1, 63.3, 90.7, 88.2, 52.8, 88.5), 80.12, 79.93),
    "QBERT": ((78.9, 79.7, 84.3, 86.9, 60.3, 89.0, 80.0, 41.9, 84.8), 76.20, 75.81),
    "QCLS-e2e": ((40.6, 41.6, 65.9, 67.6, 48.0, 80.5, 74.8, 0.0, -4.5), 46.06, 46.68),
    "QCLS-3L": ((55.0, 55.1, 65.8, 72.6, 45.1, 80.6, 65.8, 3.3, 2.4), 49.52, 48.83),
    "QCLS-6L": ((57.2, 57.4, 65.9, 73.4, 52.0, 81.0, 65.9, 7.3, 11.3), 52.38, 51.76),
    "QCLS-12L": ((59.6, 59.8, 66.6, 74.4, 48.0, 80.0, 74.1, 13.4, 13.3), 54.36, 53.69),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_known_averages_of_the_published_table(model: str) -> None:
    cells, by_entries, by_tasks = PUBLISHED[model]
    scores = dict(zip(GLUE_ENTRIES, cells, strict=True))
    assert glue_average(scores, "entries") == pytest.approx(by_entries, abs=0.005)
    assert glue_average(scores, "tasks") == pytest.approx(by_tasks, abs=0.0051)


def test_known_average_leaves_out_wnli_and_takes_a_named_smaller_set() -> None:
    scores = {"mnli-m": 0.8, "mnli-mm": 0.6, "rte": 0.1, "wnli": 0.9, "ax": 0.9}
    over = ("mnli-m", "mnli-mm", "rte")
    assert glue_average(scores, "entries", over) == pytest.approx(0.5)
    assert glue_average(scores, "tasks", over) == pytest.approx(0.4)


def test_known_average_refuses_gaps_and_strangers() -> None:
    with pytest.raises(UserError, match="over 9 entries lacks qqp"):
        glue_average({name: 0.5 for name in GLUE_ENTRIES if name != "qqp"})
    with pytest.raises(UserError, match=r"no GLUE entry called 'sst-2'; did you mean 'sst2'"):
        glue_average({"sst-2": 0.9})
    with pytest.raises(UserError, match="all of them"):
        glue_average({"rte": 0.5}, over=())


def test_known_summary_by_hand() -> None:
    found = summary([0.5, 0.7, 0.9])
    assert (found.n, found.mean, found.median, found.best) == (3, pytest.approx(0.7), 0.7, 0.9)
    assert found.sd == pytest.approx(0.2)
    assert found.low == pytest.approx(0.5)  # one resample in 27 is the least score three times, over 2.5%
    assert found.high == pytest.approx(0.9)
    assert str(found) == "0.7000 ± 0.2000 (n 3, median 0.7000, 0.5000 to 0.9000)"


def test_known_one_run_has_no_spread() -> None:
    found = summary([0.5])
    assert (found.sd, found.low, found.high) == (None, None, None)
    assert str(found) == "0.5000 (one run)"


def test_known_paired_differences() -> None:
    found = paired([0.8, 0.9, 0.7, 0.6], [0.7, 0.7, 0.7, 0.65])
    assert found.difference.mean == pytest.approx(0.0625)
    assert (found.wins, found.losses) == (2, 1)
    assert "2 of 4 pairs up, 1 down" in str(found)
    with pytest.raises(ValueError, match="equal lengths"):
        paired([0.1], [0.1, 0.2])


def test_parity_bootstrap_equals_scipy() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(3).gamma(2.0, size=60)
    theirs = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(0)
    ).confidence_interval
    ours = bootstrap_interval(values, draws=20_000)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)  # the interval is 0.75 wide


def test_known_interval_of_an_accuracy_is_about_the_binomial_one() -> None:
    right = np.repeat([1, 0], [700, 172])  # SST-2's dev size
    low, high = bootstrap_interval(right, draws=10_000)
    mean = 700 / 872
    half = 1.96 * np.sqrt(mean * (1 - mean) / 872)
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.003)


def test_parity_metric_bootstrap_of_accuracy_equals_the_bootstrap_of_hits() -> None:
    generator = np.random.default_rng(0)
    gold = generator.integers(0, 2, 300)
    predictions = np.where(generator.random(300) < 0.8, gold, 1 - gold)
    by_metric = bootstrap_metric(METRICS["accuracy"], predictions, gold)
    by_values = bootstrap_interval(predictions == gold)
    assert by_metric == pytest.approx(by_values, abs=0.01)
    low, high = bootstrap_metric(METRICS["matthews"], predictions, gold)
    assert low < METRICS["matthews"](predictions, gold) < high


@given(SCORES)
def test_law_interval_lies_within_the_scores_and_repeats(scores: list[float]) -> None:
    low, high = bootstrap_interval(scores, draws=200)
    assert min(scores) - 1e-12 <= low <= high <= max(scores) + 1e-12
    assert bootstrap_interval(scores, draws=200) == (low, high)


@given(SCORES)
def test_law_paired_difference_turns_its_sign_when_the_sides_change(scores: list[float]) -> None:
    other = scores[::-1]
    forth, back = paired(scores, other), paired(other, scores)
    assert forth.difference.mean == pytest.approx(-back.difference.mean, abs=1e-12)
    assert (forth.wins, forth.losses) == (back.losses, back.wins)


def test_law_seed_changes_the_draws_and_confidence_widens_the_interval() -> None:
    values = np.random.default_rng(1).normal(size=30)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)
    narrow, wide = bootstrap_interval(values, 0.5), bootstrap_interval(values, 0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_known_equal_scores_give_exactly_themselves() -> None:
    assert bootstrap_interval([0.1] * 7) == (0.1, 0.1)


def test_known_misuse_is_refused() -> None:
    for wrong in ([], [0.1, float("nan")], [[0.1]]):
        with pytest.raises(ValueError, match="finite numbers"):
            summary(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="between 0 and 1"):
        bootstrap_interval([0.1, 0.2], confidence=95)
    with pytest.raises(ValueError, match="2 predictions for 3"):
        bootstrap_metric(METRICS["accuracy"], [0, 1], [0, 1, 1])
