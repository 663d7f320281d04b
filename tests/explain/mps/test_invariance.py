"""What a spectrum may not depend on, what it does depend on, and the metric of words against all sentences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from chains import cores, dense, dense_schmidt, draw, rescaled_units, sentences, weights, with_one
from psitext.explain.mps.chain import Chain, close, contract, in_metric, word_root
from psitext.explain.mps.formats import Sites
from psitext.explain.mps.spectrum import spectrum

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(2, 12), st.integers(0, 10**6))


def same(one: Chain, other: Chain) -> None:
    """Both engines see the same spectrum."""
    for engine in ("gram", "roots"):
        first, second = spectrum(one, engine=engine), spectrum(other, engine=engine)
        torch.testing.assert_close(first.entropy_bits, second.entropy_bits, rtol=0, atol=1e-10)
        torch.testing.assert_close(first.schmidt.square(), second.schmidt.square(), rtol=0, atol=1e-11)


def matrix(size: int, seed: int) -> Tensor:
    """An invertible one with singular values from 1/2 to 2."""
    u, _, v = torch.linalg.svd(sentences(1, size, size, seed)[0])
    return u * torch.linspace(0.5, 2, size, dtype=torch.float64) @ v


@settings(max_examples=30)
@given(SIZES)
def test_law_a_gauge_changes_nothing(size: tuple[int, int, int, int]) -> None:
    """A -> G A G^-1, omega_L -> G omega_L, omega_R -> G^-T omega_R, of any invertible G."""
    chi, width, length, seed = size
    chain = draw(chi, width, length, seed=seed)
    gauge = matrix(chi + 1, seed + 1).numpy()
    core = np.einsum("ab,sbc,cd->dsa", gauge, cores(chain), np.linalg.inv(gauge))
    first = np.einsum("l,lpr->pr", gauge @ chain.first.numpy(), core)[None]
    last = np.einsum("lpr,r->lp", core, np.linalg.solve(gauge.T, chain.last.numpy()))[..., None]
    ours = spectrum(chain, engine="roots").schmidt
    for cut, theirs in enumerate(Sites((first, *[core] * (length - 2), last)).schmidt()):
        kept = min(len(theirs), chi + 1)
        np.testing.assert_allclose(ours[cut, :kept], theirs[:kept], atol=1e-11)
        assert (np.abs(theirs[kept:]) < 1e-11).all()


@settings(max_examples=30)
@given(SIZES, st.floats(1e-3, 1e3))
def test_law_scale_order_and_size_of_hidden_units_change_nothing(size: tuple[int, int, int, int], by: float) -> None:
    chi, width, length, seed = size
    chain = draw(chi, width, length, seed=seed)
    same(chain, replace(chain, hidden=by * chain.hidden, last=-by * chain.last))
    order = torch.randperm(chi + 1, generator=torch.Generator().manual_seed(seed))
    shuffled = (chain.hidden[order][:, order], chain.inputs[order], chain.first[order], chain.last[order])
    same(chain, Chain(*shuffled, length))
    sizes = torch.logspace(-1, 1, chi + 1, dtype=torch.float64)[order]
    same(chain, rescaled_units(chain, sizes))


@settings(max_examples=30)
@given(SIZES)
def test_law_a_rotation_of_word_space_changes_nothing(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain = draw(chi, width, length, seed=seed)
    same(chain, replace(chain, inputs=chain.inputs @ torch.linalg.qr(sentences(1, width + 1, width + 1, seed)[0]).Q))


@settings(max_examples=30)
@given(SIZES)
def test_law_the_data_metric_forgets_how_words_are_embedded(size: tuple[int, int, int, int]) -> None:
    """Phi -> M Phi, W_I -> W_I M^-1 for any invertible M: no prediction changes, and no entropy either."""
    chi, width, length, seed = size
    hidden, hidden_bias, inputs, input_bias = weights(chi, width, seed=seed)
    vectors, law = sentences(12, width, 1, seed)[..., 0], torch.rand(12, generator=torch.Generator().manual_seed(seed))
    mixing = matrix(width, seed + 2)
    chain = close(hidden, hidden_bias, inputs, input_bias, length)
    other = close(hidden, hidden_bias, inputs @ torch.linalg.inv(mixing), input_bias, length)
    same(in_metric(chain, word_root(vectors, law)), in_metric(other, word_root(vectors @ mixing.T, law)))


def test_known_the_papers_metric_does_not() -> None:
    """The note's counterexample: one function, embeddings of another scale, another entropy."""
    hidden, hidden_bias, inputs, input_bias = weights(8, 4)
    vectors, law = sentences(30, 4, 1)[..., 0], torch.ones(30)
    words = vectors[torch.randint(0, 30, (5, 50), generator=torch.Generator().manual_seed(1))]
    paper, data, values = [], [], []
    for scale in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0):
        chain = close(hidden, hidden_bias, inputs / scale, input_bias, 50)
        paper.append(spectrum(chain, "mid").entropy_bits.item())
        data.append(spectrum(in_metric(chain, word_root(scale * vectors, law)), "mid").entropy_bits.item())
        mantissa, log_scale = contract(chain, with_one(scale * words))
        values.append(mantissa * log_scale.exp())
    torch.testing.assert_close(torch.stack(values), values[3].expand(7, 5), rtol=1e-11, atol=0)
    assert max(paper) - min(paper) > 0.5
    assert max(data) - min(data) < 1e-12


