"""Pre-training as a source of batches: an epoch's pairs, its masks, and what came of both.

``build`` may be asked for any samples in any order: what is in one depends on (seed, epoch, sample) alone.

Letters: S samples, B sequences of a batch, N tokens of all sequences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from psitext.config import Config
from psitext.randomness import bits, generator
from psitext.text.batches import Batch, lay_out, packed, padded, within
from psitext.text.pretraining.masking import MaskRule, mask_tokens
from psitext.text.pretraining.pairs import FOLLOWS, NONE, OTHER, Corpus, PairRule, Pairs, Samples, sample
from psitext.text.pretraining.store import Store

if TYPE_CHECKING:
    from psitext.text.tokenizer import Tokenizer

Ints = npt.NDArray[np.int64]

KEPT_EPOCHS = 2  # tables held at a time: the epoch at work and the one being prepared


class PretrainingConfig(Config):
    """How samples are made from a token store."""

    max_len: int = Field(default=128, ge=8, le=65_535)  # tokens of a sample, special ones included
    mask: float = Field(default=0.15, gt=0, lt=1)  # share of the tokens to predict
    whole_word: bool = False  # hide all tokens of a word or none
    pairs: Pairs = "nsp"  # next sentence, sentence order, or single texts
    short: float = Field(default=0.1, ge=0, le=1)  # share of samples with a smaller budget
    layout: Literal["packed", "padded"] = "packed"
    held_out: float = Field(default=0.01, ge=0, lt=1)  # share of the documents kept for validation


@dataclass(frozen=True, slots=True)
class Report:
    """What an epoch consists of; every count is of samples unless it says otherwise."""

    epoch: int
    samples: int
    follows: int  # B follows A
    other: int  # it does not
    single: int  # one text, no label
    windows: int  # parts of sentences longer than the budget; among the single ones
    truncated: int  # drawn Bs that were cut because no sentence fitted
    tokens: int  # special ones included
    text_tokens: int  # of the corpus, each once
    drawn_tokens: int  # of negative Bs, on top of those
    mean_length: float  # tokens
    row_use: float  # share of the row places that hold tokens, in batches of 64 samples
    dropped_sentences: int  # of the store: without a token
    dropped_documents: int  # of the store: without a sentence


class PretrainingSource:
    """Masked words and sentence pairs out of a token store (a ``batches.Source``)."""

    def __init__(
        self,
        store: Store,
        tokenizer: Tokenizer,
        config: PretrainingConfig,
        *,
        seed: int = 0,
        documents: Ints | None = None,
    ) -> None:
        """All documents of the store, or the ones named."""
        self.store = store
        self.config = config
        self.seed = seed
        self.corpus = Corpus.of(store, documents)
        self.specials = (tokenizer.cls, tokenizer.sep, tokenizer.pad)
        self.rule = MaskRule.of(tokenizer, config.mask, config.whole_word)
        self._epochs: dict[int, Samples] = {}

    def table(self, epoch: int) -> Samples:
        """The epoch's samples, made when first asked for."""
        found = self._epochs.get(epoch)
        if found is None:
            config = self.config
            budget = config.max_len - (2 if config.pairs == "none" else 3)  # less [CLS] and each [SEP]
            found = sample(self.corpus, PairRule(budget, config.pairs, config.short, self.seed, epoch))
            kept = sorted(self._epochs, key=lambda other: abs(other - epoch))[: KEPT_EPOCHS - 1]
            self._epochs = {other: self._epochs[other] for other in kept} | {epoch: found}
        return found

    def lengths(self, epoch: int) -> Ints:
        """(S,) tokens of every sample, special ones included."""
        return self.table(epoch).lengths

    def build(self, samples: Ints, epoch: int) -> Batch:
        """The batch of these samples, with targets ``token_at``, ``token_label`` and ``next``."""
        table = self.table(epoch)
        lengths, ids, segments = self.texts(samples, epoch)
        masked = mask_tokens(ids, lengths, samples, self.rule, seed=self.seed, epoch=epoch)
        layout = packed(lengths, self.config.max_len) if self.config.layout == "packed" else padded(lengths)
        targets = {
            "token_at": layout.flat[masked.at],
            "token_label": masked.labels,
            "next": table.next[samples].astype(np.int64),
        }
        return lay_out(masked.ids, segments, layout, samples, pad=self.specials[2], targets=targets)

    def texts(self, samples: Ints, epoch: int) -> tuple[Ints, Ints, Ints]:
        """Lengths (B,), ids (N,) and segments (N,) of samples, nothing hidden: [CLS] A [SEP] B [SEP]."""
        table = self.table(epoch)
        cls, sep, _ = self.specials
        a_length = table.a_length[samples].astype(np.int64)
        b_length = table.b_length[samples].astype(np.int64)
        lengths = 2 + a_length + b_length + (b_length > 0)
        ends = np.cumsum(lengths)
        begins = ends - lengths
        ids = np.empty(ends[-1], dtype=np.int64)
        ids[begins] = cls
        ids[begins + 1 + a_length] = sep
        ids[ends - 1] = sep
        # One gather from the mapped file for all texts of the batch: every A, then every B.
        sizes = np.concatenate([a_length, b_length])
        inside = within(sizes)
        into = np.repeat(np.concatenate([begins + 1, begins + 2 + a_length]), sizes) + inside
        begin = np.concatenate([table.a_begin[samples], table.b_begin[samples]])
        ids[into] = self.store.tokens[np.repeat(begin, sizes) + inside]
        parts = np.stack([a_length + 2, lengths - a_length - 2], axis=1)  # (B, 2): [CLS] A [SEP], and B [SEP]
        segments = np.repeat(np.arange(2 * len(lengths)) % 2, parts.ravel())
        return lengths, ids, segments

    def report(self, epoch: int) -> Report:
        """Label balance, truncation, drops and how well the rows are filled."""
        table = self.table(epoch)
        lengths = table.lengths
        meta = self.store.meta
        negative_b = table.b_length[table.next == OTHER]
        drawn = 0 if self.config.pairs == "sop" else int(negative_b.sum(dtype=np.int64))
        text = int(table.a_length.sum(dtype=np.int64)) + int(table.b_length.sum(dtype=np.int64))
        return Report(
            epoch=epoch,
            samples=len(table),
            follows=int(np.count_nonzero(table.next == FOLLOWS)),
            other=int(np.count_nonzero(table.next == OTHER)),
            single=int(np.count_nonzero(table.next == NONE)),
            windows=table.windows,
            truncated=table.truncated,
            tokens=int(lengths.sum()),
            text_tokens=text - drawn,
            drawn_tokens=drawn,
            mean_length=float(lengths.mean()),
            row_use=self._row_use(lengths, epoch),
            dropped_sentences=meta.dropped_sentences,
            dropped_documents=meta.dropped_documents,
        )

    def _row_use(self, lengths: Ints, epoch: int, batches: int = 16, size: int = 64) -> float:
        """Tokens over row places of some keyed batches."""
        used = places = 0
        for part in range(batches):
            pick = generator(self.seed, "report", epoch, part).integers(len(lengths), size=size)
            picked = lengths[pick]
            layout = packed(picked, self.config.max_len) if self.config.layout == "packed" else padded(picked)
            used += int(picked.sum())
            places += layout.rows * layout.width
        return used / places


