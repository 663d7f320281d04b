"""A classifier on few states: against scikit-learn in the full space, and what its strength is chosen by."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from psitext.baselines.frozen import STRENGTHS
from psitext.experiments.lowresource import readout
from psitext.experiments.lowresource.readout import Floats, Labels, Scale


def made(count: int, width: int, noise: float, classes: int = 2) -> tuple[Floats, Labels]:
    """States whose first ``classes`` numbers tell the class, under noise."""
    random = np.random.default_rng(count + width)
    labels = np.arange(count) % classes
    states = noise * random.standard_normal((count, width))
    states[np.arange(count), labels] += 1.0
    return states, labels


@pytest.mark.parametrize(("count", "width", "classes"), [(12, 40, 2), (60, 8, 2), (15, 40, 3), (2, 5, 2)])
def test_parity_with_the_same_regression_in_all_dimensions(count: int, width: int, classes: int) -> None:
    states, labels = made(count, width, 0.5, classes)
    found = readout.fit(states, labels, seed=0)
    theirs = LogisticRegression(C=found.strength, tol=1e-10, max_iter=50_000).fit(states, labels)
    others, _ = made(200, width, 0.5, classes)
    ours = found.model.predict_proba(others @ found.basis)
    assert ours == pytest.approx(theirs.predict_proba(others), abs=2e-3)
    agreed = (found.predict(others) == theirs.predict(others)).mean()
    assert agreed > 0.98


def test_known_noise_is_regularised_and_a_signal_is_not() -> None:
    clear, labels = made(200, 6, 0.05)
    noise = np.random.default_rng(0).standard_normal((200, 60))
    assert readout.fit(clear, labels, 0).strength == STRENGTHS[-1]
    assert readout.fit(noise, labels, 0).strength <= 1e-3


def test_law_one_sentence_of_a_class_leaves_nothing_to_choose() -> None:
    """The boundary of two sentences is the plane between them, whatever the strength."""
    states, labels = made(2, 10, 0.3)
    found = readout.fit(states, labels, 0)
    assert found.strength == readout.ALONE
    others = np.random.default_rng(1).standard_normal((300, 10))
    nearest = np.stack([((others - one) ** 2).sum(1) for one in states], axis=1).argmin(1)
    assert (found.predict(others) == nearest).mean() > 0.99


def test_known_scale() -> None:
    states = np.asarray([[1.0, 5.0, 2.0], [3.0, 5.0, 6.0]], dtype=np.float32)
    scale = Scale.of(states)
    assert scale.apply(states).tolist() == [[-1, 0, -1], [1, 0, 1]]
    assert scale.apply(np.asarray([[2.0, 6.0, 8.0]], dtype=np.float32)).tolist() == [[0, 1, 2]]
