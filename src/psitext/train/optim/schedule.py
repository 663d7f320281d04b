"""Learning rates over the steps of a run."""

from __future__ import annotations

import math

from torch.optim import Optimizer

from psitext.train.optim.settings import OptimConfig


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
