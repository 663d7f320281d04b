"""Optimisers and learning-rate schedules."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from pydantic import Field
from torch import nn
from torch.optim import AdamW, Optimizer

from psitext.config import Config
from psitext.nn.numerics import ADAM_EPS


class OptimConfig(Config):
    """Settings of AdamW and its schedule."""

    lr: float = Field(default=5e-4, gt=0)  # at the peak
    warmup: float = Field(default=0.06, ge=0, lt=1)  # fraction of all steps
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    weight_decay: float = Field(default=0.01, ge=0)  # decoupled (Loshchilov and Hutter 2019); never on biases and norms
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    eps: float = Field(default=ADAM_EPS, gt=0)
    clip: float = Field(default=1.0, ge=0)  # largest global gradient norm; 0 = never clip
    head_lr: float = Field(default=1.0, gt=0)  # factor on the learning rate of the head, which starts from nothing


def adamw(encoder: nn.Module, head: nn.Module, config: OptimConfig) -> Optimizer:
    """AdamW over the trainable parameters: matrices decay, biases and norms do not, a shared parameter counts as
    the encoder's.
    """
    own = {id(p) for p in encoder.parameters()}
    groups = [
        *_groups(encoder.parameters(), config.lr, config.weight_decay),
        *_groups(
            (p for p in head.parameters() if id(p) not in own),
            config.lr * config.head_lr,
            config.weight_decay,
        ),
    ]
    # The fused kernel is several times faster than the loop on a CPU as well as on a GPU.
    return AdamW(groups, betas=(config.beta1, config.beta2), eps=config.eps, fused=True)


def factor(step: int, steps: int, config: OptimConfig) -> float:
    """What the peak learning rate is multiplied by at ``step`` (0-based) of ``steps``."""
    warm = round(config.warmup * steps)
    if step < warm:
        return (step + 1) / warm
    left = (steps - step) / max(steps - warm, 1)  # 1 at the end of the warm-up, above 0 at the last step
    if config.schedule == "linear":
        return left
    if config.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * (1 - left)))
    return 1.0


def set_rate(optimizer: Optimizer, scale: float) -> None:
    """Set every group's learning rate to its peak times ``scale``."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * scale


def _groups(parameters: Iterable[nn.Parameter], lr: float, decay: float) -> list[dict[str, object]]:
    trained = [p for p in parameters if p.requires_grad]
    split = [(decay, [p for p in trained if p.ndim > 1]), (0.0, [p for p in trained if p.ndim <= 1])]
    return [{"params": ps, "lr": lr, "peak": lr, "weight_decay": rate} for rate, ps in split if ps]
