"""Sequences of unequal lengths without masks: sorted, the longest first, those alive at a step are the first ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class Sequences:
    """B sequences in T steps; where all have T words nothing but the first two is set, and nothing is done."""

    steps: int
    batch: int
    lengths: Tensor | None = None  # (B,) sorted
    order: Tensor | None = None  # (B,) what is where after sorting
    alive: tuple[int, ...] | None = None  # sequences that have a word, at each of the T' <= T steps at which one has
    ended: Tensor | None = None  # (T', B) True where there is no word, sorted

    @classmethod
    def of(cls, lengths: Tensor | None, steps: int, batch: int) -> Sequences:
        """Of ``lengths`` (B,), integers from 0 to T."""
        if lengths is None:
            return cls(steps, batch)
        if tuple(lengths.shape) != (batch,) or bool(((lengths < 0) | (lengths > steps)).any()):
            raise ValueError(f"lengths of shape {tuple(lengths.shape)} instead of ({batch},) from 0 to {steps}")
        descending, order = lengths.sort(descending=True, stable=True)
        ended = torch.arange(steps, device=lengths.device)[:, None] >= descending
        alive = tuple(n for n in (batch - ended.sum(1)).tolist() if n)
        return cls(steps, batch, descending, order, alive, ended[: len(alive)])

    def sorted(self, tensor: Tensor) -> Tensor:
        """(..., T, B) -> (..., T', B) in this order, 0 where there is no word."""
        if self.order is None or self.ended is None:
            return tensor
        return tensor[..., : len(self.ended), :].index_select(-1, self.order).masked_fill(self.ended, 0)

    def restored(self, tensor: Tensor, *, states: bool) -> Tensor:
        """Results (..., B), of all ``states`` (..., T', B), in the order that was given and of all T steps."""
        if self.order is None or self.ended is None:
            return tensor
        tensor = tensor.index_select(-1, self.order.argsort())
        return F.pad(tensor, (0, 0, 0, self.steps - len(self.ended))) if states else tensor

    def rows(self, step: int) -> int:
        """How many have a word at ``step``."""
        return self.batch if self.alive is None else self.alive[step]

    def each_step(self, tensor: Tensor) -> Sequence[Tensor]:
        """Of (E, R, T', B) the T' views (E, R, n) of sequences alive; (R, n) where there is one model."""
        views = tensor.squeeze(0).unbind(-2)
        return views if self.alive is None else [view[..., :n] for view, n in zip(views, self.alive, strict=False)]

    def clear(self, tensor: Tensor) -> None:
        """Zeros where a sequence has ended, in (..., T', B)."""
        for step, n in enumerate(self.alive or ()):
            tensor[..., step, n:].zero_()

    def ends(self, state: Tensor, steps: int, rows: int) -> Tensor:
        """States (..., T' + 1, B) after ``steps`` steps, of ended sequences their last; the first ``rows`` of them."""
        if self.lengths is None:
            return state[..., steps, :]
        return state[..., self.lengths[:rows].clamp(max=steps), torch.arange(rows, device=state.device)]
