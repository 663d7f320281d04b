from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.text.batches import within
from psitext.text.pretraining.masking import LONGEST_WORD, MaskRule, choose, mask_tokens
from text.pretraining.corpora import VOCABULARY

PLAIN = MaskRule.of(VOCABULARY, 0.15, whole_word=False)
WORDS = MaskRule.of(VOCABULARY, 0.15, whole_word=True)
RULES = st.sampled_from([PLAIN, WORDS])
LENGTHS = st.lists(st.integers(3, 60), min_size=1, max_size=12)


def batch(lengths: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random words between [CLS] and [SEP], a tenth of them [UNK] or another special token."""
    random = np.random.default_rng(seed)
    sizes = np.array(lengths)
    ids = random.integers(5, VOCABULARY.vocab_size, sizes.sum())
    odd = random.random(len(ids)) < 0.1
    ids[odd] = random.integers(0, 5, odd.sum())
    ends = np.cumsum(sizes)
    ids[ends - sizes], ids[ends - 1] = VOCABULARY.cls, VOCABULARY.sep
    return ids, sizes


@given(LENGTHS, RULES, st.integers(0, 2**40), st.integers(0, 5))
def test_law_labels_restore_the_ids_and_specials_stay(
    lengths: list[int], rule: MaskRule, seed: int, epoch: int
) -> None:
    ids, sizes = batch(lengths, seed % 1000)
    before = ids.copy()
    masked = mask_tokens(ids, sizes, np.arange(len(sizes)), rule, seed=seed, epoch=epoch)
    assert (ids == before).all()  # the input is not touched
    assert (np.diff(masked.at) > 0).all()
    assert not np.isin(masked.labels, VOCABULARY.special).any()
    drawn = masked.ids[masked.at]
    assert not np.isin(drawn[drawn != VOCABULARY.mask], VOCABULARY.special).any()
    restored = masked.ids.copy()
    restored[masked.at] = masked.labels
    assert (restored == before).all()


@given(LENGTHS, st.integers(0, 2**40), st.floats(0.05, 0.9))
def test_law_every_sequence_hides_its_fixed_number(lengths: list[int], seed: int, fraction: float) -> None:
    ids, sizes = batch(lengths, seed % 1000)
    rule = MaskRule.of(VOCABULARY, fraction, whole_word=False)
    at = choose(ids, sizes, np.arange(len(sizes)), rule, seed=seed, epoch=0)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    for row in range(len(sizes)):
        able = int((ids[rows == row] >= 5).sum())
        assert (rows[at] == row).sum() == (min(max(1, round(fraction * able)), able))


@given(LENGTHS, RULES, st.integers(0, 2**40), st.randoms(use_true_random=False))
def test_law_a_sample_is_hidden_alike_in_any_batch_and_row(
    lengths: list[int], rule: MaskRule, seed: int, shuffle: Random
) -> None:
    ids, sizes = batch(lengths, seed % 1000)
    names = np.arange(len(sizes)) * 1_000_003 + seed % 97
    whole = mask_tokens(ids, sizes, names, rule, seed=seed, epoch=3)
    begins = np.cumsum(sizes) - sizes
    order = list(range(len(sizes)))
    shuffle.shuffle(order)
    order = order[: len(order) // 2 + 1]
    flat = np.concatenate([begins[row] + np.arange(sizes[row]) for row in order])
    part = mask_tokens(ids[flat], sizes[order], names[order], rule, seed=seed, epoch=3)
    assert (part.ids == whole.ids[flat]).all()
    assert (np.sort(flat[part.at]) == whole.at[np.isin(whole.at, flat)]).all()


def test_law_other_keys_hide_otherwise() -> None:
    ids, sizes = batch([100] * 8)
    names = np.arange(8)
    one = mask_tokens(ids, sizes, names, PLAIN, seed=1, epoch=0)
    assert (one.ids == mask_tokens(ids, sizes, names, PLAIN, seed=1, epoch=0).ids).all()
    for other in (
        mask_tokens(ids, sizes, names, PLAIN, seed=1, epoch=1),
        mask_tokens(ids, sizes, names, PLAIN, seed=2, epoch=0),
        mask_tokens(ids, sizes, names + 8, PLAIN, seed=1, epoch=0),
    ):
        assert len(np.intersect1d(one.at, other.at)) < len(one.at) / 2


@pytest.mark.parametrize("rule", [PLAIN, WORDS])
def test_known_shares_are_fifteen_and_eighty_ten_ten(rule: MaskRule) -> None:
    sizes = np.full(4000, 100)
    ids = np.random.default_rng(5).integers(5, VOCABULARY.vocab_size, sizes.sum())
    masked = mask_tokens(ids, sizes, np.arange(4000), rule, seed=7, epoch=0)  # 60,000 hidden tokens
    now = masked.ids[masked.at]
    assert len(masked.at) / len(ids) == pytest.approx(0.15, abs=0.003)
    assert np.mean(now == VOCABULARY.mask) == pytest.approx(0.8, abs=0.008)
    assert np.mean(now == masked.labels) == pytest.approx(0.1 + 0.1 / 495, abs=0.006)
    assert np.mean(within(sizes)[masked.at]) == pytest.approx(49.5, abs=0.5)  # no position is preferred
    changed = now[(now != VOCABULARY.mask) & (now != masked.labels)]
    assert len(np.unique(changed)) == len(VOCABULARY.ordinary)  # drawn from all ordinary ids


@given(LENGTHS, st.integers(0, 2**40))
def test_law_whole_words_are_hidden_whole(lengths: list[int], seed: int) -> None:
    ids, sizes = batch(lengths, seed % 1000)
    at = choose(ids, sizes, np.arange(len(sizes)), WORDS, seed=seed, epoch=0)
    hidden = np.isin(np.arange(len(ids)), at)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    able = ids >= 5
    run = 0
    for index in range(1, len(ids)):
        joined = (
            VOCABULARY.continuation[ids[index]] and able[index] and able[index - 1] and rows[index] == rows[index - 1]
        )
        run = run + 1 if joined else 0
        if joined and run < LONGEST_WORD:
            assert hidden[index] == hidden[index - 1]
    assert (np.bincount(rows[at], minlength=len(sizes)) > 0).tolist() == [
        bool(able[rows == row].any()) for row in range(len(sizes))
    ]


def test_law_a_word_ends_with_its_sequence_even_without_specials() -> None:
    ids = np.random.default_rng(0).integers(5, 12, 300)  # ids 6 and 9 continue a word
    sizes, names = np.full(30, 10), np.arange(30)
    whole = choose(ids, sizes, names, WORDS, seed=0, epoch=0)
    parts = [
        row * 10 + choose(ids[row * 10 :][:10], sizes[:1], names[row : row + 1], WORDS, seed=0, epoch=0)
        for row in range(30)
    ]
    assert whole.tolist() == np.concatenate(parts).tolist()


def test_known_text_without_spaces_keeps_its_quota() -> None:
    ids = np.full(100, 6)  # id 6 continues a word: the whole text is one
    ids[0], ids[-1] = VOCABULARY.cls, VOCABULARY.sep
    at = choose(ids, np.array([100]), np.array([0]), WORDS, seed=0, epoch=0)
    assert 1 <= len(at) <= 22  # 15 of 98, give or take half a piece of 15


def test_known_one_word_is_hidden_and_nothing_but_specials_is_fine() -> None:
    for rule in (PLAIN, WORDS):
        assert choose(np.array([2, 9, 3]), np.array([3]), np.array([0]), rule, seed=0, epoch=0).tolist() == [1]
        ids, sizes = np.array([2, 1, 3, 2, 9, 3]), np.array([3, 3])
        assert choose(ids, sizes, np.arange(2), rule, seed=0, epoch=0).tolist() == [4]
