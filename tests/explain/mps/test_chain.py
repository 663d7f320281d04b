"""explain/mps/chain.py: the state is the circuit; the metric of words; what is refused."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chains import dense, draw, sentences, weights, with_one
from psitext.errors import UserError
from psitext.explain.mps.chain import Chain, close, contract, finite, in_metric, middle, word_root
from psitext.nn.numerics import binary_exponent, scaled

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 12), st.integers(0, 10**6))


def recurrence(parts: tuple[torch.Tensor, ...], words: torch.Tensor) -> torch.Tensor:
    """h_T of the circuit, word by word, (B, chi): h_t = (W_H h + b_H) * (W_I x + b_I)."""
    hidden, hidden_bias, inputs, input_bias = parts
    h = torch.zeros(len(words), len(hidden), dtype=torch.float64)
    for word in words.unbind(1):
        h = (h @ hidden.T + hidden_bias) * (word @ inputs.T + input_bias)
    return h


def value(found: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    return found[0] * found[1].exp()


@given(SIZES)
def test_parity_the_state_on_sentences_is_the_recurrent_pass(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    parts, words = weights(chi, width, seed=seed), sentences(3, length, width, seed)
    h = recurrence(parts, words)
    terms = 1 + h.abs().sum(-1)  # what relative rounding is relative to, where the sum itself cancels
    error = (value(contract(close(*parts, length), with_one(words))) - (1 + h.sum(-1))).abs() / terms
    assert error.max() < 1e-12
    readout = torch.linspace(-1, 2, chi + 1, dtype=torch.float64)
    logit = h @ readout[:-1] + readout[-1]
    error = (value(contract(close(*parts, length, readout), with_one(words))) - logit).abs() / terms
    assert error.max() < 1e-12


def test_parity_fifty_words_at_the_papers_size() -> None:
    parts, words = weights(40, 4), sentences(20, 50, 4)
    found = value(contract(close(*parts, 50), with_one(words)))
    torch.testing.assert_close(found, 1 + recurrence(parts, words).sum(-1), rtol=1e-12, atol=0)


def test_parity_the_state_on_sentences_is_the_full_tensor_contracted() -> None:
    chain, words = draw(3, 2, 5), with_one(sentences(4, 5, 2))
    psi = dense(chain)
    expected = [
        sum(psi[s] * math.prod(sentence[t, s[t]] for t in range(5)) for s in product(range(3), repeat=5))
        for sentence in words.numpy()
    ]
    np.testing.assert_allclose(value(contract(chain, words)), expected, rtol=1e-12)


def test_law_restarts_go_together() -> None:
    chain, words = draw(4, 3, 7, 2, 3), with_one(sentences(5, 7, 3))
    together = value(contract(chain, words))
    assert together.shape == (2, 3, 5)
    for row, column in product(range(2), range(3)):
        alone = value(contract(chain[row, column], words))
        torch.testing.assert_close(together[row, column], alone, rtol=1e-13, atol=0)
    own = words.expand(2, 3, 5, 7, 4) * torch.arange(1.0, 7).reshape(2, 3, 1, 1, 1)
    torch.testing.assert_close(value(contract(chain, own))[1, 2], value(contract(chain[1, 2], own[1, 2])))


@pytest.mark.parametrize("scale", [1e-3, 3.0])
def test_known_two_thousand_words_stay_finite_and_right(scale: float) -> None:
    """Against whole numbers: with weights that are whole multiples of 2^-8 Python has h_T exactly."""
    parts = [torch.round(256 * scale * part) for part in weights(2, 1, seed=4)]
    words = torch.round(2 * sentences(1, 2000, 1))
    (hidden, hidden_bias, inputs, input_bias) = ([[int(x) for x in row] for row in p.reshape(2, -1)] for p in parts)
    h, unit = [0, 0], 1  # values are h / unit
    for word in words[0, :, 0].tolist():
        gates = [inputs[i][0] * int(word) + input_bias[i][0] for i in range(2)]
        sums = [sum(hidden[i][j] * h[j] for j in range(2)) + hidden_bias[i][0] * unit for i in range(2)]
        h, unit = [sums[i] * gates[i] for i in range(2)], unit * 2**16
    mantissa, log_scale = contract(close(*(part / 256 for part in parts), 2000), with_one(words))
    assert mantissa.isfinite() and log_scale.isfinite()
    total = sum(h) + unit
    expected = math.log(abs(total)) - math.log(unit)  # of whole numbers of any size
    assert math.copysign(1, mantissa.item()) == (1 if total > 0 else -1)
    assert mantissa.abs().log().item() + log_scale.item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_known_gradients_pass_through_the_contraction() -> None:
    parts, words = [part.requires_grad_() for part in weights(3, 2)], sentences(2, 4, 2)
    theirs = torch.autograd.grad((1 + recurrence(tuple(parts), words).sum(-1)).sum(), parts)
    ours = torch.autograd.grad(value(contract(close(*parts, 4), with_one(words))).sum(), parts)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_known_chains_are_values() -> None:
    chain = draw(3, 2, 5, 4)
    assert (chain.bond, chain.physical, chain.restarts) == (4, 3, (4,))
    assert chain[1].restarts == () and torch.equal(chain[1].hidden, chain.hidden[1])
    with pytest.raises(FrozenInstanceError):
        chain.length = 6  # type: ignore[misc]
    assert [middle(length) for length in (2, 3, 50, 51)] == [1, 2, 25, 26]


def test_known_diverged_restarts_are_seen_in_every_weight() -> None:
    for name, index in {"hidden": (1, 0, 0), "inputs": (1, 2, 1), "first": (1, 0), "last": (1, 3)}.items():
        chain = draw(3, 2, 5, 3)
        getattr(chain, name)[index] = torch.inf if name == "last" else torch.nan
        assert finite(chain).tolist() == [True, False, True]
    assert bool(finite(draw(3, 2, 5)))


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6))
def test_law_the_root_squares_to_the_mean_over_words(width: int, words: int, seed: int) -> None:
    vectors = sentences(words, 1, width, seed)[:, 0]
    counts = torch.randint(0, 9, (words,), generator=torch.Generator().manual_seed(seed)) + (torch.arange(words) == 0)
    wide = with_one(vectors)
    expected = sum(count * torch.outer(word, word) for count, word in zip(counts, wide, strict=True)) / counts.sum()
    root = word_root(vectors, counts)
    assert root.shape == (width + 1, min(words, width + 1))
    torch.testing.assert_close(root @ root.T, expected, rtol=1e-12, atol=1e-13)
    chain = draw(2, width, 3)
    assert torch.equal(in_metric(chain, root).inputs, chain.inputs @ root)


def test_known_roots_of_several_embeddings_at_once() -> None:
    vectors, law = sentences(4, 6, 2), torch.rand(6, dtype=torch.float64)
    together = word_root(vectors, law.expand(4, 6))
    torch.testing.assert_close(together[2], word_root(vectors[2], law))


@pytest.mark.parametrize(
    ("law", "message"),
    [([1.0, -1.0, 1.0], "at least 0"), ([0.0, 0.0, 0.0], "not all 0"), ([1.0, math.nan, 0.0], "finite")],
)
def test_known_no_law_of_words(law: list[float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        word_root(torch.ones(3, 2), torch.tensor(law))
    with pytest.raises(UserError, match="as many probabilities"):
        word_root(torch.ones(4, 2), torch.ones(3))


def test_known_empty_chains_and_other_words_are_refused() -> None:
    with pytest.raises(UserError, match="T = 0"):
        draw(2, 2, 0)
    with pytest.raises(UserError, match="chi = 0"):
        close(*(torch.zeros(shape) for shape in ((0, 0), (0,), (0, 2), (0,))), 5)
    with pytest.raises(UserError, match="1 or more"):
        Chain(torch.ones(2, 2), torch.ones(2, 0), torch.ones(2), torch.ones(2), 3)
    with pytest.raises(UserError, match="50 words of 3 dimensions"):
        contract(draw(2, 2, 50), torch.ones(1, 49, 3))


def test_known_powers_of_two_scale_exactly() -> None:
    sizes = torch.tensor([1.0, 0.75, 3e-310, 1.7e308, 0.0, math.inf, math.nan], dtype=torch.float64)
    exponents = binary_exponent(sizes)
    assert exponents[4:].tolist() == [0, 0, 0]
    small = scaled(sizes, exponents)[:4]
    assert ((small >= 0.5) & (small < 1)).all()
    assert torch.equal(scaled(small, -exponents[:4]), sizes[:4])