def split(
    store: Store, tokenizer: Tokenizer, config: PretrainingConfig, *, seed: int = 0, split_seed: int = 0
) -> tuple[PretrainingSource, PretrainingSource | None]:
    """Sources of disjoint documents for training and validation; None if there are too few to hold any out.

    What is held out, and how it is cut and masked, depends on ``split_seed`` alone: runs of several seeds are
    validated on the same predictions.
    """
    sizes = np.diff(store.sentences[store.documents])  # tokens of every document
    held_out, kept = divide(sizes, config.held_out, split_seed)
    if len(held_out) == 0:
        return PretrainingSource(store, tokenizer, config, seed=seed), None
    train = PretrainingSource(store, tokenizer, config, seed=seed, documents=kept)
    return train, PretrainingSource(store, tokenizer, config, seed=split_seed, documents=held_out)


def divide(sizes: Ints, share: float, seed: int) -> tuple[Ints, Ints]:
    """Numbers of the held-out documents and of the others: evenly spaced ones in the order of size, from a keyed start.

    So a corpus of books and of single sentences holds out both, in the share that they have of its text. At least two
    where that leaves two, since a negative pair needs another document.
    """
    documents = len(sizes)
    count = max(round(share * documents), min(2, documents - 2)) if share > 0 else 0
    count = min(max(count, 0), documents - 1)
    order = np.lexsort((bits(seed, "held out", np.arange(documents)), sizes))
    start = generator(seed, "held out").random()
    held_out = np.zeros(documents, dtype=bool)
    held_out[order[((np.arange(count) + start) * documents / max(count, 1)).astype(np.int64)]] = True
    return np.flatnonzero(held_out), np.flatnonzero(~held_out)
