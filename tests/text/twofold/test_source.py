"""Batches against a naive construction, hidden words as a function of their keys, and who is held out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.batches import Batch
from psitext.text.twofold import Sentences, SentencesConfig, TwofoldSource, gather, split
from psitext.text.twofold.source import divide
from text.twofold.corpora import SENTENCES, reader, writer

numbers = st.lists(st.integers(0, len(SENTENCES) - 1), min_size=1, max_size=9).map(np.array)


@cache
def gathered(readable: bool = True) -> Sentences:
    return gather(SENTENCES, reader() if readable else None, writer(), SentencesConfig())


def source(**settings: object) -> TwofoldSource:
    return TwofoldSource(gathered(), reader(), writer(), **settings)  # type: ignore[arg-type]


def grid(rows: list[list[int]], pad: int) -> list[list[int]]:
    width = max(map(len, rows))
    return [row + [pad] * (width - len(row)) for row in rows]


def same(a: Batch, b: Batch) -> bool:
    return torch.equal(a.ids, b.ids) and all(torch.equal(a.targets[name], b.targets[name]) for name in b.targets)


@given(samples=numbers)
def test_parity_a_batch_is_what_its_sentences_give_one_by_one(samples: np.ndarray) -> None:
    batch = source().build(samples)
    texts = [SENTENCES[at] for at in samples]
    read = [[reader().cls, *ids.tolist(), reader().sep] for ids in reader().encode(texts)]
    written = [[writer().bos, *ids.tolist(), writer().eos] for ids in writer().encode(texts)]
    assert batch.ids.tolist() == grid(read, reader().pad)
    assert batch.targets["written"].tolist() == grid(written, writer().pad)
    assert batch.targets["written_length"].tolist() == [len(row) for row in written]
    assert batch.lengths.tolist() == [len(row) for row in read]
    assert batch.starts.tolist() == [at * batch.ids.shape[1] for at in range(len(texts))]
    assert not batch.segments.any() and batch.samples.tolist() == samples.tolist()
    assert {value.dtype for value in (batch.ids, *batch.targets.values())} == {torch.int64}
    assert set(batch.targets) == {"written", "written_length"}
    sizes = source().lengths(3)[samples]
    assert sizes.tolist() == [len(a) + len(b) for a, b in zip(read, written, strict=True)]


def test_known_a_language_model_reads_one_pad_a_sentence() -> None:
    silent = TwofoldSource(gathered(False), None, writer())
    batch = silent.build(np.array([2, 5]))
    assert batch.ids.tolist() == [[writer().pad]] * 2 and batch.lengths.tolist() == [1, 1]
    assert torch.equal(batch.targets["written"], source().build(np.array([2, 5])).targets["written"])
    assert (silent.lengths(0) == gathered().written.lengths + 1).all()
    with pytest.raises(UserError, match=r"sentences\.word_noise hides words .* a language model has none"):
        TwofoldSource(gathered(False), None, writer(), word_noise=0.1)


def words(ids: list[int]) -> list[list[int]]:
    """A row without its frame, word by word."""
    found: list[list[int]] = []
    for one in ids[1:-1]:
        if reader().continuation[one]:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def heard(batch: Batch) -> list[list[list[int]]]:
    """The words of every row, after a look at its frame."""
    rows = [row[: int(length)] for row, length in zip(batch.ids.tolist(), batch.lengths, strict=True)]
    assert all(row[0] == reader().cls and row[-1] == reader().sep for row in rows)
    return [words(row) for row in rows]


@given(samples=numbers, noise=st.sampled_from([0.1, 0.5, 0.9, 0.999]), epoch=st.integers(0, 9))
def test_law_noise_takes_whole_words_and_leaves_one(samples: np.ndarray, noise: float, epoch: int) -> None:
    batch, clean = source(word_noise=noise).build(samples, epoch), source().build(samples, epoch)
    for left, every in zip(heard(batch), heard(clean), strict=True):
        rest = iter(every)
        assert left and all(word in rest for word in left)  # in their order
    assert torch.equal(batch.targets["written"], clean.targets["written"])


@given(samples=numbers, epoch=st.integers(0, 9))
def test_law_noise_is_keyed_by_seed_epoch_and_sentence(samples: np.ndarray, epoch: int) -> None:
    noisy = source(word_noise=0.5, seed=4)
    together = heard(noisy.build(samples, epoch))
    assert together == [heard(noisy.build(np.array([one]), epoch))[0] for one in samples]
    members = np.arange(len(SENTENCES))[::-1].copy()
    part = source(word_noise=0.5, seed=4, members=members)
    assert heard(part.build(len(SENTENCES) - 1 - samples, epoch)) == together


def test_known_noise_changes_with_every_key_and_keeps_its_share() -> None:
    every, epochs = np.arange(len(SENTENCES)), range(300)
    noisy, other = source(word_noise=0.3, seed=1), source(word_noise=0.3, seed=2)
    assert not same(noisy.build(every, 0), noisy.build(every, 1))
    assert not same(noisy.build(every, 0), other.build(every, 0))
    long = np.array([0])  # of eight words: that all are drawn, and one stays for that, has probability 7e-5
    left = [len(heard(noisy.build(long, epoch))[0]) for epoch in epochs]
    assert abs(np.mean(left) / 8 - 0.7) < 4 * np.sqrt(0.3 * 0.7 / (8 * len(epochs)))
    first = {tuple(word) for epoch in epochs for word in heard(noisy.build(np.array([5]), epoch))[0][:1]}
    assert len(first) == 2  # of "the wind" each word may be the one that stays


@given(
    texts=st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=40).map(tuple),
    share=st.sampled_from([0.0, 0.01, 0.3, 1, 4]),
    seed=st.integers(0, 5),
)
def test_law_no_sentence_is_on_both_sides(texts: tuple[str, ...], share: float, seed: int) -> None:
    count = max(round(share * len(texts)), 1) if 0 < share < 1 else int(share)
    if count >= len(texts):
        with pytest.raises(UserError, match=r"sentences\.held_out takes .* leaves none to train on"):
            divide(texts, share, seed)
        return
    held_out, kept = divide(texts, share, seed)
    assert sorted([*held_out, *kept]) == list(range(len(texts)))
    assert not {texts[at] for at in held_out} & {texts[at] for at in kept}
    assert len(held_out) <= count and (np.diff(held_out) > 0).all()
    if len(set(texts)) == len(texts):
        assert len(held_out) == count
    turned = divide(texts[::-1], share, seed)[0]
    assert sorted(texts[::-1][at] for at in turned) == sorted(texts[at] for at in held_out)


def test_known_the_split_depends_on_its_own_seed_alone() -> None:
    config = SentencesConfig(held_out=3, word_noise=0.5)
    train, held_out = split(gathered(), reader(), writer(), config, seed=1)
    again, same_ones = split(gathered(), reader(), writer(), config, seed=2)
    assert held_out and same_ones and held_out.texts == same_ones.texts and train.texts == again.texts
    assert len(held_out.texts) == len(held_out.lengths()) == 3 and len(train.texts) == len(train.lengths(0)) == 4
    assert (train.word_noise, held_out.word_noise) == (0.5, 0.0) and (train.seed, again.seed) == (1, 2)
    others = {split(gathered(), reader(), writer(), config, split_seed=seed)[1].texts for seed in range(9)}  # type: ignore[union-attr]
    assert len(others) > 1
    whole, none = split(gathered(), reader(), writer(), SentencesConfig(held_out=0))
    assert none is None and whole.texts == gathered().texts
    batch = held_out.build(np.array([1]), 5)
    assert writer().decode(batch.targets["written"][0].tolist()) == held_out.texts[1]
