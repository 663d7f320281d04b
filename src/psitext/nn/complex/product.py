"""z W^T for planar z and W in three real products instead of four (Gauss), forward and backward.

Letters: N vectors, D width before, F width after. With z = x + iy and W = A + iB,

    Re z W^T = x (A - B)^T + (x - y) B^T
    Im z W^T = y (A + B)^T + (x - y) B^T

share a product, onto which the two others are added. The gradients are such products themselves: with g = dL/dRe + i
dL/dIm, which is what torch calls the gradient of a complex tensor (twice Wirtinger's dL/d conj z), they are dz = g
conj(W) and dW = g^T conj(z).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from psitext.nn.numerics import product_dtype

FEW = 128  # below that many vectors, making the sums of weights costs more time than the fourth product


def complex_product(x: Tensor, weight_re: Tensor, weight_im: Tensor, bias: Tensor | None = None) -> Tensor:
    """z W^T + b; x (2, ..., D), weights (F, D), bias (2, F) -> (2, ..., F). Under autocast in its dtype."""
    dtype = product_dtype(x)
    if dtype != product_dtype(weight_re):
        raise TypeError(f"planar values of {x.dtype} cannot be multiplied with weights of {weight_re.dtype}")
    rows = x.to(dtype).reshape(2, -1, x.shape[-1])  # (2, N, D)
    out: Tensor = _Product.apply(rows, weight_re, weight_im, bias, False)  # type: ignore[no-untyped-call]
    return out.view(*x.shape[:-1], len(weight_re))


class _Product(torch.autograd.Function):
    """(2, N, D) times the transpose of (F, D), or of its conjugate, in the dtype of the first; (2, N, F)."""

    @staticmethod
    def forward(z: Tensor, re: Tensor, im: Tensor, bias: Tensor | None, conjugate: bool) -> Tensor:
        return (_four if z.shape[1] < FEW else _three)(z, re, im, bias, conjugate)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None, bool], output: Tensor) -> None:
        z, re, im, _, ctx.conjugate = inputs
        ctx.save_for_backward(z, re, im)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        z, re, im = ctx.saved_tensors
        wanted, conjugate = ctx.needs_input_grad, ctx.conjugate
        dz = dre = dim = None
        if wanted[0]:
            dz = _Product.apply(grad, re.mT, im.mT, None, not conjugate)  # type: ignore[no-untyped-call]
        if wanted[1] or wanted[2]:
            # g^T conj(z), and for the conjugate of a weight the conjugate of that.
            dw = _Product.apply(grad.mT, z[0].mT, z[1].mT, None, True).to(re.dtype)  # type: ignore[no-untyped-call]
            dre, dim = dw[0], -dw[1] if conjugate else dw[1]
        return dz, dre, dim, grad.sum(1) if wanted[3] else None, None


def _three(z: Tensor, re: Tensor, im: Tensor, bias: Tensor | None, conjugate: bool) -> Tensor:
    x, y = z
    difference, less, more = x - y, re - im, re + im  # sums are made before they are rounded
    if conjugate:
        difference, less, more = y - x, more, less
    out = z.new_empty(2, z.shape[1], len(re))
    torch.mm(difference, im.to(z.dtype).mT, out=out[0])
    if bias is None:
        out[1] = out[0]
    else:
        bias = bias.to(z.dtype)  # of another dtype it would make sums of that one, twice as large, and round them
        torch.add(out[0], bias[1], out=out[1])
        out[0] += bias[0]
    out[0].addmm_(x, less.to(z.dtype).mT)
    out[1].addmm_(y, more.to(z.dtype).mT)
    return out


def _four(z: Tensor, re: Tensor, im: Tensor, bias: Tensor | None, conjugate: bool) -> Tensor:
    along, across = z @ re.to(z.dtype).mT, z @ im.to(z.dtype).mT
    sign = -1 if conjugate else 1
    out = torch.stack([torch.sub(along[0], across[1], alpha=sign), torch.add(along[1], across[0], alpha=sign)])
    return out if bias is None else out.add_(bias[:, None].to(z.dtype))
