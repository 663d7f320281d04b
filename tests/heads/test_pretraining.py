"""Pre-training heads: gathered before the projection, tied where asked, in any layout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

import tiny
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.state import SentenceState
from psitext.text.batches import Batch

LENGTHS = [9, 3, 16, 5, 12, 4]


def head_and_batch(
    row: int | None = None, places: tuple[tuple[int, int], ...] = ((0, 1), (2, 7), (4, 0)), **settings: bool
) -> tuple[torch.nn.Module, PretrainingHead, Batch]:
    """An encoder, its head with weights that matter, and a batch that asks for places (sentence, token)."""
    encoder = tiny.bert()
    head = PretrainingHead(encoder, PretrainingConfig(**settings)).eval()
    with torch.no_grad():
        for parameter in head.parameters():
            if parameter is not encoder.token.weight:
                parameter.normal_()
    plain = tiny.batch(LENGTHS, row=row)
    at = np.array([int(plain.starts[sentence]) + token for sentence, token in places], dtype=np.int64)
    return encoder, head, tiny.batch(LENGTHS, row=row, targets={"token_at": at})


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("row", [None, 24])
def test_parity_logits_are_their_formulas(tied: bool, row: int | None) -> None:
    encoder, head, batch = head_and_batch(row, tied=tied)
    with torch.no_grad():
        state = encoder(batch)
        predicted = head(state, batch)
        cut, _ = batch.sequences(state.tokens)
        x = torch.stack([cut[0, 1], cut[2, 7], cut[4, 0]])
        words = head.words
        x = F.gelu(x @ words.transform.weight.T + words.transform.bias)
        x = (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True)
        x = x * words.norm.weight + words.norm.bias
        decoder = encoder.token.weight if tied else words.decoder.weight
        assert_close(predicted["words"], x @ decoder.T + words.decoder.bias, rtol=1e-4, atol=1e-4)
        assert_close(predicted["next"], state.vector @ head.next.weight.T + head.next.bias)
    assert (predicted["words"].shape, predicted["next"].shape) == ((3, tiny.VOCAB), (6, 2))


def test_law_what_is_not_asked_for_is_not_computed() -> None:
    encoder, head, batch = head_and_batch()
    state = encoder(batch)
    spoilt = SentenceState(state.vector, torch.full_like(state.tokens, float("nan")))
    spoilt.tokens.flatten(0, 1)[batch.targets["token_at"]] = state.tokens.flatten(0, 1)[
        batch.targets["token_at"]
    ].detach()
    assert torch.equal(head(spoilt, batch)["words"], head(state, batch)["words"])
    _, head, nothing = head_and_batch(places=())
    assert head(state, nothing)["words"].shape == (0, tiny.VOCAB)


def test_known_tying_shares_one_parameter() -> None:
    encoder, tied, _ = head_and_batch(tied=True)
    assert tied.words.decoder.weight is encoder.token.weight
    encoder, own, _ = head_and_batch(tied=False)
    assert own.words.decoder.weight is not encoder.token.weight
    names = {name for name, _ in own.named_parameters()}
    assert names == {
        "words.transform.weight", "words.transform.bias", "words.norm.weight", "words.norm.bias",
        "words.decoder.weight", "words.decoder.bias", "next.weight", "next.bias",
    }  # fmt: skip


def test_known_next_sentence_can_be_left_out() -> None:
    encoder, head, batch = head_and_batch(next_sentence=False)
    assert head.next is None
    assert set(head(encoder(batch), batch)) == {"words"}


def test_law_initialising_a_tied_head_keeps_the_embedding() -> None:
    encoder = tiny.bert()
    before = encoder.token.weight.detach().clone()
    PretrainingHead(encoder, PretrainingConfig(tied=True))
    assert torch.equal(encoder.token.weight, before)
