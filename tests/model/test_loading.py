"""Models from Hugging Face's layout and back, and the sentence vector that a head needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import toys
from psitext.errors import UserError
from psitext.experiments.export import to_hf
from psitext.model import load, with_pool
from psitext.text.examples import Example
from psitext.train import checkpoint


def test_law_out_and_back_gives_the_same_states(tmp_path: Path) -> None:
    model = load(toys.pretrained())
    to_hf(model, tmp_path / "theirs")
    again = load(f"hf:{tmp_path / 'theirs'}")
    texts = ["It was a good day.", "", "The dog slept."]
    assert_close(again.encode(texts).vector, model.encode(texts).vector, rtol=0, atol=1e-6)
    assert again.task is None and again.facts["from"] == f"hf:{tmp_path / 'theirs'}"
    assert again.tokenizer.encode(texts)[0].tolist() == model.tokenizer.encode(texts)[0].tolist()


def test_law_a_checkpoint_keeps_the_heads_it_was_pretrained_under(tmp_path: Path) -> None:
    """The loss of masked words goes on where it stood; another sentence vector leaves what read the old one."""
    model = load(toys.pretrained())
    to_hf(model, tmp_path / "theirs")
    again = load(f"hf:{tmp_path / 'theirs'}")
    assert again.head == model.head
    ours, theirs = (checkpoint.tensors_of(one.network) for one in (model, again))
    assert ours.keys() == theirs.keys() and all(torch.equal(value, theirs[name]) for name, value in ours.items())
    other = load(f"hf:{tmp_path / 'theirs'}", pool="mean")
    assert other.head is None and not list(other.network.head.parameters())


def test_parity_transformers_reads_the_exported_classifier(tmp_path: Path) -> None:
    from transformers import BertForSequenceClassification

    model = load(toys.trained("words"))
    to_hf(model, tmp_path / "theirs")
    theirs = BertForSequenceClassification.from_pretrained(tmp_path / "theirs").eval()
    assert theirs.config.id2label == {0: "down", 1: "up"}
    texts = ["good fine", "dull"]
    ours = model.logits([Example(text) for text in texts])
    for text, row in zip(texts, ours, strict=True):
        ids = [model.tokenizer.cls, *model.tokenizer.encode([text])[0].tolist(), model.tokenizer.sep]
        with torch.no_grad():
            logits = theirs(input_ids=torch.tensor([ids])).logits[0].numpy()
        np.testing.assert_allclose(logits, row, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["tags", "questions"])
def test_known_heads_that_transformers_has_no_place_for(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="head cannot be written for transformers"):
        to_hf(load(toys.trained(name)), tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_known_the_real_checkpoint_pools_as_it_was_trained(minilm: Path) -> None:
    model = load(f"hf:{minilm}")
    assert (model.encoder.config.pool, model.encoder.config.width) == ("mean", 384)
    near, far = ["a cat sat on the mat", "a kitten lay on the rug"], "shares fell sharply on Monday"
    a, b, c = torch.nn.functional.normalize(model.encode([*near, far]).vector)
    assert float(a @ b) > 0.5 > 0.2 > float(a @ c)
    assert load(f"hf:{minilm}", pool="cls").encoder.config.pool == "cls"


def test_law_another_vector_keeps_every_other_weight() -> None:
    model = load(toys.trained("words"))
    cls = with_pool(model, "cls")
    assert cls.encoder.pooler is None and cls.task is None and cls.head is None
    for name, value in cls.encoder.named_parameters():
        assert torch.equal(value, model.encoder.get_parameter(name))
    back = with_pool(with_pool(model, "mean"), "pooled")
    assert back.encoder.pooler is not None
    assert not torch.equal(back.encoder.pooler.weight, model.encoder.pooler.weight), "a pooler that was left out is new"


@pytest.mark.parametrize("source", ["hf:absent/nowhere/at/all", "hf:"])
def test_known_no_such_checkpoint(source: str) -> None:
    with pytest.raises(UserError, match=r"there is no folder|holds no|name of the model is empty"):
        load(source)
