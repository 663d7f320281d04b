"""An epoch's samples: consecutive text cut into sentence pairs.

Sources: Devlin et al. 2019, section 3.1; chapter 15.8.5.2; Lan et al. 2020 for sentence order prediction.

A walk goes through every document once an epoch. Where it stands, whole sentences are taken up to a token
budget and cut into A and B at a keyed sentence boundary. With one half chance the pair is negative.
Next-sentence prediction (``nsp``) then draws B from another document, and the walk goes on after A; sentence
order prediction (``sop``) swaps A and B. So each token is used exactly once an epoch as consecutive text.

Nothing but the words should tell the label. A has one distribution whatever the label, because it is cut off
before the label is drawn; a drawn B begins and ends with a sentence and has as many of them as the true one
(see ``_draw``). A sentence longer than the budget is cut into windows of even size, so no text is thrown
away. Windows, last sentences of a document, and sentences whose successor does not fit are single texts
without a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from psitext.randomness import below, uniform
from psitext.text.batches import within
from psitext.text.pretraining.store import Store

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Pairs = Literal["nsp", "sop", "none"]

STRETCH = 1 << 18  # sentences decided at a time; bounds the memory
TRIES = 32  # draws for a B of the right form
FOLLOWS, OTHER, NONE = 0, 1, -1  # labels of ``next``, BERT's convention


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents that samples are made from; their sentences count as if nothing lay between them."""

    sentences: Ints  # token offsets of the store's sentences
    firsts: Ints  # (documents,) first sentence of each document, in the store
    before: Ints  # (documents + 1,) how many sentences of the corpus come before each document

    @classmethod
    def of(cls, store: Store, documents: Ints | None = None) -> Corpus:
        """Some documents of a store, in ascending order, or all."""
        if documents is None:
            return cls(store.sentences, store.documents[:-1], store.documents)
        firsts = store.documents[documents]
        before = np.concatenate([[0], np.cumsum(store.documents[documents + 1] - firsts)])
        return cls(store.sentences, firsts, before)

    def __len__(self) -> int:
        return int(self.before[-1])

    def locate(self, places: Ints) -> tuple[Ints, Ints]:
        """Document of the corpus and sentence of the store, of sentences of the corpus."""
        document = np.searchsorted(self.before, places, side="right") - 1
        return document, self.firsts[document] + places - self.before[document]


@dataclass(frozen=True, slots=True)
class PairRule:
    """How samples are cut. All draws are named by (seed, epoch, sentence of the store)."""

    budget: int  # tokens that A and B may have together
    pairs: Pairs
    short: float  # share of the samples with a smaller budget, drawn uniformly: short texts occur in use
    seed: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Samples:
    """An epoch's samples as token ranges of the store; every array has one entry a sample."""

    a_begin: Ints
    a_length: npt.NDArray[np.int32]
    b_begin: Ints  # 0 where there is no B
    b_length: npt.NDArray[np.int32]  # 0 where there is no B
    next: npt.NDArray[np.int8]  # 0 = B follows A, 1 = it does not, -1 = no pair
    windows: int  # samples that are a part of a sentence longer than the budget
    truncated: int  # drawn Bs that had to be cut, since no drawn sentence fitted

    def __len__(self) -> int:
        return len(self.a_begin)

    @property
    def lengths(self) -> Ints:
        """(S,) tokens of each sample: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]."""
        return 2 + self.a_length.astype(np.int64) + self.b_length + (self.b_length > 0)


