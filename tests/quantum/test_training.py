"""Training on a machine: gradients against autograd, and both ways learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import Course, from_head, ideal, measure, train
from psitext.quantum.training import _shift, angles_of, assign, plateau, with_angles
from psitext.state import SentenceState

CONFIG = {"unitary": "circuit", "layers": 2, "entangler": "cx-ring"}
KETS = haar(2, 8)
GOLD = (np.abs(KETS[:, 0]) ** 2 + np.abs(KETS[:, 1]) ** 2 > 0.5).astype(int)


def test_parity_parameter_shift_is_the_gradient() -> None:
    module_ = module(4, 2, **CONFIG)
    head, gold = from_head(module_), torch.from_numpy(GOLD)
    loss = F.cross_entropy(module_(SentenceState(torch.from_numpy(KETS)), None)["logits"], gold)  # type: ignore[arg-type]
    loss.backward()
    probs = torch.from_numpy(head.probabilities(KETS)).requires_grad_()
    F.cross_entropy(probs @ torch.from_numpy(head.weight).T + torch.from_numpy(head.bias), gold).backward()
    assert probs.grad is not None

    def readings(angles: np.ndarray, key: int) -> np.ndarray:
        return measure(with_angles(head, angles), KETS, ideal(), None).found

    found = _shift(angles_of(head), readings, probs.grad.numpy())
    expected = module_.turn.angles.grad.flip(-1).reshape(-1).numpy()  # type: ignore[union-attr]
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found, expected, atol=1e-10)


COURSES = [
    Course("parameter-shift", 4, 0.3, shots=None),
    Course("parameter-shift", 3, 0.3, shots=400),
    Course("spsa", 12, 0.2),
]


@pytest.mark.parametrize("course", COURSES, ids=lambda course: f"{course.method}, {course.shots} shots")
def test_law_the_loss_falls(course: Course) -> None:
    found = train(from_head(module(4, 2, **CONFIG)), KETS, GOLD, course)
    assert len(found.losses) == course.steps
    assert found.losses[-1] < 0.8 * found.losses[0]
    runs = 1 + (2 if course.method == "spsa" else 2 * 8)
    assert found.circuits == course.steps * runs * len(KETS)


def test_law_the_seed_decides_everything() -> None:
    first, same, other = (
        train(from_head(module(4, 2, **CONFIG)), KETS, GOLD, Course("spsa", 2, shots=50, seed=seed)).losses
        for seed in (1, 1, 2)
    )
    assert first == same != other


def test_law_scores_are_learnt_too() -> None:
    head = from_head(module(4, 1, **CONFIG))
    found = train(head, KETS, np.linspace(0, 1, 8), Course("spsa", 15, 0.1, None))
    assert found.losses[-1] < found.losses[0]


def test_law_what_was_trained_goes_back_into_the_module() -> None:
    module_ = module(4, 2, **CONFIG)
    found = train(from_head(module_), KETS, GOLD, Course("spsa", 3, 0.2, None)).head
    assign(module_, found)
    again = from_head(module_)
    np.testing.assert_allclose(angles_of(again), angles_of(found), atol=1e-12)
    np.testing.assert_allclose(again.weight, found.weight, atol=1e-12)
    np.testing.assert_allclose(again.probabilities(KETS), found.probabilities(KETS), atol=1e-12)


def test_known_gradients_vanish_with_qubits() -> None:
    rows = plateau((2, 4, 6), 8, samples=100)
    assert [row["qubits"] for row in rows] == [2, 4, 6]
    assert rows[0]["ratio"] is None
    assert all(0.1 < row["ratio"] < 0.8 for row in rows[1:])  # type: ignore[operator]


def test_known_a_matrix_has_no_angles() -> None:
    with pytest.raises(UserError, match="no angles to train on a machine"):
        train(from_head(module(4)), KETS, GOLD)
