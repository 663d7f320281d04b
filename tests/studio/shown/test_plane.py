"""Points in a plane: all inside, each with its text, labels told apart."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from psitext.studio.shown import plane


def drawing(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg role") :])


@pytest.mark.parametrize("at", [np.zeros((3, 2)), np.array([[0, 0], [1e6, 1], [-5, 2e6]]), np.eye(3, 2) * 1e-9])
def test_law_points_lie_inside_at_one_scale(at: np.ndarray) -> None:
    found = plane._fitted(at)
    assert (found >= plane.EDGE - 1e-6).all()
    assert (found <= np.array([plane.WIDTH, plane.HEIGHT]) - plane.EDGE + 1e-6).all()
    old, new = (np.linalg.norm(some[:, None] - some, axis=-1) for some in (at, found))
    assert np.allclose(new * old.max(), old * new.max()), "distances keep their ratios"


def test_known_labels_have_looks_and_texts_are_told() -> None:
    at = np.arange(8.0).reshape(4, 2)
    html = plane.points(at, ["<one>", "two", "t" * 200, "four"], ["a", "b", "a", "b & c"], [2, 0], "four points")
    found = drawing(html)
    titles = [node.text or "" for node in found.iter("title")]
    assert titles[:2] == ["a: <one>", "b: two"] and len(titles[2]) == plane.SHORT + 3
    kinds = [node.get("class") for node in found if str(node.get("class")).startswith("psi-kind")]
    assert kinds == ["psi-kind-0", "psi-kind-1", "psi-kind-0", "psi-kind-2"]
    rings = [node for node in found if node.get("class") == "psi-ring"]
    assert ["".join(ring.itertext()) for ring in rings] == ["1", "2"]
    assert html.count("<li>") == 3 and "b &amp; c" in html


def test_known_rare_labels_share_a_look() -> None:
    names = [str(number) for number in range(20) for _ in range(20 - number)]
    found = plane.named(names)
    assert found == ["0", "1", "2", "3", "4", "5", "6", plane.OTHERS]
    assert plane._kind("19", found) == plane.KINDS - 1
    assert plane.named(None) == []
    assert plane.named(["x"]) == ["x"]
