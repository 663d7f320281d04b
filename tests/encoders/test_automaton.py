"""The automaton against its formula written out, and its scale over thousands of words."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import tiny
from psitext.assemble import build_encoder
from psitext.encoders.automaton import Automaton, AutomatonConfig
from psitext.text.batches import Batch

SHAPE = tiny.RECURRENT["automaton"]
LENGTHS = [7, 3, 12, 2, 16]


def formula(encoder: Automaton, batch: Batch) -> Tensor:
    """One text and one word at a time, matrix by matrix."""
    states = []
    for x in tiny.words_of(encoder, batch):
        h = encoder.first
        for word in x:
            matrix = encoder.core[:, -1].mT + sum(value * encoder.core[:, s].mT for s, value in enumerate(word))
            h = matrix @ h
        states.append(h)
    return torch.stack(states)


def grown(changes: dict[str, object]) -> Automaton:
    encoder = build_encoder(SHAPE.model_copy(update=changes)).double()
    assert isinstance(encoder, Automaton)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return encoder


@pytest.mark.parametrize("changes", [{}, {"pad": "word"}])
def test_parity_with_the_formula_and_its_gradient(changes: dict[str, object]) -> None:
    encoder, batch = grown(changes), tiny.batch(LENGTHS)
    state, expected = encoder(batch), formula(encoder, batch)
    assert_close(state.to_real(), expected, rtol=1e-11, atol=1e-12)
    assert state.log_scale.any(), "nothing was rescaled"
    weights = torch.randn_like(expected)
    names = [name for name, _ in encoder.named_parameters()]
    ours, theirs = (
        torch.autograd.grad((found * weights).sum(), list(encoder.parameters()), retain_graph=True)
        for found in (state.to_real(), expected)
    )
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert_close(one, other, rtol=1e-9, atol=1e-9, msg=name)


@pytest.mark.parametrize("scale", [3.0, 0.01])
def test_law_two_thousand_words_stay_finite(scale: float) -> None:
    torch.manual_seed(0)
    encoder = Automaton(AutomatonConfig(vocab_size=50, features=3, bond=8, max_len=2002))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_(std=scale)
    state = encoder(tiny.batch([2002, 1500, 2]))
    assert torch.isfinite(state.vector).all() and torch.isfinite(state.log_scale).all()
    assert abs(float(state.log_scale.detach()[0])) > 100
    assert_close(state.to_ket().probabilities().sum(1), torch.ones(3))
    state.to_ket().vector.real.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in encoder.parameters())


def test_known_a_fresh_one_keeps_a_state_nearly_as_it_is() -> None:
    state = build_encoder(SHAPE)(tiny.batch([16]))
    assert_close(state.to_real(), torch.full((1, 5), 5**-0.5), rtol=0.3, atol=0.3)
