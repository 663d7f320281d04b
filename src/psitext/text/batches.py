"""Batches: which samples make a step, and how their tokens lie in rows.

Letters: B sequences, R rows, T tokens a row, N tokens of all sequences, M predicted tokens, D width.

A batch is R rows of T tokens. Padded, a row holds one sequence; packed, a row holds several, kept apart by a
block-diagonal attention mask and positions that restart with every sequence. ``starts`` points at the first token
([CLS]) of every sequence, in the order of ``samples``, so nothing downstream needs to know which of the two it got.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psitext.randomness import generator

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Token rows and what is to be predicted from them.

    ``targets`` holds, by name: ``label`` (B,) int64 classes or float32 scores; ``next`` (B,) int64, 0 = B follows
    A, 1 = it does not (BERT's convention), -1 = no pair; ``token_at`` (M,) int64 flat indices into the rows with
    ``token_label`` (M,) int64; ``span`` (B, 2) int64 first and last answer token within the sequence.
    """

    ids: Tensor  # (R, T) int64
    segments: Tensor  # (R, T) int64, 0 for the first text, 1 for the second
    positions: Tensor  # (R, T) int64, counted from the start of each sequence
    owner: Tensor  # (R, T) int64, 1 + which sequence of the batch a token belongs to; 0 is padding
    starts: Tensor  # (B,) int64, flat index of each sequence's first token
    lengths: Tensor  # (B,) int64
    samples: Ints  # (B,) which samples of the source these are
    targets: Mapping[str, Tensor] = field(default_factory=dict)
    read: Tensor | None = None  # (P,) int64, flat places whose states a head reads besides the vectors; None = all

    @property
    def tokens(self) -> int:
        """How many tokens are real, padding left out."""
        return int(self.lengths.sum())

    def mask(self) -> Tensor | None:
        """True where a token may attend: (R, 1, T, T) for packed rows, (R, 1, 1, T) for padded ones, None for full
        rows.

        Padding owns number 0, so in packed rows it attends to itself and no softmax runs over nothing.
        """
        if len(self.starts) > len(self.ids):
            return self.owner[:, None, :, None] == self.owner[:, None, None, :]
        real = self.owner > 0
        return None if bool(real.all()) else real[:, None, None, :]

    def sequences(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Cut (R, T, ...) rows into (B, L, ...) sequences and a (B, L) mask that is True on real tokens."""
        steps = torch.arange(int(self.lengths.max()), device=rows.device)  # (L,)
        real = steps < self.lengths[:, None]  # (B, L)
        at = torch.where(real, self.starts[:, None] + steps, self.starts[:, None])
        return rows.flatten(0, 1)[at], real

    def to(self, device: torch.device) -> Batch:
        """The same batch with its tensors on ``device``."""
        if device.type == "cpu":
            return self
        moved = {
            name: getattr(self, name).to(device)
            for name in ("ids", "segments", "positions", "owner", "starts", "lengths")
        }
        return replace(self, **moved, targets={name: value.to(device) for name, value in self.targets.items()})


class Source(Protocol):
    """Where samples come from. Both calls are pure functions of their arguments."""

    def lengths(self, epoch: int) -> Ints:
        """(S,) tokens of every sample in this epoch, special tokens included."""
        ...

    def build(self, samples: Ints, epoch: int) -> Batch:
        """The batch of these samples."""
        ...


@dataclass(frozen=True)
class Layout:
    """Where the tokens of B sequences lie in rows."""

    rows: int
    width: int
    starts: Ints  # (B,) flat index of each first token
    lengths: Ints  # (B,)

    @cached_property
    def position(self) -> Ints:
        """(N,) position of every token in its own sequence, sequences in order."""
        return within(self.lengths)

    @cached_property
    def flat(self) -> Ints:
        """(N,) flat row index of every token, sequences in order."""
        return self.position + np.repeat(self.starts, self.lengths)


def within(lengths: Ints) -> Ints:
    """(N,) position of every token in its own sequence: [2, 3] gives [0, 1, 0, 1, 2]."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def padded(lengths: Ints) -> Layout:
    """One sequence a row, rows as wide as the longest: at 13 words, rounding up to eights would be a fifth of
    padding.
    """
    width = int(lengths.max())
    return Layout(len(lengths), width, np.arange(len(lengths)) * width, lengths)


def packed(lengths: Ints, width: int) -> Layout:
    """Several sequences a row: first fit, longest first; rows are ``width`` wide, or as wide as the longest
    sequence.
    """
    width = _round_up(max(int(lengths.max()), min(width, int(lengths.sum()))))
    sizes, shortest = lengths.tolist(), int(lengths.min())
    starts = np.empty(len(sizes), dtype=np.int64)
    room: list[int] = []  # places left in every row
    full = 0  # so many rows at the front have no room for anything
    for index in np.argsort(-lengths, kind="stable").tolist():
        while full < len(room) and room[full] < shortest:
            full += 1
        row = next((row for row in range(full, len(room)) if room[row] >= sizes[index]), len(room))
        if row == len(room):
            room.append(width)
        starts[index] = row * width + width - room[row]
        room[row] -= sizes[index]
    return Layout(len(room), width, starts, lengths)


def lay_out(
    ids: Ints,
    segments: Ints,
    layout: Layout,
    samples: Ints,
    *,
    pad: int,
    targets: Mapping[str, npt.NDArray[np.generic]],
) -> Batch:
    """Put flat tokens (N,) and segments (N,) into rows."""
    flat = layout.flat
    lengths = layout.lengths

    def rows(values: Ints, fill: int = 0) -> Tensor:
        grid = np.full(layout.rows * layout.width, fill, dtype=np.int64)
        grid[flat] = values
        return torch.from_numpy(grid.reshape(layout.rows, layout.width))

    return Batch(
        ids=rows(ids, pad),
        segments=rows(segments),
        positions=rows(layout.position),
        owner=rows(np.repeat(np.arange(1, len(lengths) + 1), lengths)),
        starts=torch.from_numpy(layout.starts),
        lengths=torch.from_numpy(np.asarray(lengths, dtype=np.int64)),
        samples=samples,
        targets={name: torch.from_numpy(value) for name, value in targets.items()},
    )


def plan(
    lengths: Ints,
    *,
    seed: int,
    epoch: int,
    sequences: int | None = None,
    tokens: int | None = None,
    pool: int = 1,
    parts: int = 1,
) -> list[Ints]:
    """The epoch's global batches, in order: every sample exactly once.

    A batch holds ``sequences`` samples, or as many as fit ``tokens`` real tokens (give exactly one of the two).
    With ``pool`` > 1, runs of that many batches are sorted by length before they are cut, and the batches are
    shuffled again, so that rows of a batch are of like length. Every batch has at least ``parts`` samples, one for
    each rank and micro-step.
    """
    if (sequences is None) == (tokens is None):
        raise ValueError("a plan takes either sequences or tokens")
    if len(lengths) < parts:
        raise ValueError(f"{len(lengths)} samples cannot be shared over {parts} ranks and micro-steps")
    random = generator(seed, "order", epoch)
    order: Ints = random.permutation(len(lengths))
    if pool > 1:
        mean = max(float(lengths.mean()), 1.0)
        size = pool * (sequences if sequences is not None else max(int((tokens or 0) / mean), 1))
        order = np.concatenate(
            [
                chunk[np.argsort(lengths[chunk], kind="stable")]
                for chunk in np.split(order, range(size, len(order), size))
            ]
        )
    batches = _cut(order, lengths, sequences, tokens)
    if pool > 1:
        batches = [batches[i] for i in random.permutation(len(batches))]
    return _at_least(batches, parts)


def shards(samples: Ints, parts: int) -> list[Ints]:
    """Share one global batch over ranks and micro-steps, as evenly as its size allows."""
    return [samples[part::parts] for part in range(parts)]


def _cut(order: Ints, lengths: Ints, sequences: int | None, tokens: int | None) -> list[Ints]:
    if sequences is not None:
        return np.split(order, range(sequences, len(order), sequences))
    assert tokens is not None
    ends = np.cumsum(lengths[order])
    cuts: list[int] = []
    first = 0
    while first < len(order):
        spent = int(ends[first - 1]) if first else 0
        first = max(int(np.searchsorted(ends, spent + tokens, side="right")), first + 1)
        cuts.append(first)
    return np.split(order, cuts[:-1])


def _at_least(batches: list[Ints], parts: int) -> list[Ints]:
    """Join a batch that is too small for its ranks to the one before it (the last one also to its successor's
    place).
    """
    result: list[Ints] = []
    for batch in batches:
        if result and (len(batch) < parts or len(result[-1]) < parts):
            result[-1] = np.concatenate([result[-1], batch])
        else:
            result.append(batch)
    return result


def _round_up(width: int, multiple: int = 8) -> int:
    return -(-width // multiple) * multiple
