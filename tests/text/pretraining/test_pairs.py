from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psitext.text.pretraining import pairs
from psitext.text.pretraining.pairs import FOLLOWS, NONE, OTHER, Corpus, PairRule, Samples, sample
from psitext.text.pretraining.store import Store
from text.pretraining.corpora import store_of


@dataclass(frozen=True)
class Case:
    lengths: list[list[int]]  # of the sentences, by documents
    rule: PairRule
    stretch: int
    documents: np.ndarray  # some of them

    @property
    def store(self) -> Store:
        return store_of(self.lengths)


def case(seed: int) -> Case:
    """Drawn by numpy: lists that hypothesis makes itself are mostly too short for a walk to go wrong."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, random.choice([2, 30]) + 1, random.integers(1, 9))
    longest = random.choice([1, 4, 12, 40])
    rule = PairRule(
        budget=int(random.integers(5, 61)),
        pairs=random.choice(["nsp", "nsp", "sop", "none"]),
        short=float(random.choice([0, 0.1, 1])),
        seed=seed,
        epoch=int(random.integers(4)),
    )
    return Case(
        [random.integers(1, longest + 1, count).tolist() for count in counts],
        rule,
        int(random.integers(1, 10)),
        np.flatnonzero(random.random(len(counts)) < 0.7) if len(counts) > 1 else np.array([0]),
    )


CASES = st.integers(0, 2**32).map(case)
NSP = PairRule(budget=60, pairs="nsp", short=0.1, seed=1, epoch=0)


def consecutive(samples: Samples, kind: str) -> list[tuple[int, int]]:
    """Begin and end of the text that each sample takes from the walk."""
    found = []
    for a, m, b, n, label in zip(
        samples.a_begin, samples.a_length, samples.b_begin, samples.b_length, samples.next, strict=True
    ):
        if label == FOLLOWS:
            assert b == a + m
        if label == OTHER and kind == "sop":
            assert a == b + n
        if label == NONE:
            assert (b, n) == (0, 0)
        alone = label == NONE or (label == OTHER and kind == "nsp")
        found.append((int(a), int(a + m)) if alone else (int(min(a, b)), int(min(a, b) + m + n)))
    return found


def document_of(store: Store, token: np.ndarray) -> np.ndarray:
    return np.searchsorted(store.sentences[store.documents], token, side="right") - 1


@given(CASES)
def test_law_every_token_once_and_never_over_budget(case: Case) -> None:
    store, rule = case.store, case.rule
    samples = sample(Corpus.of(store), rule)
    covered = np.zeros(store.meta.tokens, dtype=int)
    for begin, end in consecutive(samples, rule.pairs):
        covered[begin:end] += 1
    assert (covered == 1).all()
    assert (samples.a_length > 0).all()
    assert (samples.a_length + samples.b_length <= rule.budget).all()
    assert (samples.lengths == samples.a_length + samples.b_length + np.where(samples.next == NONE, 2, 3)).all()
    for begin, length in ((samples.a_begin, samples.a_length), (samples.b_begin, samples.b_length)):
        there = length > 0
        last = document_of(store, (begin + length - 1)[there])
        assert (document_of(store, begin[there]) == last).all()  # no text crosses a document


@given(CASES)
def test_law_stretches_do_not_show(case: Case) -> None:
    corpus = Corpus.of(case.store)
    whole = sample(corpus, case.rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "STRETCH", case.stretch)
        assert same(whole, sample(corpus, case.rule))


@given(CASES)
def test_law_negatives_come_from_another_document(case: Case) -> None:
    store = case.store
    samples = sample(Corpus.of(store), replace(case.rule, pairs="nsp"))
    negative = samples.next == OTHER
    a, b = samples.a_begin[negative], samples.b_begin[negative]
    assert (document_of(store, a) != document_of(store, b)).all()
    assert np.isin(b, store.sentences).all()  # a drawn B begins with a sentence
    ends = np.isin(b + samples.b_length[negative], store.sentences)
    assert np.count_nonzero(~ends) == samples.truncated  # and ends with one, or is counted


@given(CASES)
def test_law_a_part_of_the_documents_is_all_that_is_used(case: Case) -> None:
    assume(len(case.documents) > 0)
    store = case.store
    samples = sample(Corpus.of(store, case.documents), case.rule)
    for begin in (samples.a_begin, samples.b_begin[samples.b_length > 0]):
        assert np.isin(document_of(store, begin), case.documents).all()
    text = sum(end - begin for begin, end in consecutive(samples, case.rule.pairs))
    assert text == sum(sum(case.lengths[document]) for document in case.documents)


@given(CASES)
def test_law_the_same_keys_give_the_same_samples(case: Case) -> None:
    assert same(sample(Corpus.of(case.store), case.rule), sample(Corpus.of(case.store), case.rule))


def test_law_epochs_and_seeds_differ() -> None:
    corpus = Corpus.of(many())
    one = sample(corpus, NSP)
    for other in (sample(corpus, replace(NSP, epoch=1)), sample(corpus, replace(NSP, seed=2))):
        shared = np.isin(one.a_begin[one.next == OTHER], other.a_begin[other.next == OTHER]).mean()
        assert shared < 0.6


def test_law_a_single_document_has_no_labels() -> None:
    samples = sample(Corpus.of(store_of([[5] * 30])), NSP)
    assert (samples.next == NONE).all()
    assert samples.a_length.sum() == 150


def test_known_labels_balance_and_lengths_do_not_tell_them() -> None:
    store = many()
    samples = sample(Corpus.of(store), NSP)
    follows, other = samples.next == FOLLOWS, samples.next == OTHER
    paired = follows.sum() + other.sum()
    assert paired / len(samples) > 0.8
    assert follows.sum() / paired == pytest.approx(0.5, abs=0.015)
    assert samples.truncated < 0.01 * other.sum()
    sentences = np.searchsorted(store.sentences, samples.b_begin + samples.b_length) - np.searchsorted(
        store.sentences, samples.b_begin
    )
    for counts, within in ((samples.a_length, 0.02), (samples.b_length, 0.05), (sentences, 0.03)):
        assert counts[other].mean() == pytest.approx(counts[follows].mean(), rel=within)


def test_known_a_swapped_pair_is_a_real_one_swapped() -> None:
    samples = sample(Corpus.of(many()), replace(NSP, pairs="sop"))
    swapped = samples.next == OTHER
    assert (samples.b_begin + samples.b_length == samples.a_begin)[swapped].all()
    assert swapped.sum() / (samples.next >= 0).sum() == pytest.approx(0.5, abs=0.02)


def test_known_any_boundary_may_be_the_cut() -> None:
    samples = sample(Corpus.of(store_of([[1] * 10] * 2000)), replace(NSP, budget=10, short=0.0))
    follows = samples.next == FOLLOWS
    whole = follows & (samples.a_length + samples.b_length == 10)
    counts = np.bincount(samples.a_length[whole], minlength=10)[1:]
    assert counts.min() > 0.7 * counts.mean()
    assert counts.max() < 1.3 * counts.mean()


def test_known_the_best_draw_keeps_the_number_of_sentences() -> None:
    # Hardly a draw fills the 40 tokens of a true B of two sentences; half of them are of one sentence only.
    store = store_of([[20, 20, 20], *[[5]] * 1000, [5] * 1000])
    seen = set()
    for epoch in range(40):
        samples = sample(Corpus.of(store), replace(NSP, short=0.0, epoch=epoch))
        if samples.next[0] == OTHER:
            seen.add((int(samples.a_length[0]), int(samples.b_length[0])))
    assert seen == {(20, 10), (40, 5)}


def test_known_short_samples_are_a_tenth() -> None:
    store = store_of([[1] * 20_000])  # sentences of one token fill any budget exactly
    samples = sample(Corpus.of(store), PairRule(budget=100, pairs="none", short=0.1, seed=0, epoch=0))
    assert (samples.a_length < 100).mean() == pytest.approx(0.1, abs=0.06)
    assert samples.a_length.min() >= 2


def test_known_a_sentence_longer_than_the_budget_is_cut_evenly() -> None:
    samples = sample(Corpus.of(store_of([[125], [3]])), PairRule(60, "nsp", 0.0, 0, 0))
    assert samples.a_length.tolist() == [41, 42, 42, 3]
    assert samples.a_begin.tolist() == [0, 41, 83, 125]
    assert (samples.next == NONE).all()
    assert samples.windows == 3


def many() -> Store:
    random = np.random.default_rng(3)
    return store_of([random.integers(1, 40, random.integers(1, 40)).tolist() for _ in range(1500)])


def same(one: Samples, other: Samples) -> bool:
    names = ("a_begin", "a_length", "b_begin", "b_length", "next")
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
    return arrays and (one.windows, one.truncated) == (other.windows, other.truncated)
