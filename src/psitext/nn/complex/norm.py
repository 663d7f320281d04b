"""Norms of complex vectors, each over one token and nothing else.

Letters: D width. The variance of complex numbers is the mean of |z - mean|^2 (QBERT, eq. 2), one real number: no
matrix of covariances, which costs stability and buys nothing.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from psitext.nn.complex.layout import apart, check_planar, side_by_side
from psitext.nn.numerics import LAYER_NORM_EPS, float32_scores, unit


class _PlanarAffine(nn.Module):
    """A complex factor and a complex shift for each of D places, begun as 1 and 0."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight_re, self.weight_im = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.bias_re, self.bias_im = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))

    def extra_repr(self) -> str:
        """Width and epsilon, for printing."""
        return f"width={len(self.weight_re)}, eps={self.eps}"


class ComplexLayerNorm(_PlanarAffine):
    """(z - mean) / sigma * a + b with sigma^2 = mean |z - mean|^2 + eps (QBERT, eq. 7); (2, ..., D) -> (2, ..., D).

    In float32 at least, as torch's own.
    """

    def __init__(self, width: int, eps: float = LAYER_NORM_EPS) -> None:
        super().__init__(width, eps)

    def forward(self, x: Tensor) -> Tensor:
        """(2, ..., D) -> (2, ..., D)."""
        check_planar(x, len(self.weight_re))
        x = float32_scores(x)
        affine = self.weight_re, self.weight_im, self.bias_re, self.bias_im
        out: Tensor = _Normalised.apply(x, *affine, self.eps)  # type: ignore[no-untyped-call]
        return out


class _Normalised(torch.autograd.Function):
    """Complex layer norm by hand: autograd's own would pass over the activations three times as often.

    With h = (z - mean) / sigma, g the gradient of h a + b and d = g conj(a) that of h: the gradient of a is g conj(h)
    and that of z is (d - mean d - h mean Re d conj(h)) / sigma, where means are over the D places of a token.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, a_re: Tensor, a_im: Tensor, b_re: Tensor, b_im: Tensor, eps: float) -> Tensor:
        h = x - x.mean(-1, keepdim=True)
        power = torch.linalg.vector_norm(h, dim=-1, keepdim=True).square().sum(0) / x.shape[-1]  # (..., 1)
        scale = (power + eps).rsqrt()
        re, im = h.mul_(scale)
        ctx.save_for_backward(h, scale, a_re, a_im)
        out = torch.empty_like(h)
        torch.addcmul(b_re, re, a_re, out=out[0]).addcmul_(im, a_im, value=-1)
        torch.addcmul(b_im, im, a_re, out=out[1]).addcmul_(re, a_im)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        h, scale, a_re, a_im = ctx.saved_tensors
        (re, im), (g_re, g_im) = h, grad
        # g conj(h): summed over tokens the gradient of a, over places with conj(a) that mean.
        turned = torch.empty_like(h)
        torch.mul(g_re, re, out=turned[0]).addcmul_(g_im, im)
        torch.mul(g_im, re, out=turned[1]).addcmul_(g_re, im, value=-1)
        with torch.autocast(h.device.type, enabled=False):  # a backward pass may run inside of it
            along = (turned[0] @ a_re + turned[1] @ a_im)[..., None] / h.shape[-1]  # (..., 1)
        da, db = (each.reshape(2, -1, h.shape[-1]).sum(1) for each in (turned, grad))
        d = turned  # no longer needed: its memory is
        torch.mul(g_re, a_re, out=d[0]).addcmul_(g_im, a_im)
        torch.mul(g_im, a_re, out=d[1]).addcmul_(g_re, a_im, value=-1)
        d.sub_(d.mean(-1, keepdim=True)).addcmul_(h, along, value=-1).mul_(scale)
        return d, da[0], da[1], db[0], db[1], None


class WideLayerNorm(_PlanarAffine):
    """Layer norm over the 2 D real coordinates, each with its own real factor and shift; (2, ..., D) -> (2, ..., D).

    What a real network's norm becomes when its 2 D coordinates are read as D complex ones; not linear over C.
    """

    def __init__(self, width: int, eps: float = LAYER_NORM_EPS) -> None:
        super().__init__(width, eps)
        nn.init.ones_(self.weight_im)

    def forward(self, x: Tensor) -> Tensor:
        """(2, ..., D) -> (2, ..., D), a view of (..., 2, D) memory; an input of such memory is not copied."""
        check_planar(x, len(self.weight_re))
        weight, bias = torch.cat([self.weight_re, self.weight_im]), torch.cat([self.bias_re, self.bias_im])
        out = F.layer_norm(side_by_side(float32_scores(x)), weight.shape, weight, bias, self.eps)
        return apart(out)


class FirstNorm(nn.Module):
    """``inner`` for all tokens but the first of each sentence, whose vector becomes a quantum state: unit norm, or
    ("rms") unit norm times sqrt(D), which is the scale of the other tokens (QBERT, sec. 4.2).
    """

    def __init__(self, inner: nn.Module, how: Literal["unit", "rms"]) -> None:
        super().__init__()
        self.inner = inner
        self.how = how

    def forward(self, x: Tensor, first: Tensor) -> Tensor:
        """x (2, ..., D), first (...) bool, True on first tokens -> (2, ..., D)."""
        if first.shape != x.shape[1:-1]:
            raise ValueError(f"first tokens of shape {tuple(first.shape)} do not fit states of {tuple(x.shape)}")
        out: Tensor = self.inner(x)
        at = first.flatten().nonzero().squeeze(-1)  # (B,)
        picked = float32_scores(x.reshape(2, -1, x.shape[-1]).index_select(1, at))  # (2, B, D)
        rays = unit(side_by_side(picked)) * (1.0 if self.how == "unit" else x.shape[-1] ** 0.5)
        return out.reshape(2, -1, x.shape[-1]).index_copy(1, at, apart(rays)).view(out.shape)

    def extra_repr(self) -> str:
        """The scale, for printing."""
        return f"how={self.how}"
