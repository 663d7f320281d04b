"""Contexts and sentences in one space: each group by its own encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import talks
from psitext.encoders.fusion import Joint, freeze_lower
from psitext.text.dialogs import ContextSource, DialogSource
from psitext.text.twofold import TwofoldSource

SAMPLES = np.array([4, 0, 17, 2])


def test_law_every_group_is_encoded_as_if_it_were_alone() -> None:
    sentences, contexts, said = talks.encoder(0), talks.encoder(1), talks.gathered()
    state = Joint(sentences, contexts)(DialogSource(said, talks.reader(), talks.writer()).build(SAMPLES))
    first = contexts(ContextSource(said.contexts, talks.reader()).build(SAMPLES))
    second = sentences(TwofoldSource(said.responses, talks.reader(), talks.writer()).build(SAMPLES))
    assert state.vector.shape == (8, talks.LATENT)
    assert torch.allclose(state.vector, torch.cat([first.vector, second.vector]), atol=1e-6)
    assert torch.allclose(state.log_var, torch.cat([first.log_var, second.log_var]), atol=1e-6)


def test_law_who_said_what_matters() -> None:
    one, said = talks.encoder(1), talks.gathered()
    batch = ContextSource(said.contexts, talks.reader()).build(SAMPLES)
    before = one(batch).vector
    batch.segments.copy_(1 - batch.segments)
    assert not torch.allclose(one(batch).vector, before, atol=1e-3)


def test_law_frozen_layers_get_no_gradient() -> None:
    one = talks.encoder()
    freeze_lower(one.trunk, 1)
    trained = {name for name, value in one.named_parameters() if value.requires_grad}
    assert all(name.startswith(("trunk.blocks.1.", "posterior")) for name in trained)
    assert any(name.startswith("trunk.blocks.1.") for name in trained)
    whole = talks.encoder()
    freeze_lower(whole.trunk, 0)
    assert all(value.requires_grad for value in whole.parameters())
    with pytest.raises(ValueError, match="of 2 layers 3"):
        freeze_lower(one.trunk, 3)


def test_law_two_encoders_make_latents_of_one_width() -> None:
    other = talks.encoder()
    config = other.config.model_copy(update={"latent": 3})
    with pytest.raises(ValueError, match="one width"):
        Joint(type(other)(config), talks.encoder())
