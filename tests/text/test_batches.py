"""Batches: every sample once, no token on another, positions and owners as they should be."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import tiny
from psitext.text.batches import Batch, lay_out, packed, padded, plan, shards, within

LENGTHS = st.lists(st.integers(2, 40), min_size=1, max_size=60).map(np.array)


def batch_of(lengths: np.ndarray, row: int | None) -> tuple[Batch, np.ndarray, np.ndarray]:
    """A batch whose tokens are numbered 1, 2, 3 ..., and the flat ids and segments that it was made from."""
    ids = 1 + np.arange(lengths.sum())
    segments = ids % 2
    layout = padded(lengths) if row is None else packed(lengths, row)
    return lay_out(ids, segments, layout, np.arange(len(lengths)), pad=0, targets={}), ids, segments


def test_known_within() -> None:
    assert within(np.array([2, 3, 1])).tolist() == [0, 1, 0, 1, 2, 0]
    assert within(np.array([], dtype=np.int64)).tolist() == []
    assert within(np.array([0, 2, 0])).tolist() == [0, 1]


@given(LENGTHS, st.one_of(st.none(), st.integers(1, 100)))
def test_law_every_token_has_one_place(lengths: np.ndarray, row: int | None) -> None:
    batch, ids, segments = batch_of(lengths, row)
    assert sorted(batch.ids[batch.ids > 0].tolist()) == ids.tolist()
    assert torch.equal(batch.ids > 0, batch.owner > 0)
    assert batch.tokens == len(ids)
    width = batch.ids.shape[1]
    for number, (start, length) in enumerate(zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True)):
        place = slice(start, start + length)
        assert start // width == (start + length - 1) // width, "cut by the end of a row"
        own = slice(int(lengths[:number].sum()), int(lengths[: number + 1].sum()))
        assert batch.ids.flatten()[place].tolist() == ids[own].tolist()
        assert batch.segments.flatten()[place].tolist() == segments[own].tolist()
        assert batch.positions.flatten()[place].tolist() == list(range(length))
        assert set(batch.owner.flatten()[place].tolist()) == {number + 1}
    empty = batch.owner == 0
    assert not batch.segments[empty].any() and not batch.positions[empty].any()
    assert (batch.owner > 0).any(1).all(), "a row of nothing but padding"


@given(LENGTHS, st.integers(1, 100))
def test_law_rows_are_as_wide_as_asked_or_as_the_longest(lengths: np.ndarray, row: int) -> None:
    wide = padded(lengths)
    assert (wide.rows, wide.width) == (len(lengths), lengths.max())
    full = packed(lengths, row)
    assert full.width % 8 == 0
    assert lengths.max() <= full.width < max(lengths.max(), row) + 8
    assert full.rows <= len(lengths)


@given(LENGTHS)
def test_law_packing_wastes_less_than_half(lengths: np.ndarray) -> None:
    layout = packed(lengths, 64)  # first fit: no two rows could be one, so but for one they are half full
    assert layout.rows == 1 or lengths.sum() > layout.rows * layout.width / 2 - layout.width


@given(LENGTHS, st.one_of(st.none(), st.integers(1, 100)))
def test_law_a_token_attends_to_its_own_sequence(lengths: np.ndarray, row: int | None) -> None:
    batch, _, _ = batch_of(lengths, row)
    mask = batch.mask()
    seen = torch.ones(1, 1, 1, 1, dtype=torch.bool) if mask is None else mask
    width = batch.ids.shape[1]
    seen = seen.expand(len(batch.ids), 1, width, width)[:, 0]
    real = batch.owner > 0
    same = batch.owner[:, :, None] == batch.owner[:, None, :]
    assert torch.equal(seen[real], same[real])
    assert seen.any(-1).all(), "a softmax over nothing"


@given(LENGTHS, st.one_of(st.none(), st.integers(1, 100)))
def test_law_sequences_are_cut_out_again(lengths: np.ndarray, row: int | None) -> None:
    batch, ids, _ = batch_of(lengths, row)
    cut, real = batch.sequences(batch.ids)
    assert cut.shape == (len(lengths), lengths.max())
    assert real.sum(1).tolist() == lengths.tolist()
    assert cut[real].tolist() == ids.tolist()
    deep = torch.stack([batch.ids, -batch.ids], -1)
    assert torch.equal(batch.sequences(deep)[0][..., 1], -cut)


def test_known_a_full_batch_needs_no_mask() -> None:
    assert batch_of(np.array([8, 8]), None)[0].mask() is None
    assert batch_of(np.array([8, 7]), None)[0].mask().shape == (2, 1, 1, 8)
    assert batch_of(np.array([8, 8]), 16)[0].mask().shape == (1, 1, 16, 16)


def test_known_targets_and_samples_go_along() -> None:
    batch = tiny.batch([3, 4], samples=[7, 2], targets={"label": np.array([1.5, 2.0], dtype=np.float32)})
    assert batch.samples.tolist() == [7, 2]
    assert_close(batch.targets["label"], torch.tensor([1.5, 2.0]))
    assert batch.to(torch.device("cpu")) is batch
    moved = batch.to(torch.device("meta"))
    assert {value.device.type for value in (moved.ids, moved.owner, moved.starts, moved.targets["label"])} == {"meta"}


@st.composite
def plans(draw: st.DrawFn) -> tuple[np.ndarray, dict[str, int]]:
    lengths = np.array(draw(st.lists(st.integers(2, 60), min_size=1, max_size=200)))
    settings = {
        draw(st.sampled_from(["sequences", "tokens"])): draw(st.integers(1, 150)),
        "pool": draw(st.sampled_from([1, 2, 5, 50])),
        "parts": draw(st.integers(1, min(6, len(lengths)))),
        "seed": draw(st.integers(0, 5)),
        "epoch": draw(st.integers(0, 3)),
    }
    return lengths, settings


@given(plans())
def test_law_a_plan_covers_every_sample_once(case: tuple[np.ndarray, dict[str, int]]) -> None:
    lengths, settings = case
    batches = plan(lengths, **settings)  # type: ignore[arg-type]
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert min(map(len, batches)) >= settings["parts"]
    again = plan(lengths, **settings)  # type: ignore[arg-type]
    assert all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))


@given(plans())
def test_law_a_batch_is_as_big_as_asked(case: tuple[np.ndarray, dict[str, int]]) -> None:
    lengths, settings = case
    batches = plan(lengths, **{**settings, "parts": 1})  # type: ignore[arg-type]
    if "sequences" in settings:
        sizes = sorted(map(len, batches))
        assert sizes[1:] == [settings["sequences"]] * (len(sizes) - 1)
        return
    spent = [int(lengths[samples].sum()) for samples in batches]
    assert all(total <= settings["tokens"] or len(samples) == 1 for total, samples in zip(spent, batches, strict=True))
    if settings["pool"] == 1:  # in order, so the next sample would have been too much
        following = [int(lengths[samples[0]]) for samples in batches[1:]]
        assert all(total + extra > settings["tokens"] for total, extra in zip(spent, following, strict=False))


def test_law_epochs_and_seeds_shuffle_anew() -> None:
    lengths = np.full(100, 5)
    orders = [np.concatenate(plan(lengths, seed=s, epoch=e, sequences=10)) for s, e in [(0, 0), (0, 1), (1, 0)]]
    assert all(not np.array_equal(orders[i], orders[j]) for i, j in [(0, 1), (0, 2), (1, 2)])
    assert not np.array_equal(orders[0], np.arange(100))


def test_law_pooling_groups_like_lengths_but_not_their_order() -> None:
    lengths = np.random.default_rng(0).integers(2, 100, 2_000)

    def padding(pool: int) -> float:
        batches = plan(lengths, seed=0, epoch=0, sequences=20, pool=pool)
        return sum(len(samples) * lengths[samples].max() for samples in batches) / lengths.sum()

    assert padding(50) < 1.1 < 1.7 < padding(1)
    means = [lengths[samples].mean() for samples in plan(lengths, seed=0, epoch=0, sequences=20, pool=100)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3, "short ones first"


@given(st.integers(1, 60), st.integers(1, 8))
def test_law_shards_share_a_batch_evenly(count: int, parts: int) -> None:
    pieces = shards(np.arange(count), parts)
    assert sorted(np.concatenate(pieces).tolist()) == list(range(count))
    sizes = [len(piece) for piece in pieces]
    assert len(pieces) == parts and max(sizes) - min(sizes) <= 1


def test_known_plans_that_make_no_sense_are_refused() -> None:
    lengths = np.array([3, 4])
    with pytest.raises(ValueError, match="either sequences or tokens"):
        plan(lengths, seed=0, epoch=0)
    with pytest.raises(ValueError, match="either sequences or tokens"):
        plan(lengths, seed=0, epoch=0, sequences=1, tokens=1)
    with pytest.raises(ValueError, match="2 samples cannot be shared over 3"):
        plan(lengths, seed=0, epoch=0, sequences=1, parts=3)
