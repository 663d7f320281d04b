"""Names to objects: tables that say what there is, seeds that decide, pairings that cannot work refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext import assemble
from psitext.assemble import AffineConfig, balanced_weights, build_encoder, build_head, build_pretraining_head
from psitext.errors import UserError
from psitext.heads.affine import SequenceHead, SpanHead, TokenHead
from psitext.heads.pretraining import PretrainingConfig
from psitext.text.examples import METRICS_OF_KIND, Task

TASKS = {
    "classification": Task(name="c", kind="classification", text="t", label="l", labels=("a", "b", "c")),
    "regression": Task(name="r", kind="regression", text="t", label="l"),
    "tagging": Task(name="g", kind="tagging", text="t", label="l", labels=("a", "b", "c", "d")),
    "span": Task(name="s", kind="span", text="t", pair="p", label="l"),
}


def test_law_every_kind_of_task_has_a_head_and_a_loss() -> None:
    assert assemble.TASK_HEADS.keys() == assemble.TASK_SCORES.keys() == METRICS_OF_KIND.keys() == TASKS.keys()


HEADS = {
    "classification": (SequenceHead, 3),
    "regression": (SequenceHead, 1),
    "tagging": (TokenHead, 4),
    "span": (SpanHead, 2),
}


@pytest.mark.parametrize("kind", TASKS)
def test_known_heads(kind: str) -> None:
    head, outputs = HEADS[kind]
    encoder = tiny.bert()
    built = build_head(TASKS[kind], encoder, AffineConfig(), seed=1)
    assert type(built) is head
    assert built.output.weight.shape == (outputs, 16)  # type: ignore[union-attr]
    same, other = (build_head(TASKS[kind], encoder, AffineConfig(), seed=seed) for seed in (1, 2))
    assert torch.equal(built.output.weight, same.output.weight)  # type: ignore[union-attr]
    assert not torch.equal(built.output.weight, other.output.weight)  # type: ignore[union-attr]
    assert len(assemble.task_score(TASKS[kind])) == 1


def test_law_building_leaves_the_callers_random_state() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    encoder = build_encoder(tiny.SHAPE, seed=3)
    build_head(TASKS["span"], encoder, AffineConfig())
    build_pretraining_head(encoder, PretrainingConfig())
    assert torch.equal(torch.get_rng_state(), before)


def test_known_a_tied_decoder_is_the_embedding() -> None:
    encoder = build_encoder(tiny.SHAPE)
    assert build_pretraining_head(encoder, PretrainingConfig()).words.decoder.weight is encoder.token.weight
    own = build_pretraining_head(encoder, PretrainingConfig(tied=False)).words.decoder.weight
    assert own is not encoder.token.weight and own.shape == encoder.token.weight.shape


def test_known_next_sentences_need_a_first_token() -> None:
    encoder = build_encoder(tiny.SHAPE.model_copy(update={"pool": "mean"}))
    with pytest.raises(UserError, match=r"reads \[CLS\]; set encoder.pool to 'pooled' or 'cls'"):
        build_pretraining_head(encoder, PretrainingConfig())
    assert build_pretraining_head(encoder, PretrainingConfig(next_sentence=False)).next is None


def test_law_balanced_weights_make_every_class_count_the_same() -> None:
    labels = np.array([0] * 6 + [1] * 3 + [3])
    weights = balanced_weights(labels, 4)
    assert_close(weights, torch.tensor([10 / 24, 10 / 12, 1.0, 10 / 4]))
    shares = [float(weights[label]) * int((labels == label).sum()) for label in (0, 1, 3)]
    assert shares == pytest.approx([2.5] * 3)
