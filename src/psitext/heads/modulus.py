"""The head of a CVBERT: a complex dense layer, and moduli as logits (QBERT, section 5.2).

A modulus is never negative. Classes do not mind, since only differences of logits count; a score might be of either
sign, so a regression is the difference of two moduli, |z_1| - |z_0|: the log-odds that two classes would have.
Letters: B sentences, D width, K classes.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from psitext.config import Config
from psitext.errors import UserError
from psitext.heads.affine import Prediction
from psitext.nn.complex.layout import PlanarDropout, modulus
from psitext.nn.complex.linear import ComplexLinear
from psitext.nn.numerics import autocast, float32_scores
from psitext.state import State
from psitext.text.batches import Batch


class ModulusConfig(Config):
    """Settings of a modulus head."""

    kind: Literal["modulus"] = "modulus"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    init_std: float = Field(default=0.02, ge=0)  # of each part of a weight


class ModulusHead(nn.Module):
    """Classes or a score for a whole text or pair: {"logits": (B, K)}; parameters ``dense.weight_re`` and so on."""

    def __init__(self, width: int, outputs: int, config: ModulusConfig) -> None:
        super().__init__()
        self.width = width
        self.outputs = outputs
        self.dropout = PlanarDropout(config.dropout)
        self.dense = ComplexLinear(width, 2 if outputs == 1 else outputs)
        with torch.no_grad():
            self.dense.weight_re.normal_(std=config.init_std)
            self.dense.weight_im.normal_(std=config.init_std)

    def reads(self, batch: Batch) -> Tensor:
        """No token's state."""
        return batch.starts[:0]

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Read the sentence vector at its own size; a real one has zero imaginary parts."""
        if state.width != self.width:
            raise UserError(f"a modulus head of width {self.width} cannot read a state of width {state.width}")
        with autocast(state.vector.device, "fp32"):
            sizes = modulus(self.dense(self.dropout(_planar(state))))  # (B, K), or (B, 2) of a regression
        return {"logits": sizes if self.outputs > 1 else sizes[:, 1:] - sizes[:, :1]}


def _planar(state: State) -> Tensor:
    """(2, B, D) in float32 at least, by way of ``to_real``, which applies a bond's scale."""
    real = float32_scores(state.to_real())
    if state.vector.is_complex():
        return torch.stack(real.chunk(2, dim=-1))
    return torch.stack([real, torch.zeros_like(real)])
