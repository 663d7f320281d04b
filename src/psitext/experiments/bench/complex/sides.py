"""The two sides of a comparison: that they agree in value, then forward and backward passes in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from psitext.experiments.bench.timing import Timing, compare
from psitext.nn.numerics import FLOAT32_GAP, Precision, autocast

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Side:
    """A function of ``x`` and of the parameters of ``module``."""

    module: nn.Module
    call: Callable[[Tensor], Tensor]
    x: Tensor
    precision: Precision = "fp32"

    @torch.no_grad()
    def value(self) -> Tensor:
        """In float32."""
        return self.call(self.x)

    def passes(self) -> Callable[[], None]:
        """A forward and a backward pass, with gradients of ``x`` and of all parameters. The gradient that comes from
        above is fixed, as if a next layer handed it over.
        """
        x = self.x.detach().clone().requires_grad_()
        like = self.value()
        above = torch.randn(like.shape, dtype=like.dtype, generator=torch.Generator().manual_seed(0))

        def run() -> None:
            with autocast(CPU, self.precision):
                out = self.call(x)
            out.backward(above)
            self.module.zero_grad(set_to_none=True)
            x.grad = None

        return run


@torch.no_grad()
def agree(what: str, ours: Tensor, theirs: Tensor) -> None:
    """Refuse to time two things that differ. Values are about 1."""
    gap = float((ours - theirs).abs().max())
    if not gap < FLOAT32_GAP:
        raise RuntimeError(f"{what}: the two sides differ by {gap:.1e}, so their times say nothing")


def seconds(ours: Side, theirs: Side, rounds: int, seed: int) -> Timing:
    """Processor time of both passes."""
    mine, other = [ours.passes()], [theirs.passes()]
    return compare([(mine, other)] * (rounds + 1), seed=seed)
