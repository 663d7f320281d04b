"""Losses: sums over what was counted, so that no way of cutting a batch changes a step."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import tiny
from psitext.score.losses import (
    IGNORED,
    Score,
    classification,
    cross_entropy_sum,
    pretraining,
    regression,
    span,
    tagging,
    word_surprise_sum,
)
from psitext.state import SentenceState
from psitext.text.batches import Batch

STATE = SentenceState(torch.zeros(1, 1))


def with_targets(count: int, **targets: np.ndarray) -> Batch:
    return tiny.batch([4] * count, targets=targets)


def values(score: Score, predicted: dict[str, Tensor], batch: Batch) -> dict[str, tuple[float, float]]:
    return {
        name: (term.total(predicted, batch, STATE).item(), float(term.count(batch))) for name, term in score.items()
    }


def nll(logits: Tensor, label: int) -> float:
    """-log softmax, one number at a time."""
    return math.log(sum(math.exp(x) for x in logits.tolist())) - float(logits[label])


def test_parity_cross_entropy_is_its_formula() -> None:
    logits = torch.randn(4, 3)
    labels = torch.tensor([2, 0, IGNORED, 1])
    expected = nll(logits[0], 2) + nll(logits[1], 0) + nll(logits[3], 1)
    assert cross_entropy_sum(logits, labels).item() == pytest.approx(expected, rel=1e-5)
    grid = cross_entropy_sum(logits.reshape(2, 2, 3), labels.reshape(2, 2))
    assert_close(grid, cross_entropy_sum(logits, labels))
    weights = torch.tensor([0.5, 2.0, 1.0])
    expected = nll(logits[0], 2) + 0.5 * nll(logits[1], 0) + 2 * nll(logits[3], 1)
    assert cross_entropy_sum(logits, labels, weights).item() == pytest.approx(expected, rel=1e-5)


def test_parity_word_surprise_is_cross_entropy() -> None:
    words = torch.tensor([2, 0, 4, 2])
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        logits = (5 * torch.randn(4, 5)).to(dtype).requires_grad_()
        same = logits.detach().clone().requires_grad_()
        mine, formula = word_surprise_sum(logits, words), cross_entropy_sum(same, words)
        assert mine.dtype == formula.dtype
        assert_close(mine, formula)
        (0.3 * mine).backward()
        (0.3 * formula).backward()
        assert_close(logits.grad, same.grad)
        assert logits.grad.dtype == dtype
    none = torch.zeros(0, 5, requires_grad=True)
    word_surprise_sum(none, words[:0]).backward()
    assert none.grad.shape == (0, 5)


def test_known_word_surprise_gives_its_gradient_once() -> None:
    logits = torch.randn(3, 5, requires_grad=True)
    total = word_surprise_sum(logits, torch.tensor([1, 0, 4]))
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="taken already"):
        total.backward()


def test_law_sums_are_in_float32_or_better() -> None:
    logits = (100 * torch.randn(500, 7)).bfloat16()
    labels = torch.arange(500) % 7
    total = cross_entropy_sum(logits, labels)
    assert total.dtype == torch.float32
    assert_close(total, cross_entropy_sum(logits.double(), labels).float())
    assert cross_entropy_sum(logits.double(), labels).dtype == torch.float64


def test_known_pretraining_counts_words_and_pairs() -> None:
    words, follows = torch.randn(3, 10), torch.randn(4, 2)
    batch = with_targets(
        4,
        token_at=np.array([1, 5, 9]),
        token_label=np.array([4, 0, 9]),
        next=np.array([0, IGNORED, 1, IGNORED]),
    )
    found = values(pretraining(), {"words": words, "next": follows}, batch)
    expected = nll(words[0], 4) + nll(words[1], 0) + nll(words[2], 9)
    assert found["words"] == (pytest.approx(expected, rel=1e-5), 3)
    assert found["next"] == (pytest.approx(nll(follows[0], 0) + nll(follows[2], 1), rel=1e-5), 2)
    assert set(pretraining(next_sentence=False)) == {"words"}
    assert {term.weight for term in pretraining().values()} == {1.0}


def test_known_a_batch_without_masked_words_costs_nothing() -> None:
    none = np.array([], dtype=np.int64)
    batch = with_targets(2, token_at=none, token_label=none, next=np.array([IGNORED, IGNORED]))
    predicted = {
        "words": torch.zeros(0, 10, requires_grad=True),
        "next": torch.zeros(2, 2, requires_grad=True),
    }
    assert values(pretraining(), predicted, batch) == {"words": (0, 0), "next": (0, 0)}
    sum(term.total(predicted, batch, STATE) for term in pretraining().values()).backward()
    assert torch.equal(predicted["next"].grad, torch.zeros(2, 2))


def test_known_class_weights_weigh_sum_and_count() -> None:
    logits, batch = torch.randn(3, 2), with_targets(3, label=np.array([0, 1, 1]))
    plain = values(classification(), {"logits": logits}, batch)["label"]
    assert plain == (
        pytest.approx(sum(nll(x, y) for x, y in zip(logits, [0, 1, 1], strict=True)), rel=1e-5),
        3,
    )
    weighted = values(classification(torch.tensor([3.0, 0.5])), {"logits": logits}, batch)["label"]
    expected = 3 * nll(logits[0], 0) + 0.5 * (nll(logits[1], 1) + nll(logits[2], 1))
    assert weighted == (pytest.approx(expected, rel=1e-5), 4)
    even = values(classification(torch.tensor([2.0, 2.0])), {"logits": logits}, batch)["label"]
    assert even[0] / even[1] == pytest.approx(plain[0] / plain[1])


def test_known_regression_is_squared_error() -> None:
    batch = with_targets(2, label=np.array([1.0, -2.0], dtype=np.float32))
    found = values(regression(), {"logits": torch.tensor([[3.0], [-2.5]])}, batch)
    assert found == {"label": (pytest.approx(4.25), 2)}


def test_known_tagging_reads_first_pieces() -> None:
    logits = torch.randn(2, 8, 3)
    batch = with_targets(2, token_at=np.array([1, 10]), token_label=np.array([2, 0]))
    expected = nll(logits[0, 1], 2) + nll(logits[1, 2], 0)
    assert values(tagging(), {"token_logits": logits}, batch) == {"tag": (pytest.approx(expected, rel=1e-5), 2)}


def test_known_a_span_is_its_first_and_last_token() -> None:
    logits = torch.randn(3, 5, 2)
    logits[:, :2] = -math.inf  # the question
    logits.requires_grad_()
    batch = with_targets(3, span=np.array([[2, 4], [IGNORED, IGNORED], [3, 3]]))
    found = values(span(), {"span_logits": logits}, batch)["span"]
    scores = logits.detach()
    first = nll(scores[0, :, 0], 2) + nll(scores[0, :, 1], 4)
    second = nll(scores[2, :, 0], 3) + nll(scores[2, :, 1], 3)
    assert found == (pytest.approx(0.5 * (first + second), rel=1e-5), 2)
    span()["span"].total({"span_logits": logits}, batch, STATE).backward()
    assert torch.isfinite(logits.grad).all()
    assert torch.equal(logits.grad[1], torch.zeros(5, 2)), "a sequence without an answer teaches nothing"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(1, 5))
def test_law_parts_of_a_batch_add_up(labels: list[int], parts: int) -> None:
    torch.manual_seed(len(labels))
    words = torch.randn(len(labels), 10, dtype=torch.float64)
    weights = torch.rand(10, dtype=torch.float64) + 0.1

    def loss(rows: slice) -> tuple[Tensor, Tensor]:
        chosen = np.array(labels, dtype=np.int64)[rows]
        batch = with_targets(max(len(chosen), 1), label=chosen)
        term = classification(weights)["label"]
        return term.total({"logits": words[rows]}, batch, STATE), term.count(batch)

    whole, count = loss(slice(None))
    cut = [loss(slice(part, None, parts)) for part in range(parts) if part < len(labels)]
    assert_close(sum(total for total, _ in cut), whole)
    assert_close(sum(counted for _, counted in cut), count)
