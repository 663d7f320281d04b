"""Settings of an optimiser and its schedule."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psitext.config import Config
from psitext.nn.numerics import ADAM_EPS


class OptimConfig(Config):
    """Settings of AdamW, of CAdamW, and of their schedule.

    ``kind``: "auto" is "cadamw" for a network with complex weights and "adamw" for any other; "adamw" on complex
    weights takes each half for a weight of its own, which is the RAdamW of the QBERT paper's figure 4. CAdamW moves
    a complex weight by ``lr``, AdamW moves each half by it and so the weight by sqrt(2) ``lr``: a fair comparison
    gives CAdamW sqrt(2) times the rate, and the decay over sqrt(2), since the rate multiplies it.

    "cadamw-paper" decays as Algorithm 1 is printed, twice; there ``weight_decay`` is not multiplied by ``lr``.

    ``aggressive``: the share of the run in which encoder and head are updated in turns (``turns.py``).
    """

    kind: Literal["auto", "adamw", "cadamw", "cadamw-paper"] = "auto"
    lr: float = Field(default=5e-4, gt=0, le=1e9)  # at the peak
    warmup: float = Field(default=0.06, ge=0, lt=1)  # fraction of all steps
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    weight_decay: float = Field(default=0.01, ge=0)  # decoupled (Loshchilov and Hutter 2019); never on biases and norms
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, gt=0, lt=1)
    eps: float = Field(default=ADAM_EPS, gt=0)
    clip: float = Field(default=1.0, ge=0)  # largest global gradient norm; 0 = never clip
    # Factor on the learning rate of the head, which starts from nothing.
    head_lr: float = Field(default=1.0, gt=0, le=1e9)
    aggressive: float = Field(default=0.0, ge=0, le=1)  # 0: both parts at every step
    encoder_steps: int = Field(default=10, gt=0)  # of the encoder alone before each one of the head alone
