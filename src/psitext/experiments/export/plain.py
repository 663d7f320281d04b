"""Complex layers as their formulas stand, planar from end to end: what a tracer can follow.

The layers that train are written for speed: three products in place of four, gradients by hand, branches on how many
vectors there are. These have the same parameters, and give the same to rounding. Letters as in ``encoders.qbert``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.encoders.qbert import CvbertConfig, Qbert, QbertConfig
from psitext.nn.complex.attention import modulus_score, split_score
from psitext.nn.complex.layout import apart, side_by_side
from psitext.nn.complex.linear import ComplexLinear
from psitext.nn.complex.norm import ComplexLayerNorm, FirstNorm
from psitext.nn.numerics import unit
from psitext.nn.transformer import Attention, Score


class PlainLinear(nn.Module):
    """z W^T + b in four real products; (2, ..., D) -> (2, ..., F)."""

    def __init__(self, of: ComplexLinear) -> None:
        super().__init__()
        self.of = of

    def forward(self, x: Tensor) -> Tensor:
        """(2, ..., D) -> (2, ..., F)."""
        of = self.of
        re = F.linear(x[0], of.weight_re, of.bias_re) - F.linear(x[1], of.weight_im)
        im = F.linear(x[0], of.weight_im, of.bias_im) + F.linear(x[1], of.weight_re)
        return torch.stack([re, im])


class PlainNorm(nn.Module):
    """(z - mean) / sigma * a + b (QBERT, eq. 7); (2, ..., D) -> (2, ..., D)."""

    def __init__(self, of: ComplexLayerNorm) -> None:
        super().__init__()
        self.of = of

    def forward(self, x: Tensor) -> Tensor:
        """(2, ..., D) -> (2, ..., D)."""
        of, h = self.of, x - x.mean(-1, keepdim=True)
        re, im = h * (h.square().sum(0).mean(-1, keepdim=True) + of.eps).rsqrt()
        return torch.stack(
            [re * of.weight_re - im * of.weight_im + of.bias_re, re * of.weight_im + im * of.weight_re + of.bias_im]
        )


class PlainFirst(nn.Module):
    """A norm of [CLS] apart from that of the other tokens, both computed for all; (2, ..., D) -> (2, ..., D)."""

    def __init__(self, of: FirstNorm, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.how = of.how

    def forward(self, x: Tensor, first: Tensor) -> Tensor:
        """x (2, ..., D), first (...) bool, True on first tokens."""
        rays = apart(unit(side_by_side(x))) * (1.0 if self.how == "unit" else x.shape[-1] ** 0.5)
        return torch.where(first[..., None], rays, self.inner(x))


def plain_modulus(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """softmax(|q k^H| / sqrt(E)) v (QBERT, eqs. 3 and 5); without dropout."""
    return _softmax(moduli(_hermitian(q, k)), mask) @ v


def plain_split(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """(softmax(Re q k^H / sqrt(E)) + i softmax(Im q k^H / sqrt(E))) v (QBERT, eqs. 3 and 4); without dropout."""
    re, im = _softmax(_hermitian(q, k), mask)
    return torch.stack([re @ v[0] - im @ v[1], re @ v[1] + im @ v[0]])


def moduli(x: Tensor) -> Tensor:
    """|z|; (2, ...) -> (...)."""
    return x.square().sum(0).sqrt()


def _hermitian(q: Tensor, k: Tensor) -> Tensor:
    """q k^H / sqrt(E); (2, R, H, T, T)."""
    (q_re, q_im), (k_re, k_im) = q * q.shape[-1] ** -0.5, k.mT
    return torch.stack([q_re @ k_re + q_im @ k_im, q_im @ k_re - q_re @ k_im])


def _softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    return (scores if mask is None else scores.masked_fill(~mask, float("-inf"))).softmax(-1)


SCORES: dict[Score, Score] = {modulus_score: plain_modulus, split_score: plain_split}
LAYERS: dict[type[nn.Module], Callable[..., nn.Module]] = {ComplexLinear: PlainLinear, ComplexLayerNorm: PlainNorm}


class PlainQbert(nn.Module):
    """A QBERT or CVBERT with plain layers: rows of tokens -> planar states (2, R, T, D). It shares all parameters."""

    def __init__(self, encoder: Qbert) -> None:
        super().__init__()
        parameters = {id(parameter): parameter for parameter in encoder.parameters()}
        self.of = with_plain_layers(copy.deepcopy(encoder, parameters))

    @property
    def config(self) -> QbertConfig | CvbertConfig:
        """The encoder's."""
        found: QbertConfig | CvbertConfig = self.of.config  # type: ignore[assignment]
        return found

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        """All (R, T), mask (R, 1, 1, T); the first token of every row is its [CLS]."""
        of = self.of
        x = of.token(ids) + of.position(positions) + of.segment(segments)  # type: ignore[operator]
        first = None if self.config.first == "layer" else positions == 0
        if of.norm is not None:
            x = of.norm(x) if first is None else of.norm(x, first)  # type: ignore[operator]
        for block in of.blocks:  # type: ignore[union-attr]
            x = block(x, mask, None, first)
        return x  # type: ignore[no-any-return]


def with_plain_layers(module: nn.Module) -> nn.Module:
    """The same module, its layers replaced by plain ones of the same parameters."""
    for name, child in module.named_children():
        if isinstance(child, FirstNorm):
            setattr(module, name, PlainFirst(child, plain_layer(child.inner)))
        else:
            setattr(module, name, plain_layer(child))
    if isinstance(module, Attention):
        module.score = SCORES.get(module.score, module.score)
    return module


def plain_layer(module: nn.Module) -> nn.Module:
    """A plain layer in place of one that has one; any other module with plain layers inside."""
    made = LAYERS.get(type(module))
    return with_plain_layers(module) if made is None else made(module)
