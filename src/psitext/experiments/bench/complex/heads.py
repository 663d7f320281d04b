"""The unitary of the measurement head, exp(i (W + W^H) / 2), on a batch of kets: against torch.matrix_exp."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from psitext.experiments.bench.complex.native import joined
from psitext.experiments.bench.complex.sides import Side, agree, seconds
from psitext.experiments.bench.timing import Measured
from psitext.nn.numerics import unit
from psitext.nn.unitary.exponential import Exponential
from psitext.randomness import torch_seed

WIDTH, KETS = 768, 32
# Deviations of W: appendix A's, our default, and that of every weight in section 4.3, whose spectrum spans [-5.5, 5.5].
DEVIATIONS = (0.001, 0.02, 0.1)


class Native(nn.Module):
    """U = exp(iH) of a complex parameter W, then U ket; complex (B, D) -> (B, D)."""

    def __init__(self, ours: Exponential) -> None:
        super().__init__()
        self.weight = joined(ours.weight_re, ours.weight_im)

    def forward(self, ket: Tensor) -> Tensor:
        """As equation 8 stands."""
        unitary = torch.matrix_exp(1j * (self.weight + self.weight.mH) / 2)
        return ket @ unitary.T


def unitary_speed(rounds: int, seed: int, width: int = WIDTH, kets: int = KETS) -> Iterator[Measured]:
    """Seconds of a forward and a backward pass, one line a deviation of W."""
    rng = torch.Generator().manual_seed(torch_seed(seed, "kets"))
    ket = unit(torch.randn(kets, width, dtype=torch.complex64, generator=rng))
    for deviation in DEVIATIONS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(seed, "unitary"))
            head = Exponential(width, deviation)
        native = Native(head)
        ours, theirs = Side(head, head.train(), ket), Side(native, native, ket)
        agree("exp(iH) ket", width**0.5 * ours.value(), width**0.5 * theirs.value())
        timing = seconds(ours, theirs, rounds, seed)
        yield Measured(
            f"exp(iH) of {kets} kets of width {width}, deviation {deviation}, against torch.matrix_exp",
            "s",
            timing.ours,
            timing.theirs,
            timing.ratio,
        )
