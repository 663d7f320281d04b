"""explain/shapley.py: brute force over all coalitions, the axioms, circuits whose values are known by hand."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from chains import sentences
from plain import several, value
from psitext.errors import UserError
from psitext.explain import shapley as module
from psitext.explain.mps.chain import Chain, close
from psitext.explain.shapley import gauss_legendre, interactions, shapley

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 14), st.integers(0, 10**6))


def game(chain: Chain, sentence: Tensor, baseline: Tensor) -> dict[frozenset[int], Tensor]:
    """v of all 2^T coalitions, (K,) each."""
    length = len(sentence)
    present = torch.tensor(list(product([False, True], repeat=length)))
    worth = value(chain, torch.where(present[..., None], sentence, baseline))
    return {frozenset(np.flatnonzero(row).tolist()): v for row, v in zip(present.numpy(), worth, strict=True)}


def brute_force(worth: dict[frozenset[int], Tensor], length: int) -> Tensor:
    """(K, T) by the definition: a coalition of s others has weight s! (T - s - 1)! / T!."""
    shares = []
    for t in range(length):
        others = [s for s in worth if t not in s]
        factors = [
            math.factorial(len(s)) * math.factorial(length - len(s) - 1) / math.factorial(length) for s in others
        ]
        shares.append(sum(f * (worth[s | {t}] - worth[s]) for f, s in zip(factors, others, strict=True)))
    return torch.stack(shares, dim=-1)


def brute_force_pairs(worth: dict[frozenset[int], Tensor], length: int) -> Tensor:
    """(K, T, T): a coalition of s others has weight s! (T - s - 2)! / (T - 1)!."""
    found = torch.zeros(len(worth[frozenset()]), length, length, dtype=torch.float64)
    for i, j in combinations(range(length), 2):
        for s in (s for s in worth if not s & {i, j}):
            weight = math.factorial(len(s)) * math.factorial(length - len(s) - 2) / math.factorial(length - 1)
            found[:, i, j] += weight * (worth[s | {i, j}] - worth[s | {i}] - worth[s | {j}] + worth[s])
    return found + found.mT


def test_parity_with_brute_force_over_all_coalitions() -> None:
    chain, words = several(6, 3, 10), sentences(2, 10, 3)
    for baseline in (torch.zeros(3, dtype=torch.float64), sentences(1, 1, 3, seed=5)[0, 0]):
        found = shapley(chain, words, baseline)
        assert found.log_scale.tolist() == [0, 0]
        for sentence, values, nothing, whole in zip(words, found.values, found.nothing, found.whole, strict=True):
            worth = game(chain, sentence, baseline)
            expected = brute_force(worth, 10)
            assert_close(values, expected, rtol=0, atol=1e-10 * float(expected.abs().max()))
            assert_close(nothing, worth[frozenset()], rtol=1e-12, atol=1e-12)
            assert_close(whole, worth[frozenset(range(10))], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 3, 6, 7])
def test_parity_interactions_with_brute_force(length: int) -> None:
    chain, words, baseline = several(4, 2, length), sentences(2, length, 2), torch.tensor([0.3, -0.2]).double()
    found = interactions(chain, words, baseline)
    for sentence, values in zip(words, found.values, strict=True):
        expected = brute_force_pairs(game(chain, sentence, baseline), length)
        assert_close(values, expected, rtol=0, atol=1e-12 * (1 + float(expected.abs().max())))


@given(SIZES)
def test_law_values_sum_to_what_the_sentence_adds(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, words = several(chi, width, length, seed=seed), sentences(3, length, width, seed)
    found = shapley(chain, words, sentences(1, length, width, seed + 1)[0])  # a baseline for every place
    gap = (found.values.sum(-1) - (found.whole - found.nothing)).abs()
    assert bool((gap <= 1e-10 * (found.values.abs().sum(-1) + found.whole.abs() + found.nothing.abs())).all())


@given(SIZES)
def test_law_a_word_that_is_the_baseline_adds_nothing(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, words = several(chi, width, length, seed=seed), sentences(1, length, width, seed)
    words[:, seed % length] = 0
    baseline = torch.zeros(width, dtype=torch.float64)
    assert shapley(chain, words, baseline).values[..., seed % length].abs().max() == 0
    assert interactions(chain, words, baseline).values[..., seed % length].abs().max() == 0


def test_known_a_product_of_words_is_shared_alike_however_long() -> None:
    """f = x_1 ... x_T: only all words together are worth anything, 2^T, whose T-th part is each word's."""
    one, none = torch.ones(1, 1).double(), torch.zeros(1).double()
    for length in (1, 3, 10, 1500):
        chain = close(one, none, one, none, length, torch.tensor([1.0, 0.0]))
        chain.first[:] = torch.tensor([1.0, 0.0])  # h_0 = 1
        found = shapley(chain, torch.full((1, length, 1), 2.0), torch.zeros(1))
        logs = found.values.log() + found.log_scale[:, None, None]
        assert_close(logs, torch.full_like(logs, length * math.log(2) - math.log(length)), rtol=0, atol=1e-9)


