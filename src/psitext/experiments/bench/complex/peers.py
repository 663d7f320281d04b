"""What complextorch has of such a layer: its TransformerEncoderLayer with the softmax of real parts.

It is float32 throughout: under autocast its complex64 stays complex64, and a layer cast to bfloat16 has lost its
imaginary parts. Of a QBERT it lacks masks, biases of the attention's projections, a projection of keys and values
alone, the score by moduli (MagSoftMax in its attention fails: the dropout after it wants complex weights), the norm of
[CLS], embeddings with gradients and heads; and its norm whitens the covariance of both parts, unlike equation 7. So it
is compared with a layer of ours that has as little, and values are compared without the norms.
"""

from __future__ import annotations

import copy
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from psitext.experiments.bench.complex.native import Linear
from psitext.nn.transformer import Block


def installed() -> bool:
    """Whether complextorch is there; psitext does not need it."""
    return find_spec("complextorch") is not None


def layer(ours: Block) -> nn.Module:
    """Their layer with the weights of ours; complex (R, T, D) -> (R, T, D)."""
    qkv, out, up, down = map(Linear, (ours.attention.qkv, ours.attention.out, ours.up, ours.down))
    hidden, width = up.weight.shape
    make: Any = import_module("complextorch.nn").TransformerEncoderLayer
    theirs = make(width, ours.attention.heads, dim_feedforward=hidden, dropout=0.0, softmax_on="real")
    attention, feed = theirs.self_attn, theirs.ffn
    with torch.no_grad():
        for into, weight in zip((attention.w_q, attention.w_k, attention.w_v), qkv.weight.chunk(3), strict=True):
            into.linear.weight.copy_(weight)
        attention.fc.linear.weight.copy_(out.weight)
        for into, our in ((feed.linear1, up), (feed.linear2, down)):
            into.linear.weight.copy_(our.weight)
            into.linear.bias.copy_(our.bias)
    return theirs  # type: ignore[no-any-return]


def without_norms(module: nn.Module) -> nn.Module:
    """A copy of a layer, theirs or ours, that normalises nothing."""
    bare = copy.deepcopy(module)
    for name, part in list(bare.named_modules()):
        if type(part).__name__ in ("LayerNorm", "ComplexLayerNorm"):
            bare.set_submodule(name, nn.Identity())
    return bare