def sample(corpus: Corpus, rule: PairRule) -> Samples:
    """All samples of an epoch, in the order of the text."""
    parts: list[Samples] = []
    start = 0  # sentence of the corpus where the walk stands
    for low in range(0, len(corpus), STRETCH):
        stretch = _Stretch.decide(corpus, low, min(low + STRETCH, len(corpus)), rule)
        places, stop = _follow(stretch.step, start - low)
        start = low + stop
        parts.append(_windowed(_cut(corpus, stretch, places, rule), rule.budget))
    return _joined(parts)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What the walk would do at each of n consecutive sentences; places count from the first of them."""

    sentence: Ints  # (n,) sentence of the store
    document: Ints  # (n,) document of the corpus
    ends: Ints  # (n + some ahead + 1,) tokens before each place
    target: Ints  # (n,) token budget of a sample that starts here
    cut: Ints  # (n,) place where A ends; that of ``stop`` for a single text
    stop: Ints  # (n,) place where the consecutive text ends
    negative: Bools  # (n,)
    step: Ints  # (n,) place where the walk goes on

    @classmethod
    def decide(cls, corpus: Corpus, low: int, high: int, rule: PairRule) -> _Stretch:
        """Decide for the sentences [low, high) of the corpus, looking ahead as far as a sample can reach."""
        document, sentence = corpus.locate(np.arange(low, min(high + rule.budget, len(corpus))))
        lengths = corpus.sentences[sentence + 1] - corpus.sentences[sentence]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        n = high - low
        document, sentence, here = document[:n], sentence[:n], np.arange(n)
        last = corpus.before[document + 1] - low  # place where the document ends

        def reach(tokens: Ints | int) -> Ints:
            """Place up to which whole sentences fit, at least one of them."""
            fitting = np.searchsorted(ends, ends[:n] + tokens, side="right") - 1
            return np.minimum(np.maximum(fitting, here + 1), last)

        key = (rule.epoch, sentence)
        is_short = uniform(rule.seed, "short", *key) < rule.short
        smaller = 2 + below(rule.budget - 1, rule.seed, "budget", *key)
        target = np.where(is_short, smaller, rule.budget)
        stop = reach(target)
        if rule.pairs != "none":
            # A short sample still holds two sentences if the full budget does, for a label needs both.
            stop = np.maximum(stop, np.minimum(here + 2, reach(rule.budget)))
        target = np.maximum(target, ends[stop] - ends[:n])

        paired = (stop - here > 1) & (len(corpus.firsts) > 1 if rule.pairs == "nsp" else rule.pairs == "sop")
        boundary = here + 1 + below(np.maximum(stop - here - 1, 1), rule.seed, "cut", *key)
        cut = np.where(paired, boundary, stop)
        negative = paired & (uniform(rule.seed, "label", *key) < 0.5)
        step = np.where(negative & (rule.pairs == "nsp"), cut, stop)
        return cls(sentence, document, ends, target, cut, stop, negative, step)


def _follow(step: Ints, start: int) -> tuple[Ints, int]:
    """Places where the walk from ``start`` makes a sample, and the one after the stretch where it goes on."""
    steps = step.tolist()  # a list: indexing an array one by one costs several times as much
    at = start
    places = []
    while at < len(steps):
        places.append(at)
        at = steps[at]
    return np.array(places, dtype=np.int64), at


def _cut(corpus: Corpus, stretch: _Stretch, places: Ints, rule: PairRule) -> Samples:
    """The samples that start at these places of a stretch."""
    sentence, negative = stretch.sentence[places], stretch.negative[places]
    cut, stop = stretch.cut[places], stretch.stop[places]
    a_begin = corpus.sentences[sentence]
    a_length = stretch.ends[cut] - stretch.ends[places]
    b_begin = a_begin + a_length
    b_length = stretch.ends[stop] - stretch.ends[cut]
    label = np.where(b_length > 0, np.where(negative, OTHER, FOLLOWS), NONE)
    truncated = 0
    if rule.pairs == "nsp":
        at = np.flatnonzero(negative)
        room = (stretch.target[places] - a_length)[at]
        own = stretch.document[places][at]
        b_begin[at], b_length[at], truncated = _draw(corpus, own, sentence[at], room, (stop - cut)[at], rule)
    elif rule.pairs == "sop":
        a_begin[negative], b_begin[negative] = b_begin[negative], a_begin[negative]
        a_length[negative], b_length[negative] = b_length[negative], a_length[negative]
    b_begin[b_length == 0] = 0
    sizes = a_length.astype(np.int32), b_length.astype(np.int32)
    return Samples(a_begin, sizes[0], b_begin, sizes[1], label.astype(np.int8), 0, truncated)


def _draw(
    corpus: Corpus, document: Ints, sentence: Ints, room: Ints, wanted: Ints, rule: PairRule
) -> tuple[Ints, Ints, int]:
    """Token ranges out of other documents: begins, lengths, and how many had to be truncated to fit ``room``.

    The draw is over the sentences of all other documents, by construction: a number below theirs, shifted
    past the own document. It is repeated until ``wanted`` sentences, as many as the true B has, fit the room
    while one more would not (or the document ends): that is how a true B comes about. Failing that in
    ``TRIES`` draws, the best is taken: ``wanted`` sentences fit, or at least one. Without this, lengths
    alone would tell the labels apart (docs/pretraining-data.md).
    """
    before, offsets = corpus.before, corpus.sentences
    own = before[document + 1] - before[document]
    first = np.zeros(len(document), dtype=np.int64)  # of the best draw so far,
    end = np.zeros(len(document), dtype=np.int64)  # where its document ends,
    grade = np.full(len(document), -1)  # and how good it is: 0 nothing fits, 1, 2 as above, 3 like a true B
    left = np.arange(len(document))  # those that may still find a better one
    for attempt in range(TRIES):
        place = below(len(corpus) - own[left], rule.seed, "other", rule.epoch, attempt, sentence[left])
        place += np.where(place >= before[document[left]], own[left], 0)
        there, drawn = corpus.locate(place)
        last = corpus.firsts[there] + before[there + 1] - before[there]
        behind = drawn + wanted[left]
        limit = offsets[drawn] + room[left]
        fits = (behind <= last) & (offsets[np.minimum(behind, last)] <= limit)
        full = (behind == last) | (offsets[np.minimum(behind + 1, last)] > limit)
        found = np.where(fits, 2 + full, offsets[drawn + 1] <= limit)
        better = found > grade[left]
        at = left[better]
        first[at], end[at], grade[at] = drawn[better], last[better], found[better]
        left = left[found < 3]
        if len(left) == 0:
            break
    begin = offsets[first]
    stop = np.minimum(first + wanted, end)
    few = np.flatnonzero(grade < 2)
    fitting = np.searchsorted(offsets, begin[few] + room[few], side="right") - 1
    stop[few] = np.clip(fitting, first[few] + 1, stop[few])
    return begin, np.minimum(offsets[stop] - begin, room), int(np.count_nonzero(grade == 0))


def _windowed(samples: Samples, budget: int) -> Samples:
    """The samples with every single sentence longer than the budget cut into windows of even size."""
    pieces = np.where(samples.next == NONE, -(-samples.a_length // budget), 1)
    index = np.repeat(np.arange(len(samples)), pieces)
    piece, count = within(pieces), pieces[index]
    size = samples.a_length[index].astype(np.int64)
    low, high = size * piece // count, size * (piece + 1) // count
    return Samples(
        samples.a_begin[index] + low,
        (high - low).astype(np.int32),
        samples.b_begin[index],
        samples.b_length[index],
        samples.next[index],
        windows=int(pieces[pieces > 1].sum()),
        truncated=samples.truncated,
    )


def _joined(parts: Sequence[Samples]) -> Samples:
    return Samples(
        np.concatenate([part.a_begin for part in parts]),
        np.concatenate([part.a_length for part in parts]),
        np.concatenate([part.b_begin for part in parts]),
        np.concatenate([part.b_length for part in parts]),
        np.concatenate([part.next for part in parts]),
        windows=sum(part.windows for part in parts),
        truncated=sum(part.truncated for part in parts),
    )
