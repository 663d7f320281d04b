"""Affine heads: they read the places they should read, of any state, in any layout."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext.errors import UserError
from psitext.heads.affine import AffineConfig, SequenceHead, SpanHead, TokenHead, tokens_of
from psitext.state import Posterior, SentenceState

QUIET = AffineConfig(dropout=0)
LENGTHS = [9, 3, 16, 5, 12, 4]


def random(head: torch.nn.Module) -> torch.nn.Module:
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_()
    return head


def test_parity_a_sequence_head_is_affine() -> None:
    head = random(SequenceHead(6, 3, QUIET))
    state = SentenceState(torch.randn(4, 6))
    logits = head(state, tiny.batch([2]))["logits"]
    assert_close(logits, state.vector @ head.output.weight.T + head.output.bias)


def test_law_a_sequence_head_reads_any_state() -> None:
    batch, real = tiny.batch([2]), torch.randn(4, 3)
    assert random(SequenceHead(3, 1, QUIET))(Posterior(real, real), batch)["logits"].shape == (4, 1)
    head = random(SequenceHead(6, 2, QUIET))
    state = SentenceState(torch.complex(real, real.square()))
    expected = torch.cat([real, real.square()], -1) @ head.output.weight.T + head.output.bias
    assert_close(head(state, batch)["logits"], expected)
    assert_close(head(state.to_ket(), batch)["logits"].shape, (4, 2))


@pytest.mark.parametrize("row", [None, 24])
def test_parity_a_token_head_tags_every_token(row: int | None) -> None:
    encoder, head, batch = tiny.bert(), random(TokenHead(16, 5, QUIET)), tiny.batch(LENGTHS, row=row)
    with torch.no_grad():
        state = encoder(batch)
        logits = head(state, batch)["token_logits"]
    assert logits.shape == (*batch.ids.shape, 5)
    assert_close(logits, state.tokens @ head.output.weight.T.detach() + head.output.bias.detach())


@pytest.mark.parametrize("row", [None, 24])
def test_law_an_answer_lies_in_the_second_text(row: int | None) -> None:
    encoder, head, batch = tiny.bert(), random(SpanHead(16, QUIET)), tiny.batch(LENGTHS, row=row)
    with torch.no_grad():
        state = encoder(batch)
        logits = head(state, batch)["span_logits"]
    assert logits.shape == (6, 16, 2)
    for at, length in enumerate(LENGTHS):
        half = (length + 1) // 2  # where the second text of these batches begins
        assert torch.isinf(logits[at, :half]).all() and torch.isinf(logits[at, length:]).all()
        start = int(batch.starts[at])
        passage = state.tokens.flatten(0, 1)[start + half : start + length]
        assert_close(logits[at, half:length], (passage @ head.output.weight.T + head.output.bias).detach())
    apart = head(encoder(tiny.batch(LENGTHS)), tiny.batch(LENGTHS))["span_logits"]
    assert_close(logits, apart.detach())


def test_law_double_precision_stays_double() -> None:
    encoder, batch = tiny.bert().double(), tiny.batch(LENGTHS)
    state = encoder(batch)
    for head in (SequenceHead(16, 2, QUIET), TokenHead(16, 2, QUIET), SpanHead(16, QUIET)):
        (values,) = head.double()(state, batch).values()
        assert values.dtype == torch.float64, type(head).__name__


def test_law_dropout_acts_in_training_only() -> None:
    batch = tiny.batch(LENGTHS)
    state = tiny.bert()(batch)
    for head in (SequenceHead(16, 2, AffineConfig(dropout=0.5)), TokenHead(16, 2, AffineConfig(dropout=0.5))):
        first, second = (head.train()(state, batch) for _ in range(2))
        assert not torch.equal(*first.values(), *second.values())
        first, second = (head.eval()(state, batch) for _ in range(2))
        assert torch.equal(*first.values(), *second.values())


def test_known_a_head_starts_small_and_without_bias() -> None:
    torch.manual_seed(0)
    for head in (SequenceHead(500, 20, QUIET), TokenHead(500, 20, QUIET)):
        weight, bias = head.output.weight.detach(), head.output.bias.detach()
        assert abs(weight.std().item() - 0.02) < 1e-3
        assert torch.equal(bias, torch.zeros(20))


def test_known_a_state_without_tokens_cannot_be_tagged() -> None:
    batch = tiny.batch([2])
    for state in (SentenceState(torch.zeros(1, 16)), Posterior(torch.zeros(1, 16), torch.zeros(1, 16))):
        with pytest.raises(UserError, match=f"a {type(state).__name__} has no token states"):
            tokens_of(state)
        with pytest.raises(UserError, match="no token states"):
            TokenHead(16, 2, QUIET)(state, batch)
