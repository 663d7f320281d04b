"""BERT: learned token, position and segment embeddings, a stack of transformer blocks, a pooled [CLS].

Source: Devlin et al. 2019; chapter 15.8 of Dive into Deep Learning, whose encoder is the preset ``bert-d2l`` (ReLU,
no norm on the embeddings). Letters: R rows, T tokens, B sentences, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.config import Config
from psitext.nn.dropout import Dropout
from psitext.nn.numerics import LAYER_NORM_EPS
from psitext.nn.transformer import Asked, Block, Parts, dot_product
from psitext.state import SentenceState
from psitext.text.batches import Batch

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu}


class BertConfig(Config):
    """Shape of a BERT."""

    family: Literal["bert"] = "bert"
    vocab_size: int = Field(default=30_522, gt=0)  # V
    width: int = Field(default=768, gt=0)  # D
    layers: int = Field(default=12, ge=0)
    heads: int = Field(default=12, gt=0)
    hidden: int = Field(default=3_072, gt=0)  # width inside the feed-forward net
    max_len: int = Field(default=512, gt=0)  # positions
    segments: int = Field(default=2, gt=0)
    activation: Literal["gelu", "relu"] = "gelu"
    embedding_norm: bool = True  # the chapter has none
    norm_eps: float = Field(default=LAYER_NORM_EPS, gt=0)
    pool: Literal["pooled", "cls", "mean"] = (
        "pooled"  # what the sentence vector is: tanh(W [CLS]), [CLS], or the mean token
    )
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)
    init_std: float = Field(default=0.02, ge=0)

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be shared over {self.heads} heads")
        return self

    @property
    def real_width(self) -> int:
        """Real numbers in a state."""
        return self.width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"{self.layers} layers of width {self.width}"


class Bert(nn.Module):
    """Rows of tokens -> SentenceState with ``vector`` (B, D) and ``tokens`` (R, T, D)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.token = nn.Embedding(config.vocab_size, width)
        self.position = nn.Embedding(config.max_len, width)
        self.segment = nn.Embedding(config.segments, width)
        self.norm = nn.LayerNorm(width, config.norm_eps) if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        parts = real_parts(config)
        self.blocks = nn.ModuleList(
            Block(
                width,
                config.heads,
                config.hidden,
                parts,
                dropout=config.dropout,
                attention_dropout=config.attention_dropout,
            )
            for _ in range(config.layers)
        )
        # Only a pooled vector has parameters of its own; an unused one would never get a gradient.
        self.pooler = nn.Linear(width, width) if config.pool == "pooled" else None
        self.apply(partial(initialise, std=config.init_std))

    def forward(self, batch: Batch) -> SentenceState:
        """Encode every token in the light of its own sequence, and every sequence as one vector."""
        x = self.token(batch.ids) + self.position(batch.positions) + self.segment(batch.segments)  # (R, T, D)
        x = self.dropout(self.norm(x))
        mask, asked = batch.mask(), asked_of(batch, self.config.pool, len(self.blocks))
        for number, block in enumerate(self.blocks, start=1):
            x = block(x, mask, asked if number == len(self.blocks) else None)
        if asked is not None:
            x = asked.spread(x, batch.ids.shape)
        return SentenceState(self._pool(x, batch), x)

    def _pool(self, x: Tensor, batch: Batch) -> Tensor:
        vector = vectors_of(x, batch, self.config.pool)
        return vector if self.pooler is None else torch.tanh(self.pooler(vector))


def asked_of(batch: Batch, pool: str, layers: int) -> Asked | None:
    """Which last states are computed, where that is not all of them."""
    if batch.read is None or pool == "mean" or not layers:
        return None
    return Asked.of(torch.cat([batch.starts, batch.read]), *batch.ids.shape)


def vectors_of(tokens: Tensor, batch: Batch, pool: str) -> Tensor:
    """The mean token or the first one of every sequence; (R, T, D) real or complex -> (B, D)."""
    if pool == "mean":
        cut, real = batch.sequences(tokens)  # (B, L, D), (B, L)
        return (cut * real[..., None]).sum(1) / batch.lengths[:, None]
    return tokens.flatten(0, 1)[batch.starts]


def real_parts(config: BertConfig) -> Parts:
    """The parts of a real block."""
    return Parts(
        qkv=lambda width: nn.Linear(width, 3 * width),
        out=lambda width: nn.Linear(width, width),
        linear=nn.Linear,
        norm=partial(nn.LayerNorm, eps=config.norm_eps),
        activation=ACTIVATIONS[config.activation],
        score=dot_product,
        dropout=Dropout,
    )


def initialise(module: nn.Module, std: float) -> None:
    """BERT's initialisation: normal weights of deviation ``std`` (not cut at two deviations), zero biases, unit
    norms.
    """
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=std)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
