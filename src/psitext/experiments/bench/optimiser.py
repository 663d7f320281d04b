"""One step of CAdamW on the weights of a QBERT, against the algorithm as it is typeset and against torch's AdamW."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from psitext.encoders.qbert import Qbert, QbertConfig
from psitext.experiments.bench.timing import Measured, compare
from psitext.randomness import generator
from psitext.train.network import parameter_count
from psitext.train.optim import CAdamW
from psitext.train.optim.groups import pair

# QBERT-base, of which three layers and a quarter of the words do: 35M real numbers, far more than a cache holds.
SHAPE = QbertConfig(layers=3, vocab_size=8_192, queries=False, outputs=False)
STEPS = 2  # of a round
SETTINGS: dict[str, Any] = {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}

Shapes = list[torch.Size]


def cadamw_speed(rounds: int, seed: int, shape: QbertConfig = SHAPE) -> Iterator[Measured]:
    """Seconds a step, one line an opponent."""
    with torch.device("meta"):
        network = Qbert(shape)
    shapes = [re.shape for re, _ in pair(network.named_parameters()).complex]
    size = f"{parameter_count(network) / 1e6:.0f}M real numbers"
    opponents: dict[str, Callable[[Shapes, int], Callable[[], object]]] = {
        "Algorithm 1 as typeset, complex64": partial(_typeset, real_square=False),
        "Algorithm 1 as typeset, complex64, its second moment real": partial(_typeset, real_square=True),
        "torch's AdamW, complex64": _native,
        "torch's fused AdamW on the halves": _on_halves,
    }
    ours = _cadamw(shapes, seed)
    for name, make in opponents.items():
        theirs = make(shapes, seed)
        timing = compare([([ours] * STEPS, [theirs] * STEPS)] * (rounds + 1), seed=seed)
        yield Measured(
            f"a CAdamW step of {size} against {name}", "s", timing.ours / STEPS, timing.theirs / STEPS, timing.ratio
        )


@dataclass
class Typeset:
    """Lines 7 to 13 of Algorithm 1, one torch expression each, with complex parameters; decay once, as in AdamW."""

    theta: list[Tensor]
    slopes: list[Tensor]
    real_square: bool  # g conj(g) without the imaginary part that is zero
    settings: dict[str, Any] = field(default_factory=SETTINGS.copy)
    t: int = 0
    m: list[Tensor] = field(default_factory=list)
    v: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.m = [torch.zeros_like(theta) for theta in self.theta]
        self.v = [torch.zeros_like(theta.real if self.real_square else theta) for theta in self.theta]

    def step(self) -> None:
        """Update all parameters."""
        (beta1, beta2), lr = self.settings["betas"], self.settings["lr"]
        self.t += 1
        for i, (theta, g) in enumerate(zip(self.theta, self.slopes, strict=True)):
            square = (g * g.conj()).real if self.real_square else g * g.conj()
            self.m[i] = beta1 * self.m[i] + (1 - beta1) * g
            self.v[i] = beta2 * self.v[i] + (1 - beta2) * square
            m_hat = self.m[i] / (1 - beta1**self.t)
            v_hat = self.v[i] / (1 - beta2**self.t)
            self.theta[i] = theta - lr * (
                m_hat / (torch.sqrt(v_hat) + self.settings["eps"]) + self.settings["weight_decay"] * theta
            )


def start(shapes: Shapes, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """Complex parameters and gradients, the same for all sides."""
    rng = torch.Generator().manual_seed(int(generator(seed, "optimiser").integers(2**31)))
    theta, slopes = (
        [scale * torch.randn(shape, dtype=torch.complex64, generator=rng) for shape in shapes] for scale in (0.02, 1e-3)
    )
    return theta, slopes


def _typeset(shapes: Shapes, seed: int, *, real_square: bool) -> Callable[[], object]:
    return Typeset(*start(shapes, seed), real_square).step


def _native(shapes: Shapes, seed: int) -> Callable[[], object]:
    return AdamW(_with_slopes(*start(shapes, seed)), foreach=True, **SETTINGS).step


def _on_halves(shapes: Shapes, seed: int) -> Callable[[], object]:
    return AdamW(_halves(shapes, seed), fused=True, **SETTINGS).step


def _cadamw(shapes: Shapes, seed: int) -> Callable[[], object]:
    return CAdamW([{"params": _halves(shapes, seed), "pairs": len(shapes)}], **SETTINGS).step


def _halves(shapes: Shapes, seed: int) -> list[nn.Parameter]:
    theta, slopes = ([half.clone() for z in zs for half in (z.real, z.imag)] for zs in start(shapes, seed))
    return _with_slopes(theta, slopes)


def _with_slopes(values: list[Tensor], slopes: list[Tensor]) -> list[nn.Parameter]:
    parameters = [nn.Parameter(value) for value in values]
    for parameter, slope in zip(parameters, slopes, strict=True):
        parameter.grad = slope
    return parameters
