"""Checkpoints as transformers writes them, and ours beside theirs, for the tests of hf."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig as TheirConfig
from transformers import BertForPreTraining

import tiny
from psitext.encoders.bert import Bert
from psitext.heads.pretraining import PretrainingHead
from psitext.hf.bert import Imported
from psitext.text.batches import Batch

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the dog cat bark ##s saw a . 人 é".split()
Make = Callable[..., tuple[Path, BertForPreTraining]]


def save(folder: Path, *, shard: str = "1GB", **changes: Any) -> BertForPreTraining:
    """A random tiny BertForPreTraining, saved into ``folder`` by transformers, with a vocab.txt."""
    settings = {
        "vocab_size": tiny.VOCAB,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "max_position_embeddings": 16,
        "initializer_range": 0.3,
    }
    torch.manual_seed(0)
    model = BertForPreTraining(TheirConfig(**(settings | changes))).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:  # biases and norms that start at 0 and 1 would hide a mix-up
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder, max_shard_size=shard)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    return model


def change(path: Path, **settings: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def copy_without_weights(folder: Path, target: Path) -> Path:
    return shutil.copytree(folder, target, ignore=shutil.ignore_patterns("*.safetensors"))


def assert_same(found: Imported, reference: Imported) -> None:
    assert (found.config, found.tied) == (reference.config, reference.tied)
    assert found.pretraining is not None and reference.pretraining is not None
    for mine, other in ((found.encoder, reference.encoder), (found.pretraining, reference.pretraining)):
        assert mine.keys() == other.keys()
        assert all(torch.equal(value, other[name]) for name, value in mine.items())


def encoder_of(found: Imported) -> Bert:
    encoder = Bert(found.config).eval()
    encoder.load_state_dict(found.encoder)
    return encoder


def head_of(found: Imported, encoder: Bert) -> PretrainingHead:
    assert found.pretraining is not None
    head = PretrainingHead(encoder, found.pretraining_config).eval()
    lacking, unknown = head.load_state_dict(found.pretraining, strict=False)
    assert unknown == []
    assert lacking == (["words.decoder.weight"] if found.tied else [])
    return head


def as_inputs(batch: Batch) -> dict[str, Tensor]:
    return {
        "input_ids": batch.ids,
        "attention_mask": (batch.owner > 0).long(),
        "token_type_ids": batch.segments,
    }


def with_targets(lengths: Sequence[int], places: Sequence[int], row: int | None = None) -> Batch:
    """Ask for the words at ``places``, counted over the real tokens of all sequences in order."""
    plain = tiny.batch(lengths, row=row)
    real = np.concatenate([start + np.arange(size) for start, size in zip(plain.starts.tolist(), lengths, strict=True)])
    return tiny.batch(lengths, row=row, targets={"token_at": real[list(places)]})


def sequences(batch: Batch, rows: Tensor) -> list[Tensor]:
    cut, real = batch.sequences(rows)
    return [values[mask] for values, mask in zip(cut, real, strict=True)]


def close(ours: Sequence[Tensor], theirs: Sequence[Tensor], tolerance: float = 1e-5) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance)
