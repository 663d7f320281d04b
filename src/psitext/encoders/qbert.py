"""QBERT: a BERT over the complex numbers whose [CLS] state is a quantum state, and CVBERT, whose [CLS] is a token
like the others.

Source: "Adapting Pre-trained Language Models for Quantum Natural Language Processing" (arXiv 2302.13812), sections
4.1, 4.2 and 5. The paper unit-normalises [CLS] in every layer, scores attention by the modulus (eq. 5) and drops W^Q
and W^O; then [CLS] is so small beside the other tokens, and its own query, that it attends to all of them alike. So
the defaults scale it to sqrt(D) instead (``first = "rms"``: the same ray, hence the same quantum state), score by the
real part and keep both projections; ``qbert-base`` has the paper's settings.

Letters: R rows, T tokens, B sentences, D complex width, F hidden width, P asked states. Inside, activations are
planar (2, R, T, D); states are complex.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from psitext.config import Config
from psitext.encoders.bert import ACTIVATIONS, asked_of, vectors_of
from psitext.nn.complex.attention import KeyValue, modulus_score, real_score, split_score
from psitext.nn.complex.layout import PlanarDropout, to_complex
from psitext.nn.complex.linear import ComplexEmbedding, ComplexLinear, WidelyLinear, initialise_complex
from psitext.nn.complex.norm import ComplexLayerNorm, FirstNorm, WideLayerNorm
from psitext.nn.numerics import LAYER_NORM_EPS
from psitext.nn.transformer import Block, Parts, Score
from psitext.state import SentenceState
from psitext.text.batches import Batch

SCORES: dict[str, Score] = {"modulus": modulus_score, "split": split_score, "real": real_score}
# A widely-linear map is any real-linear map of (real, imaginary) parts; its norm acts on those 2 D reals, too.
LINEAR = {"complex": (ComplexLinear, ComplexLayerNorm), "widely-linear": (WidelyLinear, WideLayerNorm)}


class ComplexConfig(Config):
    """Shape of a complex transformer, whichever it is."""

    family: str
    vocab_size: int = Field(default=30_522, gt=0)  # V
    width: int = Field(default=768, gt=0)  # D, complex
    layers: int = Field(default=12, ge=0)
    heads: int = Field(default=12, gt=0)
    hidden: int = Field(default=1_536, gt=0)  # half of BERT's: a complex weight is two numbers
    max_len: int = Field(default=512, gt=0)  # positions
    segments: int = Field(default=2, gt=0)
    activation: Literal["gelu", "relu"] = "gelu"  # of both parts, eq. 6
    embedding_norm: bool = True
    norm_eps: float = Field(default=LAYER_NORM_EPS, gt=0)
    pool: Literal["cls", "mean"] = "cls"  # what the sentence vector is
    first: Literal["unit", "rms", "layer"]  # norm of [CLS]: 1, sqrt(D), or the other tokens' complex-LN
    score: Literal["modulus", "split", "real"] = "real"  # eq. 5, eq. 4, softmax of the real part
    queries: bool = True  # a projection W^Q; without it a state is its own query
    outputs: bool = True  # a projection W^O
    linear: Literal["complex", "widely-linear"] = "complex"  # U z + b, or U z + W conj(z) + b
    init: Literal["fan-in", "paper"] = "fan-in"  # deviation 1/sqrt(2 inputs), or 0.1, of each part
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be shared over {self.heads} heads")
        return self

    @property
    def real_width(self) -> int:
        """Real numbers in a state."""
        return 2 * self.width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"{self.layers} layers of complex width {self.width}"


class QbertConfig(ComplexConfig):
    """Shape of a QBERT, whose [CLS] is read as a quantum state."""

    family: Literal["qbert"] = "qbert"
    first: Literal["unit", "rms", "layer"] = "rms"


class CvbertConfig(ComplexConfig):
    """Shape of a CVBERT, whose [CLS] is a token like the others and is read by moduli."""

    family: Literal["cvbert"] = "cvbert"
    first: Literal["layer"] = "layer"


class Qbert(nn.Module):
    """Rows of tokens -> SentenceState with complex ``vector`` (B, D) and ``tokens`` (R, T, D)."""

    def __init__(self, config: QbertConfig | CvbertConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        parts = complex_parts(config)
        self.token = ComplexEmbedding(config.vocab_size, width)
        self.position = ComplexEmbedding(config.max_len, width)
        self.segment = ComplexEmbedding(config.segments, width)
        self.norm = parts.norm(width) if config.embedding_norm else None
        self.dropout = PlanarDropout(config.dropout)
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
        self.apply(partial(initialise_complex, how=config.init))

    def forward(self, batch: Batch) -> SentenceState:
        """Encode every token in the light of its own sequence, and every sequence as one vector."""
        x = self.token(batch.ids) + self.position(batch.positions) + self.segment(batch.segments)  # (2, R, T, D)
        first = None if self.config.first == "layer" else first_tokens(batch)
        if self.norm is not None:
            x = self.norm(x) if first is None else self.norm(x, first)
        x = self.dropout(x)
        mask, asked = batch.mask(), asked_of(batch, self.config.pool, len(self.blocks))
        for number, block in enumerate(self.blocks, start=1):
            x = block(x, mask, asked if number == len(self.blocks) else None, first)
        if asked is not None:
            x = asked.spread(x, batch.ids.shape)
        tokens = to_complex(x)
        return SentenceState(vectors_of(tokens, batch, self.config.pool), tokens)


def first_tokens(batch: Batch) -> Tensor:
    """(R, T) True where a sequence begins: its [CLS]."""
    places = torch.zeros(batch.ids.numel(), dtype=torch.bool, device=batch.ids.device)
    return places.index_fill(0, batch.starts, True).view(batch.ids.shape)


def complex_parts(config: ComplexConfig) -> Parts:
    """The parts of a complex block."""
    linear, plain = LINEAR[config.linear]

    def norm(width: int) -> nn.Module:
        inner = plain(width, config.norm_eps)
        return inner if config.first == "layer" else FirstNorm(inner, config.first)

    def qkv(width: int) -> nn.Module:
        return linear(width, 3 * width) if config.queries else KeyValue(linear(width, 2 * width))

    return Parts(
        linear=linear,
        norm=norm,
        activation=ACTIVATIONS[config.activation],
        score=SCORES[config.score],
        dropout=PlanarDropout,
        qkv=qkv,
        out=(lambda width: linear(width, width)) if config.outputs else (lambda width: nn.Identity()),
    )
