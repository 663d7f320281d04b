"""BERT: sizes of its presets, and that nothing but a sentence itself decides its state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import tiny
from psitext.encoders.bert import Bert, BertConfig
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.score.losses import pretraining
from psitext.train.network import Network, parameter_count

POOLS = ["pooled", "cls", "mean"]
LENGTHS = [9, 3, 16, 5, 12, 2]


def size(config: BertConfig, head: PretrainingConfig | None = None) -> int:
    with torch.device("meta"):
        encoder = Bert(config)
        module = encoder if head is None else Network(encoder, PretrainingHead(encoder, head))
    return parameter_count(module)


def test_known_sizes_of_bert_base() -> None:
    base = BertConfig()
    assert size(base) == 109_482_240
    assert size(base, PretrainingConfig(tied=True)) == 110_106_428
    assert size(base, PretrainingConfig(tied=False)) == 133_547_324
    assert size(base.model_copy(update={"pool": "cls"})) == 109_482_240 - 768 * 769
    assert size(base.model_copy(update={"embedding_norm": False})) == 109_482_240 - 2 * 768


@pytest.mark.parametrize("pool", POOLS)
@given(lengths=st.lists(st.integers(2, 16), min_size=1, max_size=8), row=st.integers(2, 48))
def test_law_packed_equals_padded(pool: str, lengths: list[int], row: int) -> None:
    encoder = tiny.bert(pool=pool).double()
    apart, together = tiny.batch(lengths), tiny.batch(lengths, row=row)
    with torch.no_grad():
        one, other = encoder(apart), encoder(together)
    assert_close(one.vector, other.vector, rtol=0, atol=1e-12)
    for batch, state in ((apart, one), (together, other)):
        cut, real = batch.sequences(state.tokens)
        assert cut.shape == (len(lengths), max(lengths), 16)
        if batch is apart:
            expected = cut[real]
        else:
            assert_close(cut[real], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("row", [None, 20, 48])
def test_law_what_stands_in_padding_never_matters(pool: str, row: int | None) -> None:
    encoder = tiny.bert(pool=pool)
    batch = tiny.batch(LENGTHS, row=row)
    empty = batch.owner == 0
    assert empty.any()
    junk = replace(
        batch,
        ids=batch.ids + empty * torch.randint(0, tiny.VOCAB, batch.ids.shape),
        segments=batch.segments + empty * 1,
        positions=batch.positions + empty * torch.randint(0, 16, batch.ids.shape),
    )
    assert not torch.equal(batch.ids, junk.ids)
    with torch.no_grad():
        one, other = encoder(batch), encoder(junk)
    assert torch.equal(one.vector, other.vector)
    assert torch.equal(one.tokens[~empty], other.tokens[~empty])


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("row", [None, 24])
def test_law_a_sentence_does_not_see_its_neighbours(pool: str, row: int | None) -> None:
    encoder = tiny.bert(pool=pool).double()
    order = [3, 0, 5, 1, 4, 2]
    with torch.no_grad():
        together = encoder(tiny.batch(LENGTHS, row=row)).vector
        shuffled = encoder(tiny.batch([LENGTHS[i] for i in order], samples=order, row=row)).vector
        alone = torch.cat([encoder(tiny.batch([LENGTHS[i]], samples=[i])).vector for i in range(6)])
    assert_close(shuffled, together[order], rtol=0, atol=1e-12)
    assert_close(alone, together, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pool", POOLS)
def test_law_single_precision_agrees_with_double(pool: str) -> None:
    encoder, batch = tiny.bert(pool=pool), tiny.batch(LENGTHS, row=24)
    with torch.no_grad():
        single, double = encoder(batch).vector, tiny.bert(pool=pool).double()(batch).vector
    assert double.dtype == torch.float64
    assert_close(single.double(), double, rtol=0, atol=1e-5)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("row", [None, 24])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_law_a_head_may_say_what_it_reads(pool: str, row: int | None, layers: int) -> None:
    encoder, batch = tiny.bert(pool=pool, layers=layers).double(), tiny.batch(LENGTHS, row=row)
    read = batch.starts[[4, 1]] + 2
    with torch.no_grad():
        whole, some = encoder(batch), encoder(replace(batch, read=read))
    assert_close(some.vector, whole.vector, rtol=0, atol=1e-12)
    assert some.tokens.shape == whole.tokens.shape
    assert_close(some.tokens.flatten(0, 1)[read], whole.tokens.flatten(0, 1)[read], rtol=0, atol=1e-12)
    spared = some.tokens.flatten(0, 1).isnan().any(-1)  # what was not asked for cannot be mistaken for a state
    known = 0 if pool == "mean" or layers == 0 else len(LENGTHS) + len(read)
    assert int(spared.sum()) == (batch.ids.numel() - known if known else 0)


@pytest.mark.parametrize("what", ["token", "segment", "position"])
def test_law_tokens_segments_and_positions_all_matter(what: str) -> None:
    encoder, batch = tiny.bert(), tiny.batch([10])
    names = {"token": "ids", "segment": "segments", "position": "positions"}
    values = getattr(batch, names[what]).clone()
    values[0, 4] = (values[0, 4] + 1) % (2 if what == "segment" else 10)
    with torch.no_grad():
        difference = encoder(replace(batch, **{names[what]: values})).vector - encoder(batch).vector
    assert difference.abs().max() > 1e-3


def test_known_the_embedding_is_a_sum_of_three() -> None:
    encoder, batch = tiny.bert(layers=0, embedding_norm=False, pool="cls"), tiny.batch([7])
    with torch.no_grad():
        tokens = encoder(batch).tokens[0, :7]
    for at in range(7):
        token, segment = int(batch.ids[0, at]), int(batch.segments[0, at])
        expected = encoder.token.weight[token] + encoder.position.weight[at] + encoder.segment.weight[segment]
        assert_close(tokens[at], expected.detach())


def test_known_pools() -> None:
    batch = tiny.batch(LENGTHS, row=24)
    with torch.no_grad():
        cls, mean, pooled = (tiny.bert(pool=pool)(batch) for pool in ("cls", "mean", "pooled"))
    cut, _ = batch.sequences(cls.tokens)
    assert torch.equal(cls.vector, cut[:, 0])
    cut, _ = batch.sequences(mean.tokens)
    expected = torch.stack([tokens[:length].mean(0) for tokens, length in zip(cut, LENGTHS, strict=True)])
    assert_close(mean.vector, expected)
    assert pooled.vector.abs().max() <= 1


@pytest.mark.parametrize(
    ("pool", "settings"),
    [
        ("pooled", PretrainingConfig(tied=True)),
        ("pooled", PretrainingConfig(tied=False)),
        ("mean", PretrainingConfig()),
        ("cls", PretrainingConfig(next_sentence=False)),
    ],
)
@pytest.mark.parametrize("row", [None, 24])
def test_law_gradients_reach_every_parameter(pool: str, settings: PretrainingConfig, row: int | None) -> None:
    encoder = tiny.bert(pool=pool)
    network = Network(encoder, PretrainingHead(encoder, settings))
    plain = tiny.batch(LENGTHS, row=row)
    targets = {
        "token_at": plain.starts.numpy() + 1,
        "token_label": np.arange(6) + 10,
        "next": np.array([0, 1, -1, 0, 1, 0]),
    }
    batch = tiny.batch(LENGTHS, row=row, targets=targets)
    predicted, state = network(batch)
    score = pretraining(settings.next_sentence)
    sum(term.total(predicted, batch, state) / term.count(batch) for term in score.values()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, f"{name} has no gradient"
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, f"the gradient of {name} is zero"


def test_known_initial_weights() -> None:
    torch.manual_seed(0)
    encoder = Bert(BertConfig(vocab_size=500, width=128, layers=2, heads=4, hidden=256, init_std=0.02))
    for name, parameter in encoder.named_parameters():
        if parameter.ndim == 2 and parameter.numel() > 1_000:
            assert abs(parameter.detach().std().item() - 0.02) < 1e-3, name
        elif parameter.ndim == 1:
            assert torch.equal(parameter, torch.full_like(parameter, float("norm.weight" in name))), name


def test_law_dropout_acts_in_training_only() -> None:
    batch = tiny.batch(LENGTHS)
    for changes in ({"dropout": 0.3}, {"attention_dropout": 0.3}):
        encoder = tiny.bert(**changes)
        assert torch.equal(encoder(batch).vector, encoder(batch).vector)
        encoder.train()
        assert not torch.equal(encoder(batch).vector, encoder(batch).vector)
