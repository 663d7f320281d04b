"""Sentences through a head: batches, outcomes, and what a run says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from qiskit.providers.fake_provider import GenericBackendV2
from torch import nn

from kets import haar, module
from psitext.errors import UserError
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.quantum import from_head, from_model, ideal, measure, noisy, run, to_circuit
from psitext.quantum.machines.noise import Noise
from psitext.state import SentenceState


@dataclass
class Stub:
    """As much of a model as circuits ask for: texts become vectors of their letters."""

    head: nn.Module
    width: int
    task: Any = None
    network: Any = field(init=False)

    def __post_init__(self) -> None:
        self.network = self

    def encode(self, texts: list[str], pairs: list[str] | None = None) -> SentenceState:
        rows = [haar(4, 1, seed=sum(map(ord, text)), width=self.width)[0] for text in texts]
        return SentenceState(torch.from_numpy(np.stack(rows).astype(np.complex64)))


TEXTS = [f"text {number}" for number in range(20)]


def test_law_texts_are_run_in_their_order_over_batches() -> None:
    model = Stub(module(12, 3).float(), 12)
    found = run(model, TEXTS, shots=4_000)
    assert found.found.shape == (20, 12) and found.logits.shape == (20, 3)
    assert (found.distances < 0.06).all()
    with torch.no_grad():
        expected = model.head(model.encode(TEXTS), None)["logits"].numpy()
    np.testing.assert_allclose(found.exact_logits, expected, atol=2e-4)
    assert found.described().startswith("4,000 shots, ideal machine, 4 qubits, ")


def test_law_shots_converge() -> None:
    head, kets = from_head(module(8)), haar(3, 20)
    few, many = (measure(head, kets, ideal(), shots).distances.mean() for shots in (100, 10_000))
    assert 5 < few / many < 20  # by sqrt(100)


def test_known_what_distance_and_agreement_are() -> None:
    found = measure(from_head(module(8)), haar(3, 6), noisy(Noise(0.9)), 200)
    np.testing.assert_allclose(found.distances, np.maximum(found.found - found.exact, 0).sum(1), atol=1e-12)
    same = found.logits.argmax(1) == found.exact_logits.argmax(1)
    assert found.agreement == same.mean() < 1


def test_law_errors_that_leave_the_width_are_seen() -> None:
    head = from_head(module(6))
    found = measure(head, head.kets(haar(3, 4, width=6)), noisy(Noise(0.2)), 5_000)
    assert (found.kept < 0.95).all()
    np.testing.assert_allclose(found.found.sum(1), 1, atol=1e-12)
    assert measure(head, head.kets(haar(3, 1, width=6)), ideal(), 100).kept == pytest.approx(1)


def test_law_a_models_circuit_is_its_head_behind_a_text() -> None:
    model = Stub(module(8, groups=2).float(), 8)
    assert to_circuit(model).num_qubits == 3
    assert "state_preparation" not in to_circuit(model).count_ops()
    assert "state_preparation" in to_circuit(model, "a text", bond=2).count_ops()


def test_known_what_is_refused() -> None:
    affine = Stub(SequenceHead(16, 2, AffineConfig()), 8)
    with pytest.raises(UserError, match="this model's head is no measurement, and so no circuit"):
        from_model(affine)
    model = Stub(module(8).float(), 8)
    with pytest.raises(UserError, match="a backend has its own noise"):
        run(model, TEXTS, shots=5, backend=GenericBackendV2(3, seed=1), noise="depolarizing:0.1")
    with pytest.raises(UserError, match="cannot read states of width 6"):
        run(Stub(module(8).float(), 6), TEXTS)
