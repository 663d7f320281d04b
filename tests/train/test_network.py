"""Encoder and head as one module."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import tiny
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.train.network import Network, parameter_count


def test_law_a_whole_frozen_encoder_never_trains() -> None:
    network = Network(tiny.bert(dropout=0.5), SequenceHead(16, 2, AffineConfig()))
    assert network.train().encoder.training
    network.encoder.requires_grad_(False)
    assert not network.train().encoder.training
    assert network.head.training
    network.encoder.blocks[1].requires_grad_(True)
    assert network.train().encoder.training
    assert not network.eval().head.training


def test_known_forward_gives_prediction_and_state() -> None:
    encoder, batch = tiny.bert(), tiny.batch([5, 3])
    head = SequenceHead(16, 3, AffineConfig(dropout=0))
    prediction, state = Network(encoder, head)(batch)
    torch.testing.assert_close(state.vector, encoder(batch).vector)
    assert torch.equal(prediction["logits"], head(state, batch)["logits"])


@pytest.mark.parametrize("row", [None, 24])
def test_law_sparing_what_no_head_reads_changes_no_gradient(row: int | None) -> None:
    encoder = tiny.bert()
    heads = [SequenceHead(16, 3, AffineConfig(dropout=0)), PretrainingHead(encoder, PretrainingConfig())]
    plain = tiny.batch([9, 3, 12], row=row)
    batch = tiny.batch([9, 3, 12], row=row, targets={"token_at": plain.starts.numpy() + np.array([4, 1, 2])})
    for head in heads:
        network = Network(encoder, head).double()
        own, whole = network(batch)[0], head(encoder(batch), batch)
        assert own.keys() == whole.keys()
        for name, value in own.items():
            torch.testing.assert_close(value, whole[name], rtol=0, atol=1e-12)
            weights = torch.randn_like(value)
            known = [p for p in network.parameters() if p.requires_grad]
            one = torch.autograd.grad(value, known, weights, retain_graph=True, allow_unused=True)
            other = torch.autograd.grad(whole[name], known, weights, retain_graph=True, allow_unused=True)
            for a, b in zip(one, other, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_known_parameters_are_counted_as_real_numbers() -> None:
    encoder = tiny.bert()
    own, tied = (PretrainingHead(encoder, PretrainingConfig(tied=tied)) for tied in (False, True))
    difference = parameter_count(Network(encoder, own)) - parameter_count(Network(encoder, tied))
    assert difference == tiny.VOCAB * 16
    pair = nn.ParameterList([torch.zeros(2, 3, dtype=torch.complex64), torch.zeros(5)])
    assert parameter_count(pair) == 2 * 6 + 5
