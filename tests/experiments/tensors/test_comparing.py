"""A compressed model beside others: errors and scores against numbers made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import racs
from psitext.errors import UserError
from psitext.experiments.tensors import comparing
from psitext.text.examples import Example

TEXTS = ["a fine film", "odd", "not a fine cast", "an odd plot"]


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_known_a_row_for_each_model(classes: int) -> None:
    model = racs.model(classes)
    labels = racs.LABELS[classes]
    examples = [
        Example(text=text, label=labels[at % len(labels)] if labels else float(at)) for at, text in enumerate(TEXTS)
    ]
    smaller = model.compress(2)
    other = racs.model(classes, seed=3, bond=6)
    splits = {"dev": examples, "test": examples[:3]}
    rows = comparing.rows(model, [smaller, model.compress(3)], splits, {"runs/other": other})
    assert [row["model"] for row in rows] == ["circuit", "compressed", "compressed", "runs/other"]
    assert [row["bond"] for row in rows] == [5, 2, 3, 7]
    larger = rows.pop(2)
    assert larger["predicted error"] < smaller.predicted_error
    # 4 x 4 + 4 + 4 x 3 + 4 of the circuit; a core 2 x 4 x 2 and a first state of 2; K x D and K of the heads.
    assert [row["weights"] for row in rows[:2]] == [36 + 6 * classes, 18 + 3 * classes]
    assert [row["predicted error"] for row in rows] == [0.0, smaller.predicted_error, ""]
    headline = model.asked().headline
    for split, some in (("dev", examples), ("test", examples[:3])):
        logits, others = (one.logits(some).astype(float) for one in (model, smaller.model))
        if classes == 2:
            exact, found = (values[:, 1] - values[:, 0] for values in (logits, others))
        elif classes == 3:
            exact, found = (values - values.mean(1, keepdims=True) for values in (logits, others))
        else:
            exact, found = logits, others
        error = np.sqrt(((exact - found) ** 2).sum() / (exact**2).sum())
        assert rows[1][f"{split}: measured error"] == pytest.approx(error, rel=1e-6)
        assert rows[0][f"{split}: measured error"] == 0.0 and rows[2][f"{split}: measured error"] == ""
        for row, one in zip(rows, (model, smaller.model, other), strict=True):
            assert row[f"{split}: {headline}"] == pytest.approx(one.evaluate(some)[headline], nan_ok=True)


def test_law_a_model_of_other_labels_is_no_comparison() -> None:
    model = racs.model(2)
    with pytest.raises(UserError, match="runs/x answers mood, which has other labels than mood"):
        comparing.rows(model, [model.compress(2)], {}, {"runs/x": racs.model(3)})
    assert len(comparing.rows(model, [model.compress(2)], {}, {"runs/y": replace(racs.model(2), temperature=2.0)})) == 3
