"""score/metrics.py against scikit-learn, scipy and values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from psitext.errors import UserError
from psitext.score.metrics import LOWER_IS_BETTER, METRICS, collapsed, evaluate
from psitext.text.examples import IGNORED

CLASSES = st.integers(1, 40).flatmap(lambda n: st.tuples(*[hnp.arrays(np.int64, n, elements=st.integers(0, 3))] * 2))
NUMBERS = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*[hnp.arrays(np.float64, n, elements=st.integers(-50, 50).map(float))] * 2)
)


@given(CLASSES)
def test_parity_class_metrics_equal_scikit_learn(sides: tuple[np.ndarray, np.ndarray]) -> None:
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    predictions, gold = sides
    found = evaluate(["accuracy", "macro_f1", "matthews"], predictions, gold)
    assert found["accuracy"] == pytest.approx(accuracy_score(gold, predictions), abs=1e-12)
    macro = f1_score(gold, predictions, average="macro", zero_division=0.0)
    assert found["macro_f1"] == pytest.approx(macro, abs=1e-12)
    if len(set(gold) | set(predictions)) > 1:  # scikit-learn warns about a single label; ours is 0
        assert found["matthews"] == pytest.approx(matthews_corrcoef(gold, predictions), abs=1e-12)
    two = evaluate(["f1"], predictions % 2, gold % 2)
    assert two["f1"] == pytest.approx(f1_score(gold % 2, predictions % 2, zero_division=0.0), abs=1e-12)


@given(NUMBERS)
def test_parity_correlations_equal_scipy(sides: tuple[np.ndarray, np.ndarray]) -> None:
    from scipy.stats import pearsonr, spearmanr

    predictions, gold = sides
    assume(np.ptp(predictions) > 0)
    assume(np.ptp(gold) > 0)
    found = evaluate(["pearson", "spearman", "rmse"], predictions, gold)
    assert found["pearson"] == pytest.approx(pearsonr(predictions, gold).statistic, abs=1e-9)
    assert found["spearman"] == pytest.approx(spearmanr(predictions, gold).statistic, abs=1e-9)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((predictions - gold) ** 2)))


@given(NUMBERS, st.floats(1e-150, 1e150), st.booleans())
def test_law_pearson_ignores_scale_and_follows_sign(
    sides: tuple[np.ndarray, np.ndarray], scale: float, flip: bool
) -> None:
    predictions, gold = sides
    before = METRICS["pearson"](predictions, gold)
    after = METRICS["pearson"](predictions * (-scale if flip else scale), gold)
    assert after == pytest.approx(-before if flip else before, abs=1e-9)


@given(NUMBERS)
def test_law_spearman_ignores_any_rising_function(sides: tuple[np.ndarray, np.ndarray]) -> None:
    predictions, gold = sides
    before = METRICS["spearman"](predictions, gold)
    assert METRICS["spearman"](predictions**3, gold) == pytest.approx(before, abs=1e-12)


@given(CLASSES, st.randoms(use_true_random=False))
def test_law_matthews_ignores_the_names_of_classes(sides: tuple[np.ndarray, np.ndarray], random) -> None:  # type: ignore[no-untyped-def]
    predictions, gold = sides
    names = np.array(random.sample(range(4), 4))
    before = METRICS["matthews"](predictions, gold)
    assert METRICS["matthews"](names[predictions], names[gold]) == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("name", sorted(set(METRICS) - LOWER_IS_BETTER))
def test_law_being_right_scores_one(name: str) -> None:
    gold = np.array([[0, 2], [1, 4], [3, 5]]) if name.startswith("span") else np.array([0, 1, 1, 0, 1])
    assert METRICS[name](gold, gold) == pytest.approx(1.0)


def test_known_always_paraphrase_on_mrpc() -> None:
    """279 of the 408 dev pairs are paraphrases: accuracy .684 and F1 .812 without reading."""
    gold = np.repeat([1, 0], [279, 129])
    found = evaluate(["accuracy", "f1", "matthews"], np.ones(408, dtype=int), gold)
    assert round(found["accuracy"], 3) == 0.684
    assert round(found["f1"], 3) == 0.812
    assert found["matthews"] == 0.0
    assert collapsed(np.ones(408, dtype=int))


def test_known_confusion_by_hand() -> None:
    """3 true positives, 1 false positive, 2 false negatives, 4 true negatives."""
    predictions = np.repeat([1, 1, 0, 0], [3, 1, 2, 4])
    gold = np.repeat([1, 0, 1, 0], [3, 1, 2, 4])
    found = evaluate(["accuracy", "f1", "macro_f1", "matthews"], predictions, gold)
    assert found["accuracy"] == pytest.approx(7 / 10)
    assert found["f1"] == pytest.approx(6 / 9)
    assert found["macro_f1"] == pytest.approx((6 / 9 + 8 / 11) / 2)
    assert found["matthews"] == pytest.approx((3 * 4 - 1 * 2) / np.sqrt(4 * 5 * 5 * 6))


def test_known_matthews_stays_exact_where_products_of_counts_overflow_an_int32() -> None:
    gold = np.arange(390_965) % 2  # as many rows as QQP's test set
    predictions = np.where(np.arange(390_965) % 5 == 0, 1 - gold, gold)  # a fifth of either class is wrong
    assert METRICS["matthews"](predictions, gold) == pytest.approx(0.6, abs=1e-4)


def test_known_spans_score_by_shared_places() -> None:
    gold = np.array([[2, 6], [0, 3], [5, 7], [4, 4]])
    predictions = np.array([[4, 8], [0, 3], [1, 3], [4, 4]])  # half over, exact, elsewhere, both "no answer"
    found = evaluate(["span_f1", "span_exact"], predictions, gold)
    assert found["span_f1"] == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert found["span_exact"] == pytest.approx(0.5)


def test_known_tags_without_gold_are_not_counted() -> None:
    gold = np.array([[1, IGNORED, 2], [0, IGNORED, IGNORED]])
    predictions = np.array([[1, 5, 0], [0, 7, 7]])
    assert evaluate(["tag_accuracy"], predictions, gold)["tag_accuracy"] == pytest.approx(2 / 3)
    nothing = np.full((2, 3), IGNORED)
    assert evaluate(["tag_accuracy"], predictions, nothing)["tag_accuracy"] == 0.0


@pytest.mark.parametrize("value", [0.0, 2.7, -1e9, 1e-30])
def test_known_constant_prediction_is_flagged_and_correlates_with_nothing(value: float) -> None:
    gold = np.linspace(0, 5, 100)
    noise = np.random.default_rng(0).uniform(-1, 1, 100)
    predictions = value * (1 + 1e-7 * noise)  # what float32 makes of a constant
    found = evaluate(["pearson", "spearman"], predictions, gold)
    assert collapsed(predictions)
    assert found == {"pearson": 0.0, "spearman": 0.0}
    assert evaluate(["pearson"], gold, np.full(100, value)) == {"pearson": 0.0}


def test_known_what_is_not_collapsed() -> None:
    assert not collapsed([1])  # one example tells nothing
    assert not collapsed([0, 0, 0, 1])
    assert not collapsed([1e-9, 3e-9])
    assert not collapsed(np.array([[1, 2], [1, 3]]))
    assert collapsed(np.array([[1, 2], [1, 2]]))


def test_known_unknown_metric_names_the_near_one() -> None:
    with pytest.raises(UserError, match=r"no metric called 'matthew'; did you mean 'matthews'\?"):
        evaluate(["matthew"], [0, 1], [0, 1])
    with pytest.raises(UserError, match="there are: accuracy, f1"):
        evaluate(["zzz"], [0, 1], [0, 1])


def test_known_hidden_labels_are_refused_with_their_place() -> None:
    with pytest.raises(UserError, match=r"example 2 .*gold label -1"):
        evaluate(["accuracy"], [0, 1, 1], [0, 1, -1])
    with pytest.raises(UserError, match=r"example 1 .*gold label -100"):
        evaluate(["tag_accuracy"], [[0, 1], [1, 1]], [[0, -1], [1, -100]])


def test_known_misuse_is_refused() -> None:
    with pytest.raises(UserError, match=r"two classes and the class ids go up to 2"):
        evaluate(["f1"], [0, 1], [2, 1])
    with pytest.raises(UserError, match=r"prediction 1 .* is nan"):
        evaluate(["pearson"], [0.0, np.nan, 1.0], [0.0, 1.0, 2.0])
    with pytest.raises(UserError, match=r"gold value 0 .* is inf"):
        evaluate(["rmse"], [0.0, 1.0], [np.inf, 2.0])
    with pytest.raises(ValueError, match="integers"):
        evaluate(["accuracy"], [0.2, 0.7], [0, 1])
    with pytest.raises(ValueError, match="one shape"):
        evaluate(["accuracy"], [0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="hold something"):
        evaluate(["accuracy"], np.zeros(0, dtype=int), np.zeros(0, dtype=int))
    with pytest.raises(ValueError, match="spans"):
        evaluate(["span_f1"], [0, 1], [0, 1])
