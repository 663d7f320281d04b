"""A recurrent arithmetic circuit as a scan over time that a tracer can follow.

    h_t = (W_H h_{t-1} + b_H) * (W_I x_t + b_I),    h = vector * 2^k

Source: NJP 24 053032, eq. 8. ``nn.scan`` runs the same for many models at once, with its own way back; the scale of
long texts is the same as there. Letters: B texts, L tokens, T steps, d features, H hidden numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

from psitext.encoders.rac import LONG, Cell, Rac

Carry = tuple[Tensor, Tensor]  # vector (B, H) and exponent k (B,), float
Moved = Callable[[Tensor, Tensor], Carry]  # the same state at the scale that it is kept at


class PlainRac(nn.Module):
    """Token ids -> the vector (B, H + 1) of a Bond and its log scale (B,).

    Words that do not count are left out here, as a ``TextConfig`` says: marks, padding, unknown ones where they are
    dropped, and what is beyond the longest text. Then short texts get their filler, where the circuit has one.
    """

    marks: Tensor  # ids that are no words

    def __init__(self, encoder: Rac, marks: list[int], keep: str) -> None:
        super().__init__()
        self.of = encoder
        self.keep = keep
        self.register_buffer("marks", torch.tensor(marks))
        self.moved: Moved = _scaled if encoder.config.steps > LONG else _unscaled

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Ids and mask (B, L)."""
        x, counts = self._words(ids, mask)
        log_scale = x.new_zeros(x.shape[:2])  # of every word
        for cell in self.of.cells:
            assert isinstance(cell, Cell)
            x, log_scale = self._run(cell, x, log_scale, counts)
        exponent = log_scale[-1]
        ones = torch.exp2(-exponent)[:, None]
        return torch.cat([x[-1], ones], dim=1), exponent * math.log(2)

    def _words(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Word vectors (T, B, d) and which of them count (T, B)."""
        config, words = self.of.config, self.of.words
        counts = (mask > 0) & (ids[..., None] != self.marks).all(-1)
        number = counts.long().cumsum(1)  # of the words up to here
        behind = number if self.keep == "first" else number[:, -1:] - number + 1
        counts = counts & (behind <= config.steps)
        x = words.token(ids)
        if config.pad != "none":
            filler = torch.zeros(config.features) if words.filler is None else words.filler
            before = torch.arange(config.steps)[None] < config.steps - counts.long().sum(1, keepdim=True)
            x = torch.cat([filler.expand(*before.shape, -1), x], dim=1)
            counts = torch.cat([before, counts], dim=1)
        return x.transpose(0, 1), counts.transpose(0, 1)

    def _run(self, cell: Cell, x: Tensor, exponent: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """One circuit over words x 2^exponent; its states (T, B, H) and their exponents (T, B)."""
        gates = x @ cell.inputs.T + torch.exp2(-exponent)[..., None] * cell.input_bias
        weight, bias, moved = cell.hidden, cell.hidden_bias, self.moved

        def step(carry: Carry, word: tuple[Tensor, Tensor, Tensor]) -> tuple[Carry, Carry]:
            vector, k = carry
            gate, up, counted = word
            after, scale = moved((vector @ weight.T + torch.exp2(-k)[:, None] * bias) * gate, k + up)
            after = torch.where(counted[:, None], after, vector)
            scale = torch.where(counted, scale, k)
            return (after, scale), (after.clone(), scale.clone())

        start = gates.new_zeros(gates.shape[1], len(weight)), gates.new_zeros(gates.shape[1])
        _, (states, scales) = scan(step, start, (gates, exponent, counts))
        return states, scales


def _unscaled(vector: Tensor, k: Tensor) -> Carry:
    return vector, k


def _scaled(vector: Tensor, k: Tensor) -> Carry:
    """The largest |component| in [1/2, 1), but k never below 0, where a bias would be lost."""
    size = vector.abs().amax(-1)
    after = torch.where(size > 0, (k + size.log2().floor() + 1).clamp_min(0), 0.0)
    return vector * torch.where(size > 0, torch.exp2(k - after), 0.0)[:, None], after
