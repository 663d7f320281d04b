"""The planar layout, in and out, and what acts on both parts alike.

A planar tensor is (2, ..., D): real parts, then imaginary parts. Only the shape is fixed, not the strides: a view of
(..., 2, D) memory is as good, and every layer here keeps the strides that it is given where it can.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from psitext.nn.dropout import Dropout, dropout
from psitext.nn.numerics import MIN_MODULUS


def planar(z: Tensor) -> Tensor:
    """Complex (...) -> its parts (2, ...), of complex64 in float32, of complex128 in float64."""
    if not z.is_complex():
        raise TypeError(f"planar() takes a complex tensor, not {z.dtype}; a real one has no imaginary part to show")
    return torch.stack([z.real, z.imag])


def to_complex(x: Tensor) -> Tensor:
    """Parts (2, ...) -> complex (...): complex128 of float64, complex64 of everything shorter."""
    check_planar(x)
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    return torch.complex(wide[0], wide[1])


def side_by_side(x: Tensor) -> Tensor:
    """(2, ..., D) -> (..., 2 D), imaginary parts after real ones; a view where memory lies so already."""
    return x.movedim(0, -2).flatten(-2)


def apart(x: Tensor) -> Tensor:
    """The way back; (..., 2 D) -> (2, ..., D), a view."""
    return x.unflatten(-1, (2, -1)).movedim(-2, 0)  # type: ignore[no-any-return]


def check_planar(x: Tensor, width: int | None = None) -> None:
    """Refuse what is not (2, ..., width): a complex tensor above all, whose imaginary part a cast would lose."""
    if x.is_complex():
        raise TypeError(f"a planar real tensor (2, ...) is wanted, not {x.dtype}; planar() makes one")
    if x.ndim < 1 or x.shape[0] != 2 or (width is not None and (x.ndim < 2 or x.shape[-1] != width)):
        wanted = "(2, ...)" if width is None else f"(2, ..., {width})"
        raise ValueError(f"a planar tensor {wanted} is wanted, not one of shape {tuple(x.shape)}")


def modulus(x: Tensor) -> Tensor:
    """|z|; (2, ...) -> (...). Its gradient is finite everywhere and 0 at 0, where |z| has none."""
    check_planar(x)
    size: Tensor = _Modulus.apply(x)  # type: ignore[no-untyped-call]
    return size


class _Modulus(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.hypot(x[0], x[1])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, size = ctx.saved_tensors
        gradient: Tensor = x * (grad / size.clamp_min(MIN_MODULUS))
        return gradient


def planar_dropout(x: Tensor, rate: float) -> Tensor:
    """Zero complex elements with probability ``rate``, both parts together, and scale the others; (2, ...)."""
    if rate == 0:
        return x
    scale = dropout(x.new_ones(()).expand(x.shape[1:]), rate)  # (...), 0 or 1 / (1 - rate)
    return x * scale


class PlanarDropout(Dropout):
    """Dropout of complex elements while training; (2, ...) -> (2, ...)."""

    def forward(self, x: Tensor) -> Tensor:
        """(2, ...) -> (2, ...), one mask for both parts."""
        check_planar(x)
        return planar_dropout(x, self.rate) if self.training else x
