"""Sequences of unequal lengths without masks: sorted, the longest first, those alive at a step are the first ones.

A step works on these, rounded up to whole lines of the cache; where a sequence has ended its gates are 0, and so are
its states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby, pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

LINE = 16  # float32 in a line of the cache


@dataclass(frozen=True, slots=True)
class Sequences:
    """B sequences in T steps, of which T' <= T are those at which one has a word."""

    steps: int
    batch: int
    alive: tuple[int, ...]  # (T',) sequences that have a word at each step
    groups: tuple[tuple[int, int, int], ...]  # (first step, last, n): the first n sequences are worked on
    lengths: Tensor | None = None  # (B,) sorted; None: all T
    order: Tensor | None = None  # (B,) what is where after sorting
    ended: Tensor | None = None  # (T', B) True where there is no word, sorted

    @classmethod
    def of(cls, lengths: Tensor | None, steps: int, batch: int) -> Sequences:
        """Of ``lengths`` (B,), integers from 0 to T."""
        if lengths is None:
            return cls(steps, batch, (batch,) * steps, ((0, steps, batch),))
        if tuple(lengths.shape) != (batch,) or bool(((lengths < 0) | (lengths > steps)).any()):
            raise ValueError(f"lengths of shape {tuple(lengths.shape)} instead of ({batch},) from 0 to {steps}")
        descending, order = lengths.sort(descending=True, stable=True)
        ended = torch.arange(steps, device=lengths.device)[:, None] >= descending
        alive = tuple(n for n in (batch - ended.sum(1)).tolist() if n)
        groups, first = [], 0
        for width, members in groupby(min(batch, -(-n // LINE) * LINE) for n in alive):
            last = first + len(list(members))
            groups.append((first, last, width))
            first = last
        return cls(steps, batch, alive, tuple(groups), descending, order, ended[: len(alive)])

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

    def last_words(self) -> dict[int, slice]:
        """By step the sequences whose last word is there; by -1 those without words."""
        counts = enumerate(pairwise((self.batch, *self.alive, 0)), start=-1)
        return {step: slice(after, now) for step, (now, after) in counts if after < now}

    def each_step(self, tensor: Tensor) -> list[Tensor]:
        """Of (E, R, T', B) the T' views (E, R, n) that are worked on; (R, n) where there is one model."""
        alone = tensor.squeeze(0)
        return [view for first, last, n in self.groups for view in alone[..., first:last, :n].unbind(-2)]

    def every_step(self, view: Callable[[int], Tensor]) -> list[Tensor]:
        """T' times that of n sequences."""
        return [each for first, last, n in self.groups for each in [view(n)] * (last - first)]

    def clear(self, tensor: Tensor) -> None:
        """Zeros in (..., T', B) where nothing is worked on."""
        for first, last, n in self.groups:
            tensor[..., first:last, n:].zero_()

    def ends(self, state: Tensor, steps: int, rows: int) -> Tensor:
        """States (..., T' + 1, B) after ``steps`` steps, of ended sequences their last; the first ``rows`` of them."""
        if self.lengths is None:
            return state[..., steps, :]
        return state[..., self.lengths[:rows].clamp(max=steps), torch.arange(rows, device=state.device)]
