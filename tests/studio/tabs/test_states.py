"""Sentences as states: parity with plain linear algebra, frozen results, and the words."""

from __future__ import annotations

import numpy as np
import pytest

from psitext.studio.models import STATES, Shelf
from psitext.studio.tabs import states

TEXTS = ["a gripping funny film", "a dull slow film", "the plot is thin"]


@pytest.mark.parametrize("name", ["measured", "rac", "space"])
def test_parity_with_linear_algebra(shelf: Shelf, models: dict[str, str], name: str) -> None:
    model = shelf.model(models[name], STATES)
    found = states.look(model, TEXTS[:2])
    vectors = model.encode(TEXTS[:2]).to_real().double().numpy()
    kets = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(found.probabilities, kets**2, atol=1e-6)
    assert np.allclose(found.fidelities, (kets @ kets.T) ** 2, atol=1e-6)
    padded = np.pad(kets, ((0, 0), (0, (1 << found.qubits) - kets.shape[1])))
    for cut in range(1, found.qubits):
        weights = np.linalg.svd(padded.reshape(2, 1 << cut, -1), compute_uv=False) ** 2
        entropy = -(weights * np.log2(np.where(weights > 0, weights, 1))).sum(1)
        assert np.allclose(found.entropy_bits[:, cut - 1], entropy, atol=1e-5)


def test_known_words_of_a_look() -> None:
    found = states.Look(
        ("one <b>", "two"),
        np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]),
        np.array([[1.0, 0.5], [0.5, 1.0]]),
        np.array([[0.25], [0.0]]),
        2,
        (False, True),
    )
    told = states.told(found)
    assert "one of 3 basis states (2 qubits, the rest of which are zeros)" in told
    assert (
        '<th scope="row">1. one &lt;b&gt;</th><td>0</td><td>00</td><td class="psi-number">0.500</td><td>2.0</td>'
        in told
    )
    assert "cut there: sentence 2." in told
    assert told.count("<svg role") == 2 and told == states.told(found), "the same look is the same page"


def test_known_words_that_the_vocabulary_lacks_are_listed_once() -> None:
    from psitext.model import load

    found = states.look(load("bert-tiny"), ["a \u65e5\u672c\u8a9e film \U0001f600", "\U0001f600 a film"])
    assert found.unknown == ("\u65e5\u672c\u8a9e", "\U0001f600")
    told = states.told(found)
    assert "Words that the model does not know: \u65e5\u672c\u8a9e, \U0001f600." in told


def test_known_a_single_sentence_has_no_fidelities(shelf: Shelf, models: dict[str, str]) -> None:
    told = states.told(states.look(shelf.model(models["measured"], STATES), TEXTS[:1]))
    assert "Fidelities" not in told and "Entanglement" in told
