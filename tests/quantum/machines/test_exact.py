"""Exact circuits against plain linear algebra, up to the 10 qubits of a width of 768."""

from __future__ import annotations

import numpy as np
import pytest

from kets import haar, module
from psitext.quantum import from_head, ideal, measure
from psitext.quantum.circuits import mps


@pytest.mark.parametrize(
    ("width", "config"),
    [
        (8, {}),
        (6, {"groups": 4}),
        (256, {"groups": 4}),
        (768, {}),
        (256, {"unitary": "circuit", "layers": 3, "entangler": "cx-ring"}),
        (12, {"unitary": "circuit", "layers": 2, "groups": 2}),
    ],
    ids=str,
)
def test_parity_a_circuit_gives_what_the_network_gives(width: int, config: dict[str, object]) -> None:
    head = from_head(module(width, init_std=1 / np.sqrt(width), **config))
    run = measure(head, head.kets(haar(10, 2, width=width)), ideal(), None)
    assert np.abs(run.found - run.exact).max() <= 1e-10
    assert np.abs(run.logits - run.exact_logits).max() <= 1e-10
    assert run.agreement == 1 and run.shots is None


def test_law_a_matrix_product_state_is_run_as_it_is() -> None:
    """The circuit's answers are those of the truncated ket, and its fidelity is told."""
    head, kets = from_head(module(32)), haar(5, 3)
    run = measure(head, kets, ideal(), None, bond=2)
    for ket, found, fidelity in zip(kets, run.found, run.fidelity, strict=True):
        chain = mps.chain(ket, 2)
        state = np.zeros(32, dtype=complex)
        state[0] = 1
        for place, gate in enumerate(chain.gates):
            state = np.einsum("xy,fyb->fxb", gate, state.reshape(1 << place, 4, -1)).ravel()
        np.testing.assert_allclose(found, head.probabilities(state[None])[0], atol=1e-10)
        assert fidelity == chain.fidelity < 0.9
    assert run.distances.mean() > 0.05
