"""Running a network over a source: answers in the order of the samples, and nothing left behind."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tiny
from fits import Bench
from psitext.errors import UserError
from psitext.heads.affine import AffineConfig, SpanHead
from psitext.state import SentenceState
from psitext.train import predict
from psitext.train.predict import LONGEST_ANSWER, by_length


@given(st.lists(st.integers(2, 40), min_size=1, max_size=50), st.integers(1, 200))
def test_law_every_sample_once_longest_first_within_the_budget(lengths: list[int], tokens: int) -> None:
    sizes = np.array(lengths)
    batches = list(by_length(sizes, tokens))
    order = np.concatenate(batches)
    assert sorted(order.tolist()) == list(range(len(lengths)))
    assert (np.diff(sizes[order]) <= 0).all()
    assert all(sizes[batch].sum() <= tokens or len(batch) == 1 for batch in batches)


@pytest.mark.parametrize("tokens", [1, 40, 10_000])
def test_law_answers_come_in_the_order_of_the_samples(bench: Bench, tokens: int) -> None:
    network = bench.network(dropout=0.5).train()
    found = predict.run(network, bench.source, predict.logits, batch_tokens=tokens)
    assert network.training and network.encoder.training
    network.eval()
    with torch.no_grad():
        for sample in (0, 1, 17, 63):
            alone, _ = network(bench.source.build(np.array([sample])))
            np.testing.assert_allclose(found[sample], alone["logits"][0].numpy(), rtol=0, atol=1e-6)
    assert all(parameter.grad is None for parameter in network.parameters())
    assert found[0].dtype == np.float32


def test_law_vectors_may_be_complex() -> None:
    batch = tiny.batch([4, 2])
    state = SentenceState(torch.tensor([[1 + 2j, 3.0], [0.5, -1j]]))
    found = predict.vectors({}, state, batch)
    assert found[1].dtype == np.complex64
    assert found[0].tolist() == [1 + 2j, 3]


def test_known_tags_are_cut_by_sentence() -> None:
    """Two sentences of 4 and 5 tokens in rows of 5; the second asks for three tags, the third has none."""
    targets = {"token_at": np.array([1, 2, 6, 7, 8]), "token_label": np.zeros(5, dtype=np.int64)}
    batch = tiny.batch([4, 5, 3], targets=targets)
    logits = torch.zeros(*batch.ids.shape, 3)
    for at, tag in zip(targets["token_at"], (2, 1, 0, 2, 1), strict=True):
        logits.flatten(0, 1)[at, tag] = 1
    found = predict.tags({"token_logits": logits}, None, batch)  # type: ignore[arg-type]
    assert [tags.tolist() for tags in found] == [[2, 1], [0, 2, 1], []]


def test_known_scores_that_are_no_numbers_are_no_answers() -> None:
    batch = tiny.batch([4, 5, 3], targets={"token_at": np.array([1, 6, 7])})
    by_token = torch.zeros(*batch.ids.shape, 3)
    by_token.flatten(0, 1)[7, 1] = torch.nan
    by_place, by_class = torch.zeros(3, 5, 2), torch.zeros(3, 2)
    by_place[1, 3, 0], by_class[1, 0] = torch.nan, torch.inf
    for read, name, scores in (
        (predict.tags, "token_logits", by_token),
        (predict.spans, "span_logits", by_place),
        (predict.logits, "logits", by_class),
    ):
        with pytest.raises(UserError, match="the answer to text 2 is no finite number"):
            read({name: scores}, None, batch)  # type: ignore[arg-type]


def test_law_a_span_is_the_best_of_all_that_are_allowed() -> None:
    torch.manual_seed(0)
    scores = torch.randn(20, 40, 2)
    found = predict.spans({"span_logits": scores}, None, None)  # type: ignore[arg-type]
    for table, span in zip(scores.numpy(), found, strict=True):
        allowed = [(i, j) for i in range(40) for j in range(i, min(i + LONGEST_ANSWER, 40))]
        assert tuple(span) == max(allowed, key=lambda pair: table[pair[0], 0] + table[pair[1], 1])


def test_law_a_span_lies_in_the_second_text() -> None:
    head = SpanHead(16, AffineConfig(dropout=0))
    batch = tiny.batch([9, 4, 12], row=24)
    prediction = head(tiny.bert()(batch), batch)
    for length, span in zip((9, 4, 12), predict.spans(prediction, None, batch), strict=True):  # type: ignore[arg-type]
        assert (length + 1) // 2 <= span[0] <= span[1] < length
