"""Masked words: which tokens are hidden, and behind what (Devlin et al. 2019, section 3.1; chapter 15.8.5.1).

Pure functions over the flat tokens of a whole batch, no loop over its sequences. Every draw is named by
(seed, epoch, sample, position), so what is hidden in a sample never depends on the batch or the row it lies
in. A sequence hides a fixed number of its tokens, at least one, so that no batch is without a prediction.

Letters: B sequences, N tokens of all sequences, M hidden tokens, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from psitext.randomness import bits, more, unit
from psitext.text.batches import within

if TYPE_CHECKING:
    from psitext.text.tokenizer import Tokenizer

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]

AS_MASK, AS_RANDOM = 0.8, 0.1  # of the hidden tokens; the rest stay as they are
LONGEST_WORD = 8  # a word of more tokens, as text without spaces has, is hidden in parts

# Sort keys are unique: 20 bits of sequence, 28 random bits, 16 bits of position. So any sort gives one order.
_SCORE_BITS, _POSITION_BITS = 28, 16


@dataclass(frozen=True, slots=True)
class MaskRule:
    """What may be hidden and what may stand in its place."""

    fraction: float  # of the tokens that may be hidden
    whole_word: bool  # hide all tokens of a word or none
    mask: int  # id of [MASK]
    maskable: Bools  # (V,) False for special tokens
    ordinary: Ints  # ids that random replacements are drawn from
    continues: Bools  # (V,) True where a token continues the word before it

    @classmethod
    def of(cls, tokenizer: Tokenizer, fraction: float, whole_word: bool) -> MaskRule:
        """The rule for a tokenizer's vocabulary."""
        maskable = np.ones(tokenizer.vocab_size, dtype=np.bool_)
        maskable[tokenizer.special] = False
        ordinary = np.asarray(tokenizer.ordinary, dtype=np.int64)
        return cls(fraction, whole_word, tokenizer.mask, maskable, ordinary, tokenizer.continuation)


@dataclass(frozen=True, slots=True)
class Masked:
    """A batch with some tokens hidden."""

    ids: Ints  # (N,) with the replacements
    at: Ints  # (M,) flat indices of the hidden tokens, ascending
    labels: Ints  # (M,) what stood there


def mask_tokens(ids: Ints, lengths: Ints, samples: Ints, rule: MaskRule, *, seed: int, epoch: int) -> Masked:
    """Hide tokens of ids (N,), which are B sequences of ``lengths`` (B,) named by ``samples`` (B,)."""
    at = choose(ids, lengths, samples, rule, seed=seed, epoch=epoch)
    labels = ids[at]
    begins = np.cumsum(lengths) - lengths
    rows = np.searchsorted(begins, at, side="right") - 1
    # Two draws for every hidden token, named by its sequence and its position there.
    purposes = np.stack([bits(seed, "hide", epoch), bits(seed, "replace", epoch)])[:, None]
    kind, pick = unit(more(purposes, samples[rows], at - begins[rows]))  # (M,) each
    drawn = rule.ordinary[(pick * len(rule.ordinary)).astype(np.int64)]
    hidden = ids.copy()
    hidden[at] = np.where(kind < AS_MASK, rule.mask, np.where(kind < AS_MASK + AS_RANDOM, drawn, labels))
    return Masked(hidden, at, labels)


def choose(ids: Ints, lengths: Ints, samples: Ints, rule: MaskRule, *, seed: int, epoch: int) -> Ints:
    """Flat indices (M,) of the tokens to hide, ascending.

    At most 2**20 sequences of at most 2**16 tokens.
    """
    rows = np.repeat(np.arange(len(lengths)), lengths)  # (N,) sequence of each token
    positions = within(lengths)
    keys = more(bits(seed, "mask", epoch, samples)[rows], positions) >> np.uint64(64 - _SCORE_BITS)
    keys <<= np.uint64(_POSITION_BITS)
    keys |= positions.view(np.uint64)
    keys |= np.repeat(np.arange(len(lengths), dtype=np.uint64) << np.uint64(_SCORE_BITS + _POSITION_BITS), lengths)

    maskable = rule.maskable[ids]
    counts = np.bincount(rows[maskable], minlength=len(lengths))  # (B,) tokens that may be hidden
    quota = np.minimum(np.maximum(np.rint(rule.fraction * counts).astype(np.int64), 1), counts)
    if rule.whole_word:
        return _words(keys, rows, maskable, rule.continues[ids], quota)
    return _tokens(keys, rows, maskable, counts, quota)


def _tokens(keys: Keys, rows: Ints, maskable: Bools, counts: Ints, quota: Ints) -> Ints:
    """The ``quota`` tokens of each sequence with the smallest keys."""
    able = np.flatnonzero(maskable)
    keys = keys[able]
    # A sequence's keys lie together once sorted; the quota-th of them is the bar to stay under.
    last = np.cumsum(counts) - counts + quota - 1
    bar = np.sort(keys)[last[quota > 0]]
    bars = np.zeros(len(quota), dtype=np.uint64)
    bars[quota > 0] = bar
    return np.asarray(able[keys <= bars[rows[able]]])


def _words(keys: Keys, rows: Ints, maskable: Bools, continues: Bools, quota: Ints) -> Ints:
    """Whole words by the keys of their first tokens: as many as come nearest to the quota, at least one."""
    begins = ~(continues & maskable)
    begins[1:] |= ~maskable[:-1] | (rows[1:] != rows[:-1])
    begins[:1] = True
    first, word = _runs(begins)
    begins |= (np.arange(len(keys)) - first[word]) % np.maximum(quota, LONGEST_WORD)[rows] == 0
    first, word = _runs(begins)
    size = np.diff(first, append=len(keys))

    able = np.flatnonzero(maskable[first])
    able = able[np.argsort(keys[first[able]])]
    row = rows[first[able]]
    leads = np.diff(row, prepend=-1) > 0  # the first word of each sequence in this order
    after = np.cumsum(size[able])
    after -= (after - size[able])[leads][np.cumsum(leads) - 1]  # tokens of this sequence up to each word
    before = after - size[able]
    taken = np.zeros(len(first), dtype=np.bool_)
    taken[able[leads | (before + after <= 2 * quota[row])]] = True
    return np.flatnonzero(taken[word])


def _runs(begins: Bools) -> tuple[Ints, Ints]:
    """First index of each run, and the run of each element."""
    return np.flatnonzero(begins), np.cumsum(begins) - 1