def test_known_two_closings_of_one_classifier_have_two_entropies() -> None:
    """The note's trap: hidden units may be rescaled at the readout's cost; closed with ones the state is another."""
    chi, sizes = 5, torch.tensor([3.0, 0.2, 1.5, 0.7, 2.0], dtype=torch.float64)
    hidden, hidden_bias, inputs, input_bias = weights(chi, 3)
    readout = torch.linspace(-1, 1, chi + 1, dtype=torch.float64)
    scaled = (sizes[:, None] * hidden / sizes, sizes * hidden_bias, inputs, input_bias)
    other = torch.cat([readout[:-1] / sizes, readout[-1:]])
    same(close(hidden, hidden_bias, inputs, input_bias, 4, readout), close(*scaled, 4, other))
    ones = [spectrum(close(*parts, 4), "mid") for parts in ((hidden, hidden_bias, inputs, input_bias), scaled)]
    assert (ones[0].entropy_bits - ones[1].entropy_bits).abs() > 0.01


def weighted_values(chain: Chain, words: Tensor, laws: Tensor) -> np.ndarray:
    """f(w_1 ... w_T) sqrt(p_1(w_1) ... p_T(w_T)) on all sentences of N words: (N, ..., N); laws (T, N)."""
    count, length = len(words), chain.length
    every = torch.tensor(list(product(range(count), repeat=length)))
    mantissa, log_scale = contract(chain, with_one(words)[every])
    chances = torch.stack([laws[t, every[:, t]] for t in range(length)]).prod(0)
    return (mantissa * log_scale.exp() * chances.sqrt()).reshape([count] * length).numpy()


@pytest.mark.parametrize("engine", ["gram", "roots"])
def test_parity_the_data_metric_is_the_function_on_all_sentences(engine: str) -> None:
    """Brute force over 5^6 sentences; and 2^8 of fewer words than a site has dimensions."""
    for words, length in ((5, 6), (2, 8)):
        chain, vectors = draw(4, 3, length), sentences(words, 3, 1)[..., 0]
        law = torch.arange(1.0, words + 1, dtype=torch.float64) / sum(range(words + 1))
        table = weighted_values(chain, vectors, law.expand(length, words))
        found = spectrum(in_metric(chain, word_root(vectors, law)), engine=engine)  # type: ignore[arg-type]
        assert found.log_norm.exp().item() == pytest.approx(np.linalg.norm(table), rel=1e-12)
        for cut in range(1, length):
            theirs = dense_schmidt(table, cut)[:5]
            np.testing.assert_allclose(found.schmidt[cut - 1, : len(theirs)] ** 2, theirs**2, atol=1e-14)


def test_parity_every_position_may_have_its_own_law() -> None:
    chain, vectors = draw(4, 3, 6), sentences(5, 3, 1)[..., 0]
    laws = torch.rand(6, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    laws[0] = torch.tensor([1.0, 0, 0, 0, 0])  # a pad, and nothing else
    laws = laws / laws.sum(-1, keepdim=True)
    table = weighted_values(chain, vectors, laws)
    for engine in ("gram", "roots"):
        found = spectrum(chain, engine=engine, metrics=[word_root(vectors, law) for law in laws])
        for cut in range(1, 6):
            theirs = dense_schmidt(table, cut)[:5]
            np.testing.assert_allclose(found.schmidt[cut - 1, : len(theirs)] ** 2, theirs**2, atol=1e-14)
    assert found.entropy_bits[0].item() == pytest.approx(0, abs=1e-14)  # of a pad nothing is to be known
    same_law = [word_root(vectors, laws[1])] * 6
    equal = spectrum(in_metric(chain, same_law[0]), engine="roots").schmidt
    assert torch.equal(spectrum(chain, engine="roots", metrics=same_law).schmidt, equal)


def test_known_the_standard_metric_is_the_full_tensor() -> None:
    chain = draw(3, 2, 5)
    unit = in_metric(chain, torch.eye(3))
    assert spectrum(unit).log_norm.exp().item() == pytest.approx(np.linalg.norm(dense(chain)))
