"""The baselines of a RAC against their formulas, one text at a time."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext.assemble import build_encoder
from psitext.baselines.recurrent import Recurrent, Vectors

LENGTHS = [7, 3, 12, 2, 16]


@pytest.mark.parametrize("cell", ["tanh", "gru"])
def test_parity_with_torchs_own_text_by_text(cell: str) -> None:
    encoder = build_encoder(tiny.RECURRENT["tanh"].model_copy(update={"cell": cell})).double()
    assert isinstance(encoder, Recurrent)
    batch = tiny.batch(LENGTHS)
    found, (rows, _) = encoder(batch).vector, batch.sequences(batch.ids)
    for row, length, vector in zip(rows, batch.lengths.tolist(), found, strict=True):
        if length == 2:
            assert not vector.any(), "no word leaves the first state"
            continue
        _, last = encoder.net(encoder.token(row[1 : length - 1]))
        assert_close(vector, last[0], rtol=0, atol=1e-14)


def test_parity_of_the_chain_with_a_product_of_matrices() -> None:
    encoder = build_encoder(tiny.RECURRENT["mps"]).double()
    assert isinstance(encoder, Recurrent)
    batch = tiny.batch(LENGTHS)
    rows, _ = batch.sequences(batch.ids)
    for row, length, vector in zip(rows, batch.lengths.tolist(), encoder(batch).vector, strict=True):
        state = encoder.net.first
        for word in encoder.token(row[1 : length - 1]):
            state = (torch.eye(8, dtype=torch.float64) + torch.tensordot(word, encoder.net.cores, 1)) @ state
        assert_close(vector, state, rtol=1e-12, atol=1e-12)


def test_known_vectors() -> None:
    batch = tiny.batch(LENGTHS)
    rows, _ = batch.sequences(batch.ids)
    bag, flat = (build_encoder(tiny.RECURRENT[name]) for name in ("bag", "flatten"))
    assert isinstance(bag, Vectors) and isinstance(flat, Vectors)
    assert_close(bag(batch).vector[0], bag.token(rows[0, 1:6]).mean(0))
    assert not bag(batch).vector[3].any()
    first = flat(batch).vector[0].view(14, 3)
    assert_close(first[9:], flat.token(rows[0, 1:6]))
    assert_close(first[:9], flat.words.filler.expand(9, 3))
    left = build_encoder(tiny.RECURRENT["flatten"].model_copy(update={"pad": "none"}))
    assert not left(tiny.batch([7])).vector[0, 15:].any(), "a short batch is as wide as any"
