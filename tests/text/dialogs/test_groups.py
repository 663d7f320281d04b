"""Several sequences of one sample in one batch, and apart again."""

from __future__ import annotations

import pytest
import torch

import tiny
from psitext.text.dialogs import joined, parted

PARTS = [tiny.batch([5, 3, 7]), tiny.batch([2, 4, 2], seed=1), tiny.batch([3, 9, 4], seed=2)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_law_what_is_joined_comes_apart_again(count: int) -> None:
    targets = {"written": torch.ones(3, 2)}
    whole = joined(PARTS[:count], 0, targets)
    assert whole.ids.shape == (3 * count, 9 if count == 3 else 7)
    assert whole.targets == targets and whole.samples.tolist() == [0, 1, 2]
    assert whole.tokens == sum(part.tokens for part in PARTS[:count])
    assert whole.owner.max() == 3 * count
    first = whole.ids.flatten()[whole.starts]
    assert first.tolist() == [row[0] for part in PARTS[:count] for row in part.ids.tolist()]
    for part, again in zip(PARTS, parted(whole), strict=False):
        for name in ("ids", "segments", "positions", "owner", "starts", "lengths"):
            assert torch.equal(getattr(part, name), getattr(again, name)), name
        assert again.targets == {}


def test_known_what_is_no_groups_is_refused() -> None:
    whole = joined(PARTS[:2], 0, {})
    with pytest.raises(ValueError, match="no groups of"):
        parted(tiny.batch([5, 3, 7], row=20))
    object.__setattr__(whole, "samples", whole.samples[:2].repeat(2))
    with pytest.raises(ValueError, match="6 sequences in 6 rows are no groups of 4"):
        parted(whole)
