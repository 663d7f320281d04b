"""How a finished model is run: what no result depends on but its speed, and which sentence vector it gives."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psitext.config import Config
from psitext.nn.numerics import Precision


class UseConfig(Config):
    """Settings of ``predict``, ``encode`` and ``evaluate`` (a TOML file, or ``--set pool=mean``)."""

    pool: Literal["pooled", "cls", "mean"] | None = None  # None: as the model was made; another leaves its head out
    precision: Precision = "fp32"
    batch_tokens: int | None = Field(default=None, gt=0)  # real tokens in a batch; None: as many as suit the device
