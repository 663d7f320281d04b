"""Encoder and head as one module, so that one forward pass is what DDP and FSDP wrap."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from torch import nn

from psitext.heads.affine import Prediction
from psitext.state import State
from psitext.text.batches import Batch


class Network(nn.Module):
    """batch -> (prediction, state)."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def train(self, mode: bool = True) -> Self:
        """Training or evaluation mode; an encoder that is frozen whole stays in evaluation mode, without dropout."""
        super().train(mode)
        if not any(parameter.requires_grad for parameter in self.encoder.parameters()):
            self.encoder.eval()
        return self

    def forward(self, batch: Batch) -> tuple[Prediction, State]:
        """Encode, then read out. A head that says which token states it ``reads`` spares the encoder the others."""
        reads = getattr(self.head, "reads", None)
        state = self.encoder(batch if reads is None else replace(batch, read=reads(batch)))
        return self.head(state, batch), state


def parameter_count(module: nn.Module) -> int:
    """Real numbers in the parameters: a complex one counts twice, a shared one once."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in module.parameters())
