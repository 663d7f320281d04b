"""Several sequences of one sample in one batch: all contexts, then all responses, then whatever else there is.

A batch of B samples then has G B sequences, one a row, group by group; ``samples`` still has B numbers. The groups
differ in length, so an encoder takes them apart again before it reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from psitext.text.batches import Batch


def joined(parts: Sequence[Batch], pad: int, targets: Mapping[str, Tensor]) -> Batch:
    """G padded batches of the same B samples as one, with these ``targets``."""
    width = max(part.ids.shape[1] for part in parts)
    before = torch.tensor([0, *(len(part.starts) for part in parts[:-1])]).cumsum(0).tolist()

    def rows(name: str, fill: int = 0) -> Tensor:
        return torch.cat([_wide(getattr(part, name), width, fill) for part in parts])

    owners = [
        _wide(torch.where(part.owner > 0, part.owner + first, 0), width)
        for part, first in zip(parts, before, strict=True)
    ]
    count = sum(len(part.starts) for part in parts)
    return Batch(
        ids=rows("ids", pad),
        segments=rows("segments"),
        positions=rows("positions"),
        owner=torch.cat(owners),
        starts=torch.arange(count) * width,
        lengths=torch.cat([part.lengths for part in parts]),
        samples=parts[0].samples,
        targets=targets,
    )


def parted(batch: Batch) -> list[Batch]:
    """The G groups of a batch, each no wider than its longest sequence and without targets."""
    count = len(batch.samples)
    if len(batch.starts) % max(count, 1) or len(batch.starts) != len(batch.ids):
        raise ValueError(f"{len(batch.starts)} sequences in {len(batch.ids)} rows are no groups of {count} samples")
    return [_part(batch, first, first + count) for first in range(0, len(batch.starts), count)]


def _wide(rows: Tensor, width: int, fill: int = 0) -> Tensor:
    return F.pad(rows, (0, width - rows.shape[1]), value=fill)


def _part(batch: Batch, first: int, last: int) -> Batch:
    lengths = batch.lengths[first:last]
    width = int(lengths.max())
    rows = {name: getattr(batch, name)[first:last, :width] for name in ("ids", "segments", "positions")}
    owner = batch.owner[first:last, :width]
    return replace(
        batch,
        **rows,
        owner=torch.where(owner > 0, owner - first, 0),
        starts=torch.arange(last - first, device=lengths.device) * width,
        lengths=lengths,
        targets={},
    )
