"""Beam search against all sentences there are."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from psitext.baselines.beams import Beams
from psitext.heads.decoding import Writing

V, EOS, PAD = 4, 2, 9
LENGTH = 4


def table(seed: int) -> Tensor:
    """(V + 1, V) log-probabilities of a word after each word; the last row is of the start."""
    random = torch.Generator().manual_seed(seed)
    return (1.5 * torch.randn(V + 1, V, generator=random)).log_softmax(-1)


def search(tables: list[Tensor], beams: int, samples: int = 1) -> list[list[int]]:
    """Each sentence has its own table of words after words."""
    found = Beams(len(tables), Writing(max_len=LENGTH, beams=beams), eos=EOS, pad=PAD, device=torch.device("cpu"))
    rows = torch.arange(len(tables) * beams)
    tokens = torch.full((len(rows),), V)
    stack = torch.stack(tables)
    while not found.done:
        rows, tokens = found.extend(stack[rows // beams, tokens])
    return found.best(samples).tolist()


def mean(words: tuple[int, ...], of: Tensor) -> float:
    return float(sum(of[a, b] for a, b in itertools.pairwise((V, *words)))) / len(words)


def sentences() -> list[tuple[int, ...]]:
    others = [word for word in range(V) if word != EOS]
    ended = [
        (*words, EOS) for length in range(LENGTH) for words in itertools.product(others, repeat=length)
    ]  # up to LENGTH words, the end included
    return ended + list(itertools.product(others, repeat=LENGTH))


@pytest.mark.parametrize("seed", range(6))
def test_parity_with_all_sentences(seed: int) -> None:
    of = table(seed)
    ranked = sorted(sentences(), key=lambda words: -mean(words, of))
    wide = len(ranked)  # enough beams to lose nothing
    found = search([of], wide, samples=5)
    scores = [mean(tuple(_cut(row)), of) for row in found]
    assert scores == pytest.approx([mean(words, of) for words in ranked[:5]], abs=1e-6)  # some differ in order alone
    assert len({tuple(row) for row in found}) == 5


def test_law_one_sentence_does_not_touch_another() -> None:
    tables = [table(seed) for seed in range(8)]
    together = search(tables, 3)
    for row, of in zip(together, tables, strict=True):
        alone = search([of], 3)[0]
        assert row[: len(alone)] == alone and set(row[len(alone) :]) <= {PAD}


def test_law_more_beams_are_no_worse_here_and_one_is_greedy() -> None:
    for seed in range(6):
        of = table(seed)
        said: list[int] = []
        while len(said) < LENGTH and EOS not in said:
            said.append(int(of[said[-1] if said else V].argmax()))
        assert search([of], 1)[0][: len(said)] == said
        best = [mean(tuple(_cut(search([of], beams)[0])), of) for beams in (1, len(sentences()))]
        assert best[0] <= best[1] + 1e-6


def _cut(row: list[int]) -> list[int]:
    return [word for word in row if word != PAD]
