"""One layer of a QBERT-base, forward and backward: planar, against complex64, a real layer, and complextorch's.

A layer as published (moduli, no W^Q and W^O) has 7.1M real numbers, as many as a layer of BERT-base. For b vectors a
complex matrix (F, D) costs 8 b D F real operations on complex numbers, 6 b D F in three real products
(``nn.complex.product``), and a real matrix of as many numbers 4 b D F. So in one precision planar products take three
quarters of the time of complex ones, and half as long again as real ones; beyond that it is bfloat16 that gains, by as
much as a processor multiplies faster in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.assemble import EncoderConfig, build_encoder
from psitext.encoders.bert import Bert, BertConfig
from psitext.encoders.qbert import Qbert, QbertConfig
from psitext.experiments.bench.complex import native, peers
from psitext.experiments.bench.complex.sides import Side, agree, seconds
from psitext.experiments.bench.timing import Measured
from psitext.nn.complex.layout import planar, to_complex
from psitext.nn.numerics import Precision
from psitext.nn.transformer import Block
from psitext.randomness import torch_seed
from psitext.train.network import parameter_count

# One layer of QBERT-base, with no more words than it needs, and without dropout, so that values can be compared.
BASE = QbertConfig(layers=1, vocab_size=1, max_len=1, dropout=0, attention_dropout=0)
VARIANTS: dict[str, dict[str, Any]] = {
    "QBERT's layer as published": {"first": "unit", "score": "modulus", "queries": False, "outputs": False},
    "QBERT's stable layer": {"first": "rms", "score": "real", "queries": True, "outputs": True},
}


@dataclass(frozen=True, slots=True)
class Setup:
    """What the layers run on."""

    rounds: int
    seed: int = 0
    precision: Precision = "fp32"  # ours, and the real layer's; complex64 knows no other
    shape: QbertConfig = BASE
    rows: int = 16
    tokens: int = 128

    def states(self) -> Tensor:
        """Complex (R, T, D)."""
        rng = torch.Generator().manual_seed(torch_seed(self.seed, "layers"))
        return torch.randn(self.rows, self.tokens, self.shape.width, dtype=torch.complex64, generator=rng)

    def first(self) -> Tensor:
        """(R, T) True on [CLS]; a row is one sequence."""
        return (torch.arange(self.tokens) == 0).expand(self.rows, self.tokens)

    def measured(self, what: str, ours: Side, theirs: Side) -> Measured:
        """Seconds of both passes."""
        timing = seconds(ours, theirs, self.rounds, self.seed)
        name = f"{what} ({self.precision}, complex width {self.shape.width}, {self.rows} x {self.tokens} tokens)"
        return Measured(name, "s", timing.ours, timing.theirs, timing.ratio)


def layer_speed(setup: Setup, tell: Callable[[str], None] = print) -> Iterator[Measured]:
    """A line for each opponent; complextorch's where it is installed."""
    for name in VARIANTS:
        yield against_complex64(setup, name)
    yield against_real(setup)
    if peers.installed():
        yield against_complextorch(setup)
    else:
        tell("complextorch is not installed (pip install complextorch), so its layer is left out")


def against_complex64(setup: Setup, variant: str) -> Measured:
    """The same layer, with the same weights, on torch's complex tensors."""
    layer = _layer(setup.shape.model_copy(update=VARIANTS[variant]), setup.seed)
    opponent, z, first = native.Block(layer), setup.states(), setup.first()
    ours = Side(layer, partial(layer, mask=None, first=first), planar(z), setup.precision)
    theirs = Side(opponent, partial(opponent, mask=None, first=first), z)
    agree(variant, to_complex(ours.value()), theirs.value())
    return setup.measured(f"{variant} against complex64", ours, theirs)


def against_real(setup: Setup) -> Measured:
    """The published layer against BERT's with as many real numbers: as wide, and twice as wide inside."""
    name, settings = next(iter(VARIANTS.items()))
    shape = setup.shape
    layer = _layer(shape.model_copy(update=settings), setup.seed)
    bert = BertConfig(
        vocab_size=1,
        width=shape.width,
        layers=1,
        heads=shape.heads,
        hidden=2 * shape.hidden,
        max_len=1,
        dropout=0,
        attention_dropout=0,
    )
    real = _layer(bert, setup.seed)
    real.attention.score = _fused  # as transformers computes it
    z, first = setup.states(), setup.first()
    ours = Side(layer, partial(layer, mask=None, first=first), planar(z), setup.precision)
    theirs = Side(real, partial(real, mask=None), z.real.contiguous(), setup.precision)
    sizes = " for ".join(f"{parameter_count(one) / 1e6:.2f}M" for one in (real, layer))
    return setup.measured(f"{name} against BERT's with torch's fused attention, {sizes} real numbers", ours, theirs)


def against_complextorch(setup: Setup) -> Measured:
    """The layer that complextorch has, with the same weights; values are compared without its norms."""
    layer = _layer(setup.shape.model_copy(update={**VARIANTS["QBERT's stable layer"], "first": "layer"}), setup.seed)
    opponent, z = peers.layer(layer), setup.states()

    def side(module: nn.Module) -> Side:
        return Side(module, partial(module, mask=None), planar(z), setup.precision)

    theirs = Side(opponent, opponent, z)
    bare = peers.without_norms(opponent)
    agree("complextorch", to_complex(side(peers.without_norms(layer)).value()), Side(bare, bare, z).value())
    return setup.measured("CVBERT's layer against complextorch's", side(layer), theirs)


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


def _layer(config: EncoderConfig, seed: int) -> Block:
    encoder = build_encoder(config, seed)
    assert isinstance(encoder, Bert | Qbert)
    block = encoder.blocks[0]
    assert isinstance(block, Block)
    return block
