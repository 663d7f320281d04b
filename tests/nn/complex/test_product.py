"""The three products of Gauss: against complex128 products, value and gradients of every order, and counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import oracle
from psitext.nn.complex.product import FEW, complex_product

COUNTS = [1, 3, FEW - 1, FEW, FEW + 5]  # four products on one side of FEW, three on the other


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("bias", [False, True])
def test_parity_with_complex128_products(count: int, bias: bool) -> None:
    z, weight, shift = oracle.random(count, 7), oracle.random(5, 7, seed=1), oracle.random(5, seed=2)

    def ours(x: Tensor, w: Tensor, *b: Tensor) -> Tensor:
        return complex_product(x, w[0], w[1], *b)

    oracle.assert_same(ours, oracle.linear, z, weight, *([shift] if bias else []))


@pytest.mark.parametrize("shape", [(7,), (0, 7), (2, 3, 7), (4, 5, 16, 7)])
def test_parity_any_leading_axes(shape: tuple[int, ...]) -> None:
    weight = oracle.random(5, 7)

    def ours(x: Tensor, w: Tensor) -> Tensor:
        out = complex_product(x, w[0], w[1])
        assert out.shape == (2, *shape[:-1], 5)
        return out

    oracle.assert_same(ours, oracle.linear, oracle.random(*shape, seed=1), weight)


def test_parity_strides_do_not_matter() -> None:
    z, weight = oracle.random(FEW, 2, 7), oracle.random(7, 9)

    def ours(x: Tensor, w: Tensor) -> Tensor:
        interleaved = x.movedim(0, -2).contiguous().movedim(-2, 0)  # (..., 2, D) memory
        w = w.mT.contiguous().mT
        return complex_product(interleaved, w[0].mT, w[1].mT)

    oracle.assert_same(ours, lambda z, w: z @ w, z, weight)


@pytest.mark.parametrize("count", [2, FEW])
def test_law_gradients_can_be_differentiated_again(count: int) -> None:
    x, re, im = (torch.randn(2, count, 2).double(), torch.randn(3, 2).double(), torch.randn(3, 2).double())
    inputs = [value.requires_grad_() for value in (x, re, im)]
    torch.manual_seed(0)
    # A random projection keeps the table of derivatives small.
    mix = torch.randn(2, count, 3, dtype=torch.float64)

    def scalar(*values: Tensor) -> Tensor:
        return (complex_product(*values) * mix).sum()

    assert torch.autograd.gradcheck(scalar, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(scalar, inputs, fast_mode=True)


class Products(TorchDispatchMode):
    """How many matrix products were run."""

    def __init__(self) -> None:
        super().__init__()
        self.count = Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__.rstrip("_")
        self.count["products"] += name in {"mm", "addmm", "bmm", "baddbmm"}
        return func(*args, **(kwargs or {}))


def test_law_three_products_forward_and_three_for_each_gradient() -> None:
    x, re, im = torch.randn(2, FEW, 4).requires_grad_(), torch.randn(FEW, 4).requires_grad_(), torch.randn(FEW, 4)
    with Products() as forward:
        out = complex_product(x, re, im)
    with Products() as backward:
        out.sum().backward()
    assert (forward.count["products"], backward.count["products"]) == (3, 6)
    frozen = complex_product(x.detach(), re.detach(), im.requires_grad_())
    with Products() as backward:
        frozen.sum().backward()
    assert backward.count["products"] == 3


@pytest.mark.parametrize("count", [4, FEW])
def test_parity_bfloat16_under_autocast(count: int) -> None:
    torch.manual_seed(0)
    x, re, im = torch.randn(2, count, 32), torch.randn(24, 32), torch.randn(24, 32)
    bias = torch.randn(2, 24)
    results = []
    for enabled in (False, True):
        leaves = [value.clone().requires_grad_() for value in (x, re, im, bias)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            out = complex_product(*leaves)
        assert out.dtype == (torch.bfloat16 if enabled else torch.float32)
        out.float().square().mean().backward()
        assert all(leaf.grad is not None and leaf.grad.dtype == torch.float32 for leaf in leaves)
        results.append([out.detach().float(), *(leaf.grad for leaf in leaves)])
    for exact, rounded in zip(*results, strict=True):
        assert (rounded - exact).norm() < 0.02 * exact.norm()  # some units of 2^-9


def test_known_doubles_stay_doubles_under_autocast() -> None:
    x, re, im = (torch.randn(*shape, dtype=torch.float64) for shape in ((2, 3, 4), (5, 4), (5, 4)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(complex_product(x, re, im), complex_product(x, re, im))
        assert complex_product(x, re, im).dtype == torch.float64


def test_known_other_precision_is_refused() -> None:
    x, weight = torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(5, 4)
    with pytest.raises(TypeError, match=r"torch\.float64 cannot be multiplied with weights of torch\.float32"):
        complex_product(x, weight, weight)
