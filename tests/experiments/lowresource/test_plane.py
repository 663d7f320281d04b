"""States in the plane, and how well labels are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toys
import vaes
from psitext.experiments.lowresource.plane import AGREE, SILHOUETTE, apart, picture, plane
from psitext.experiments.lowresource.protocol import Plane


def blobs(distance: float, count: int = 60, width: int = 5) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % 2
    states = np.random.default_rng(0).standard_normal((count, width))
    states[:, 0] += distance * labels
    return states, labels


def test_known_two_blobs_and_none() -> None:
    far = apart(*blobs(50.0), neighbours=5)
    assert far[AGREE] == 1.0
    assert far[SILHOUETTE] > 0.9
    near = apart(*blobs(0.0, 400), neighbours=5)
    assert near[AGREE] == pytest.approx(0.5, abs=0.06)
    assert near[SILHOUETTE] == pytest.approx(0.0, abs=0.02)


def test_known_by_hand() -> None:
    """Four points on a line, the nearest neighbour of each: of the first two their likes, of the others not."""
    states = np.asarray([[0.0], [1.0], [10.0], [11.0]])
    found = apart(states, np.asarray([0, 0, 0, 1]), neighbours=1)
    assert found[AGREE] == 0.5
    # The silhouettes: (b - a) / max(a, b) with a the mean distance inside the class, b to the other; 0 where alone.
    a, b = np.asarray([5.5, 5.0, 9.5]), np.asarray([11.0, 10.0, 1.0])
    assert found[SILHOUETTE] == pytest.approx(((b - a) / np.maximum(a, b)).sum() / 4)


def test_law_the_same_states_give_the_same_points() -> None:
    states, labels = blobs(50.0)
    settings = Plane(points=60, perplexity=10, neighbours=5)
    first = picture(states, settings)
    assert first.shape == (60, 2)
    assert np.array_equal(first, picture(states, settings))
    assert apart(first, labels, 5)[AGREE] > 0.95


def test_smoke_a_split_in_the_plane(tmp_path: Path) -> None:
    recipe = toys.finetuning(task=str(toys.task_file(tmp_path, "sentiment")), init=str(vaes.space()), encoder=None)
    found = plane(recipe, Plane(points=40, measured=60, perplexity=8, neighbours=5), None)
    assert found.rows == {"dev": 60, "drawn": 40}
    points = np.asarray(found.notes["points"])
    assert points.shape == (40, 3)
    assert points[:, 2].sum() == 20, "as many of each class"
    assert found.notes["labels"] == ["negative", "positive"]
    assert set(found.scores) == {AGREE, SILHOUETTE, f"{AGREE}, plane", f"{SILHOUETTE}, plane"}
