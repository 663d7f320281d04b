"""Which tensor of Hugging Face's BERT is which of ours.

One table for both ways: our name -> their names. There are three of them where ours is one matrix for
queries, keys and values (theirs stacked along the first axis, in this order), and one everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from psitext.encoders.bert import BertConfig

Table = dict[str, tuple[str, ...]]

WORDS = "embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder.weight"
DECODER_BIAS = "cls.predictions.bias"
TWIN_BIAS = "cls.predictions.decoder.bias"  # the same bias under the name of its layer
POOLER = ("pooler.dense.weight", "pooler.dense.bias")
ENCODER_PARTS = ("embeddings.", "encoder.", "pooler.")  # everything else belongs to the head of a task
BUFFERS = (
    "embeddings.position_ids",
    "embeddings.token_type_ids",
)  # 0, 1, 2 ... and 0, 0, 0 ...: nothing learned
QUERY_KEY_VALUE = ("attention.self.query", "attention.self.key", "attention.self.value")
BLOCK = {
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "feed_norm": "output.LayerNorm",
}


def _layer(our_name: str, *their_names: str) -> Table:
    """Weight and bias of one layer."""
    kinds = ("weight", "bias")
    return {f"{our_name}.{kind}": tuple(f"{their}.{kind}" for their in their_names) for kind in kinds}


CLASSIFIER = _layer("output", "classifier")


def encoder_table(config: BertConfig) -> Table:
    """The tensors of an encoder of this shape."""
    table: Table = {
        "token.weight": (WORDS,),
        "position.weight": ("embeddings.position_embeddings.weight",),
        "segment.weight": ("embeddings.token_type_embeddings.weight",),
        **_layer("norm", "embeddings.LayerNorm"),
    }
    for i in range(config.layers):
        theirs = f"encoder.layer.{i}"
        table |= _layer(f"blocks.{i}.attention.qkv", *(f"{theirs}.{part}" for part in QUERY_KEY_VALUE))
        for our_part, their_part in BLOCK.items():
            table |= _layer(f"blocks.{i}.{our_part}", f"{theirs}.{their_part}")
    return table | (_layer("pooler", "pooler.dense") if config.pool == "pooled" else {})


def pretraining_table(*, tied: bool, next_sentence: bool) -> Table:
    """The tensors of the pre-training heads; a tied decoder has no matrix of its own."""
    table = {
        **_layer("words.transform", "cls.predictions.transform.dense"),
        **_layer("words.norm", "cls.predictions.transform.LayerNorm"),
        "words.decoder.bias": (DECODER_BIAS,),
    }
    table |= {} if tied else {"words.decoder.weight": (DECODER,)}
    return table | (_layer("next", "cls.seq_relationship") if next_sentence else {})


def canonical(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under the names of today's bare ``BertModel``, without counting buffers.

    Takes off the prefix ``bert.`` and renames the ``gamma`` and ``beta`` of the first checkpoints.
    """
    result = {}
    for name, value in tensors.items():
        short = name.removeprefix("bert.")
        short = short.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        if short not in BUFFERS:
            result[short] = value
    return result


def missing(table: Table, names: Iterable[str]) -> list[str]:
    """Their names that a table asks for and a checkpoint lacks."""
    have = set(names)
    return [their for theirs in table.values() for their in theirs if their not in have]


def join(parts: Sequence[Tensor]) -> Tensor:
    """Theirs -> ours: stacked along the first axis, in float32, in memory of its own."""
    return torch.cat([part.float() for part in parts])


def split(table: Table, tensors: Mapping[str, Tensor], prefix: str = "") -> dict[str, Tensor]:
    """Ours -> theirs, on the CPU, each in memory of its own; ``prefix`` goes before the encoder's names."""
    result = {}
    for name, theirs in table.items():
        parts = tensors[name].detach().cpu().chunk(len(theirs))
        for their, part in zip(theirs, parts, strict=True):
            result[prefix + their if their.startswith(ENCODER_PARTS) else their] = part.clone()
    return result
