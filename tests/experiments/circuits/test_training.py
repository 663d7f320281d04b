"""A model whose head is trained on a machine."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("qiskit_aer", reason="needs psitext[quantum]")

from kets import examples, model
from psitext.experiments.circuits.training import rows, trained
from psitext.quantum import Course, ideal


def test_law_a_head_learns_and_the_model_given_stays_as_it_was() -> None:
    found, some = model(8, unitary="circuit", layers=2), examples(10)
    before = {name: value.clone() for name, value in found.network.state_dict().items()}
    better, result = trained(found, found.asked(), some, Course("spsa", 12, 0.1, shots=None), ideal())
    assert all(torch.equal(value, before[name]) for name, value in found.network.state_dict().items())
    changed = {name for name, value in better.network.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"head.turn.angles", "head.output.weight", "head.output.bias"}
    loss = torch.nn.functional.cross_entropy
    gold = torch.tensor([index % 2 for index in range(10)])
    first, last = (float(loss(torch.from_numpy(each.logits(some)), gold)) for each in (found, better))
    assert first == pytest.approx(result.losses[0], abs=1e-4) and last < 0.9 * first
    assert better.facts["trained on"] == "ideal, spsa, 12 steps"
    shown = rows(result)
    assert [row["step"] for row in shown] == [0, 2, 3, 5, 6, 8, 9, 11]