def test_law_two_thousand_words_stay_finite_and_sum_up() -> None:
    found = shapley(several(3, 2, 2000, scale=3), sentences(1, 2000, 2), torch.zeros(2))
    assert found.log_scale > 1000, "far above what a double holds"
    assert found.values.isfinite().all()
    assert (found.values.sum(-1) - (found.whole - found.nothing)).abs().max() < 1e-10 * found.values.abs().sum()


def test_law_groups_of_nodes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, words, baseline = several(4, 2, 9), sentences(2, 9, 2), torch.ones(2)
    at_once = shapley(chain, words, baseline), interactions(chain, words, baseline)
    monkeypatch.setattr(module, "CHUNK", 1)
    one_by_one = shapley(chain, words, baseline), interactions(chain, words, baseline)
    for a, b in zip(at_once, one_by_one, strict=True):
        assert_close(a.values, b.values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("nodes", [1, 2, 3, 25, 200, 1000])
def test_known_quadrature_is_exact_to_its_degree(nodes: int) -> None:
    q, weights = gauss_legendre(nodes)
    for degree in {0, 1, nodes, 2 * nodes - 2, 2 * nodes - 1}:
        assert (weights * q**degree).sum() * (degree + 1) == pytest.approx(1, rel=1e-11)


def test_known_one_degree_more_is_too_many_for_quadrature() -> None:
    q, weights = gauss_legendre(2)
    assert (weights * q**4).sum() == pytest.approx(7 / 36, rel=1e-14)  # not 1 / 5


def test_parity_quadrature_with_numpy() -> None:
    for nodes in (1, 5, 40):
        x, weights = np.polynomial.legendre.leggauss(nodes)
        assert_close(gauss_legendre(nodes), ((1 + x) / 2, weights / 2), rtol=0, atol=1e-14)


def test_known_what_cannot_be_explained_is_refused() -> None:
    chain, words, zero = several(3, 2, 4), sentences(1, 4, 2), torch.zeros(2)
    broken = several(3, 2, 4)
    broken.hidden[0, 0] = torch.nan
    cases = [
        (broken, words, zero, "'hidden' weights are not finite"),
        (chain, words * torch.inf, zero, "word vector holds a value that is not finite"),
        (chain, words[:, :0], zero, "at least one word"),
        (chain, words[0], zero, "(sentences, words, width)"),
        (chain, words[..., :1], zero[:1], "width 1 do not fit a circuit of width 2"),
        (chain, words, torch.zeros(3), "does not fit words of shape (1, 4, 2)"),
    ]
    for circuit, sentence, baseline, message in cases:
        for explain in (shapley, interactions):
            with pytest.raises(UserError) as error:
                explain(circuit, sentence, baseline)
            assert message in str(error.value)
