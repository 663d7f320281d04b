"""QCLS-end2end: the normalised mean of word vectors, its size in the paper, and what it cannot do."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext.assemble import build_encoder, build_head, build_pretraining_head, usual_head
from psitext.errors import UserError
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.heads.affine import AffineConfig
from psitext.heads.pretraining import PretrainingConfig
from psitext.text.examples import Task
from psitext.text.tasks import load_task
from psitext.train.network import Network, parameter_count

LENGTHS = [7, 3, 12]


@pytest.mark.parametrize("row", [None, 16])
def test_known_a_state_is_the_mean_of_its_words(row: int | None) -> None:
    encoder, batch = build_encoder(tiny.QCLS), tiny.batch(LENGTHS, row=row)
    state = encoder(batch)
    words = torch.complex(encoder.token.weight_re, encoder.token.weight_im)
    flat = batch.ids.flatten()
    for vector, start, length in zip(state.vector, batch.starts.tolist(), LENGTHS, strict=True):
        mean = words[flat[start : start + length]].mean(0)
        assert_close(vector, mean / mean.abs().square().sum().sqrt())
    assert state.tokens is None


def test_known_size_of_the_published_model() -> None:
    """Table 1: 48.07 M real numbers, the embeddings and the unitary; read-out and places are not among them."""
    recipe = resolve_recipe("finetune", "qcls-end2end-base")
    assert isinstance(recipe, FinetuneRecipe)
    assert recipe.encoder is not None
    task = load_task("sst2")
    with torch.device("meta"):
        encoder = build_encoder(recipe.encoder)
        head = build_head(task, encoder, usual_head(recipe.encoder, task))
    read_out = sum(p.numel() for name, p in head.named_parameters() if name.startswith("output"))
    assert (parameter_count(Network(encoder, head)) - read_out) / 1e6 == pytest.approx(48.07, abs=0.1)


def test_known_what_it_cannot_do() -> None:
    encoder = build_encoder(tiny.QCLS)
    with pytest.raises(UserError, match="a qcls encoder has no states of tokens"):
        build_pretraining_head(encoder, PretrainingConfig())
    tags = Task(name="g", kind="tagging", text="t", label="l", labels=("a", "b"))
    with pytest.raises(UserError, match="a qcls encoder has no states of tokens, which a task of kind tagging reads"):
        build_head(tags, encoder, AffineConfig())
    with pytest.raises(
        UserError, match="a qcls encoder keeps no states of words in their context, so there is nothing to pre-train"
    ):
        resolve_recipe("pretrain", None, ["encoder.family=qcls"])
