"""Sentences as a source of batches: what an encoder reads in the rows, what a decoder writes in the targets.

Letters: S samples, B sentences of a batch, N tokens that are read of them, T tokens of the longest written row.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from psitext.errors import UserError
from psitext.randomness import bits, uniform
from psitext.text.batches import Batch, Ints, lay_out, padded, within
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.text.twofold.sentences import Rows, Sentences, SentencesConfig


@dataclass(frozen=True, eq=False)
class TwofoldSource:
    """Sentences, or those of them that ``members`` numbers; implements ``batches.Source``.

    ``reader`` and ``writer`` are the tokenizers that the sentences were gathered with; a language model has no reader.
    ``word_noise`` is the share of the words that an encoder does not see; which ones is drawn by (seed, epoch,
    sentence, word), and one word is always left (Shen et al. 2020).
    """

    sentences: Sentences
    reader: Tokenizer | None
    writer: CausalTokenizer
    word_noise: float = 0.0
    seed: int = 0
    members: Ints | None = None  # (S,) numbers of sentences; None = all

    def __post_init__(self) -> None:
        if self.word_noise and self.reader is None:
            raise UserError(
                "sentences.word_noise hides words from an encoder, and a language model has none; set it to 0"
            )

    @property
    def texts(self) -> tuple[str, ...]:
        """S sentences."""
        every = self.sentences.texts
        return every if self.members is None else tuple(every[at] for at in self.members.tolist())

    def lengths(self, epoch: int = 0) -> Ints:
        """(S,) tokens that are read and written of every sample, special tokens included and nothing hidden."""
        both = self.sentences.read.lengths + self.sentences.written.lengths
        return both if self.members is None else both[self.members]

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        """The batch of these samples, padded, with targets ``written`` (B, T) int64, rows ``bos w1 .. wn eos`` padded
        on the right, and ``written_length`` (B,) int64.
        """
        numbers = samples if self.members is None else self.members[samples]
        ids, lengths = _taken(self.sentences.read, numbers)
        if self.word_noise:
            ids, lengths = self._noisy(ids, lengths, numbers, epoch)
        pad = self.writer.pad if self.reader is None else self.reader.pad
        return lay_out(ids, np.zeros_like(ids), padded(lengths), samples, pad=pad, targets=self._written(numbers))

    def _written(self, numbers: Ints) -> dict[str, Ints]:
        ids, lengths = _taken(self.sentences.written, numbers)
        layout = padded(lengths)
        grid = np.full(layout.rows * layout.width, self.writer.pad, dtype=np.int64)
        grid[layout.flat] = ids
        return {"written": grid.reshape(layout.rows, layout.width), "written_length": lengths}

    def _noisy(self, ids: Ints, lengths: Ints, numbers: Ints, epoch: int) -> tuple[Ints, Ints]:
        """The tokens (N,) and lengths (B,) that are left when words are taken out, all tokens of a word or none."""
        assert self.reader is not None
        place = within(lengths)
        begins = np.cumsum(lengths) - lengths
        frame = (place == 0) | (place == np.repeat(lengths - 1, lengths))
        word = np.cumsum(frame | (place == 1) | ~self.reader.continuation[ids])
        word -= np.repeat(word[begins], lengths)  # 0 is [CLS]
        drawn = uniform(self.seed, "word noise", epoch, np.repeat(numbers, lengths), word)
        drawn[frame] = -1.0
        # The word with the largest number stays in any case, so that no sentence loses its last one.
        least = np.minimum(np.maximum.reduceat(drawn, begins), self.word_noise)
        kept = frame | (drawn >= np.repeat(least, lengths))
        return ids[kept], np.add.reduceat(kept.astype(np.int64), begins)


def split(
    sentences: Sentences,
    reader: Tokenizer | None,
    writer: CausalTokenizer,
    config: SentencesConfig,
    *,
    seed: int = 0,
    split_seed: int = 0,
) -> tuple[TwofoldSource, TwofoldSource | None]:
    """Sources for training and, without noise, for validation; None where ``config.held_out`` is 0.

    What is held out depends on the sentences and ``split_seed`` alone, not on their order or the run's ``seed``.
    """
    held_out, kept = divide(sentences.texts, config.held_out, split_seed)
    train = TwofoldSource(sentences, reader, writer, config.word_noise, seed, kept)
    return train, TwofoldSource(sentences, reader, writer, members=held_out) if len(held_out) else None


def divide(texts: tuple[str, ...], held_out: float, seed: int = 0) -> tuple[Ints, Ints]:
    """Numbers of the sentences that are held out and of the others, ascending.

    ``held_out`` below 1 is a share, else a number of sentences. All copies of a sentence are on one side, so that none
    is tested that was learnt; one with too many copies for the places that are left is passed over, and the number
    that is held out can then fall short. Errors: nothing would be left to train on.
    """
    count = round(held_out * len(texts)) if held_out < 1 else round(held_out)
    count = max(count, 1) if held_out else 0
    if count >= len(texts):
        raise UserError(f"sentences.held_out takes {count:,} of {len(texts):,} sentences and leaves none to train on")
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    distinct, which, copies = np.unique(np.frombuffer(digests, dtype="<u8"), return_inverse=True, return_counts=True)
    chosen = np.zeros(len(distinct), dtype=bool)
    for one in np.argsort(bits(seed, "held out", distinct)).tolist():
        if not count:
            break
        if copies[one] <= count:
            chosen[one] = True
            count -= int(copies[one])
    return np.flatnonzero(chosen[which]), np.flatnonzero(~chosen[which])


def _taken(rows: Rows, numbers: Ints) -> tuple[Ints, Ints]:
    """The tokens of some rows end to end, int64, and their lengths."""
    begins = rows.offsets[numbers]
    lengths = rows.offsets[numbers + 1] - begins
    return rows.ids[within(lengths) + np.repeat(begins, lengths)].astype(np.int64), lengths
