"""What is said of scores: intervals against formulas, and each rule of the recommendation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from psitext.experiments.compare.judging import Judged, judge, recommend

RANDOM = np.random.default_rng(0)
GOLD = RANDOM.integers(0, 2, 1000)


def answers(accuracy: float, seeds: int = 1) -> list[np.ndarray]:
    """Answers of which a share is right, drawn row by row."""
    drawn = np.random.default_rng(round(1000 * accuracy)).random((seeds, len(GOLD)))
    return [np.where(one < accuracy, GOLD, 1 - GOLD) for one in drawn]


def test_parity_intervals_over_rows_are_those_of_the_normal_approximation() -> None:
    first, second = answers(0.8)[0], answers(0.7)[0]
    found = judge("accuracy", GOLD, {"first": [first], "second": [second]})
    right = (first == GOLD).astype(float)
    lead = right - (second == GOLD)
    for interval, values in ((found["first"].over_rows, right), (found["second"].behind, lead)):
        assert interval is not None
        half = 1.96 * values.std() / np.sqrt(len(values))
        assert interval.value == pytest.approx(values.mean())
        assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.1)
        assert (interval.high + interval.low) / 2 == pytest.approx(values.mean(), abs=0.1 * half)


def test_parity_the_interval_over_seeds_is_students() -> None:
    some = answers(0.8, seeds=4)
    found = judge("accuracy", GOLD, {"one": some}, draws=10)["one"]
    low, high = t.interval(0.95, 3, np.mean(found.scores), np.std(found.scores, ddof=1) / 2)
    assert found.over_seeds is not None
    assert (found.over_seeds.low, found.over_seeds.high) == pytest.approx((low, high))
    assert judge("accuracy", GOLD, {"one": some[:1]}, draws=10)["one"].over_seeds is None


def test_law_the_same_answers_are_never_told_apart_and_the_earlier_is_first() -> None:
    some = answers(0.8, seeds=2)
    found = judge("macro_f1", GOLD, {"early": some, "late": some}, draws=200)
    assert list(found) == ["early", "late"]
    behind = found["late"].behind
    assert behind is not None and behind.value == 0 and not found["late"].apart
    assert found["early"].behind is None and not found["early"].apart


def test_law_seeds_that_differ_widen_the_lead() -> None:
    other = [GOLD.copy() for _ in range(3)]
    other[0][:300] = 1 - other[0][:300]  # one seed of three fails
    steady = GOLD.copy()
    steady[:100] = 1 - steady[:100]  # as good on average, under every seed
    even = judge("accuracy", GOLD, {"best": [GOLD] * 3, "other": [steady] * 3}, draws=400)["other"].behind
    uneven = judge("accuracy", GOLD, {"best": [GOLD] * 3, "other": other}, draws=400)["other"].behind
    assert even is not None and uneven is not None
    assert even.value == uneven.value == pytest.approx(0.1)
    assert uneven.high - uneven.low > 3 * (even.high - even.low)


def test_law_less_is_better_where_it_is() -> None:
    scores = RANDOM.normal(size=200)
    found = judge("rmse", scores, {"far": [scores + 1], "near": [scores + 0.1]}, draws=50)
    assert list(found) == ["near", "far"]
    assert found["far"].behind is not None and found["far"].behind.value == pytest.approx(0.9) and found["far"].apart


def test_law_leads_of_more_contenders_are_less_sure() -> None:
    few = {f"at {share}": answers(share) for share in (0.8, 0.7)}
    more = few | {f"at {share}": answers(share) for share in (0.69, 0.68, 0.67, 0.66, 0.65)}
    widths = [
        lead.high - lead.low
        for some in (few, more)
        if (lead := judge("accuracy", GOLD, some, draws=1000)["at 0.7"].behind) is not None
    ]
    assert widths[0] * 1.1 < widths[1] < widths[0] * 1.7


def test_known_collapsed_seeds_are_counted() -> None:
    found = judge("accuracy", GOLD, {"one": [np.zeros_like(GOLD), *answers(0.8)]}, draws=10)
    assert found["one"].collapsed == 1


SIZES = {"majority": 1, "bag-of-words": 1000, "small": 10_000, "large": 100_000, "twin": 10_000}
SPEEDS = {"majority": 0.0, "bag-of-words": 0.1, "small": 1.0, "large": 2.0, "twin": 0.5}


def verdict(rows: int = 1000, **accuracy: float):  # type: ignore[no-untyped-def]
    given = {name.replace("_", "-"): answers(value) for name, value in accuracy.items()}
    judged: dict[str, Judged] = judge("accuracy", GOLD, given, draws=300)
    return recommend(judged, SIZES, SPEEDS, rows, 50)


def test_known_the_rules_in_their_order() -> None:
    few = verdict(rows=30, majority=0.5, bag_of_words=0.8)
    assert (few.name, few.rule) == (None, "few rows") and "30 rows to judge by are too few" in few.sentence
    nothing = verdict(majority=0.5, bag_of_words=0.51, large=0.52)
    assert (nothing.name, nothing.rule) == (None, "nothing learnt")
    for large in (0.81, 0.7):
        bag = verdict(majority=0.5, bag_of_words=0.8, large=large)
        assert (bag.name, bag.rule) == ("bag-of-words", "bag of words")
        assert "nothing here beats it" in bag.sentence
    only = verdict(majority=0.5, bag_of_words=0.6, small=0.7, large=0.9)
    assert (only.name, only.sentence) == ("large", "Take large: it is better than every other on 1,000 rows.")
    level = verdict(majority=0.5, bag_of_words=0.6, small=0.895, large=0.9)
    assert (level.name, level.rule) == ("small", "smallest")
    twins = verdict(majority=0.5, bag_of_words=0.6, small=0.9, twin=0.9)
    assert twins.name == "twin", "of equal size the faster one"
    alone = verdict(majority=0.5, large=0.9)
    assert (alone.name, alone.rule) == (None, "alone") and alone.sentence.startswith("Nothing is compared: ")
    assert verdict(majority=0.5).sentence == "No recommendation: there is nothing here to compare majority with."


def test_law_what_is_set_aside_is_last_and_never_the_best() -> None:
    found = judge("accuracy", GOLD, {"majority": answers(0.5), "cheat": [GOLD], "fair": answers(0.8)}, aside=["cheat"])
    assert list(found) == ["fair", "majority", "cheat"] and found["fair"].behind is None
    behind = found["cheat"].behind
    assert behind is not None and behind.value < 0
