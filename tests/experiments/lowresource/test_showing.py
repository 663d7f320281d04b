"""Tables and figures of few labels and of pictures, from result lines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from psitext.experiments.lowresource import showing
from psitext.experiments.lowresource.injection import curve
from psitext.experiments.lowresource.plane import AGREE, SILHOUETTE
from psitext.experiments.results.lines import ResultLine


def line(run: str, metrics: dict[str, float], **notes: Any) -> ResultLine:
    return ResultLine(
        run=run, task="yelp", split="test", metrics=metrics, recipe="0" * 12, seed=0, seconds=1.0, threads=1,
        commit="x", versions={}, finished="2026-01-01T00:00:00+00:00", notes=notes,
    )  # fmt: skip


def few(run: str, trials: dict[str, list[float]]) -> ResultLine:
    return line(run, {"accuracy at 1": 0.5}, metric="accuracy", trials=trials)


SPACE = few("space", {"1": [0.6, 0.5, 0.7], "10": [0.8, 0.82], "1000": [0.9]})
BERT = few("BERT", {"1": [0.5, 0.45, 0.55], "10": [0.81, 0.79], "1000": [0.85]})
TUNED = few("tuned", {"10": [0.7, 0.9]})
QUEUE: Any = SimpleNamespace(
    runs=[
        SimpleNamespace(name="space", how="few-labels", against=("BERT", "absent")),
        SimpleNamespace(name="BERT", how="few-labels", against=()),
        SimpleNamespace(name="tuned", how="few-labels-tuned", against=()),
    ]
)


def test_parity_interval_with_scipy() -> None:
    values = [0.2, 0.4, 0.9, 0.5]
    mean, half = showing.t_interval(values)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert half is not None
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert showing.t_interval([0.3]) == (0.3, None)


def test_known_tables() -> None:
    scores, differences = showing.tables(QUEUE, [SPACE, BERT, TUNED])
    assert scores.title == "Accuracy by labels of each class"
    assert scores.head == ["", "1", "10", "1,000"]
    assert scores.rows[0] == ["space", "0.600 ± 0.248", "0.810 ± 0.127", "0.900"]
    assert scores.rows[2] == ["tuned", "", "0.800 ± 1.271", ""]
    # Pairs: 0.1, 0.05, 0.15 with t = 4.303 and sd = 0.05; a trial alone has no interval.
    assert differences.rows == [["space less BERT", "+0.100 (-0.024 to +0.224)", "+0.010 (-0.244 to +0.264)", "+0.050"]]


def test_known_figure_of_curves() -> None:
    (drawing,) = showing.drawings(QUEUE, [SPACE, BERT, TUNED]).values()
    ElementTree.fromstring(drawing)
    for text in ("space", "BERT", "tuned", "accuracy", "1,000", "encoder as it is", "fine-tuned"):
        assert text in drawing, text
    assert showing.drawings(QUEUE, []) == {}


def test_known_figure_and_table_of_planes() -> None:
    random = np.random.default_rng(0)
    points = [[float(x), float(y), number % 2] for number, (x, y) in enumerate(random.standard_normal((30, 2)))]
    notes = {"points": points, "labels": ["negative", "positive"], "width": 32}
    some = [line(run, {AGREE: 0.75, SILHOUETTE: 0.1}, **notes) for run in ("space", "BERT")]
    (drawing,) = showing.drawings(QUEUE, some).values()
    ElementTree.fromstring(drawing)
    for text in ("space: 75.0% of neighbours agree, silhouette 0.100", "negative", "positive"):
        assert text in drawing, text
    (table,) = showing.tables(QUEUE, some)
    assert table.rows[0] == ["space", "32", "0.750", "0.100"]


def test_known_curve_of_held_out_sentences() -> None:
    events = [
        {"kind": "train", "step": 10, "tokens": 90, "loss_rec": 50.0},
        {"kind": "dev", "step": 10, "rec": 40.0, "kl": 3.0, "token_accuracy": 0.5, "neg_elbo": 43.0},
        {"kind": "train", "step": 20, "tokens": 180, "loss_rec": 30.0},
        {"kind": "dev", "step": 20, "rec": 30.0, "kl": 5.0, "token_accuracy": 0.6, "neg_elbo": 35.0},
    ]
    assert curve(events) == [
        {"step": 10, "tokens": 90, "rec": 40.0, "kl": 3.0, "token accuracy": 0.5},
        {"step": 20, "tokens": 180, "rec": 30.0, "kl": 5.0, "token accuracy": 0.6},
    ]
