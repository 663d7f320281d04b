"""explain/mps/compress/balanced.py: errors over all sentences, exactness, what the balanced basis is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from chains import dense, draw, rescaled_units, sentences
from plain import calm, drawn, every_sentence, mean_square, several, value, vocabulary
from psitext.errors import UserError
from psitext.explain.mps.chain import word_root
from psitext.explain.mps.compress.balanced import as_uniform, balance, balance_to, law_error
from psitext.explain.mps.compress.sequences import Uniform, relative_rms
from psitext.explain.mps.compress.truncation import error_bounds, truncate
from psitext.explain.passes import run

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 2), st.integers(1, 6), st.integers(0, 10**6))


def full(machine: Uniform, length: int) -> np.ndarray:
    """Its tensor for T words, (p, ..., p), of one closing."""
    psi = machine.first
    for _ in range(length):
        psi = torch.tensordot(psi, machine.core, dims=1)
    return (psi @ machine.last[0]).numpy()


@given(SIZES)
def test_law_its_own_bond_is_exact(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, words = several(chi, width, length, seed=seed), sentences(3, length, width, seed)
    found = balance(chain, chain.bond)
    assert found.predicted_error == 0 and found.uniform.bond == chain.bond
    expected = value(chain, words)
    assert_close(found.uniform.run(words).values, expected, rtol=0, atol=1e-11 * float(1 + expected.abs().max()))
    assert law_error(chain, found.uniform) < 1e-11


@given(SIZES)
def test_parity_the_predicted_error_is_that_of_the_full_tensor(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain = draw(chi, width, length, seed=seed)
    psi = dense(chain)
    for bond in range(1, chain.bond):
        found = balance(chain, bond)
        error = np.linalg.norm(full(found.uniform, length) - psi) / np.linalg.norm(psi)
        assert error == pytest.approx(found.predicted_error, rel=1e-8, abs=1e-11)


def test_parity_the_data_metric_predicts_the_error_over_all_sentences() -> None:
    chain, (vectors, law) = calm(5, 2, 5, outputs=3), vocabulary(4, 2, seed=1)
    words, chances = every_sentence(vectors, law, 5)
    exact = value(chain, words)
    for bond in (1, 2, 3, 5):
        found = balance(chain, bond, word_root(vectors, law))
        assert found.uniform.core.shape == (bond, 3, bond)
        error = mean_square(found.uniform.run(words).values - exact, chances) / mean_square(exact, chances)
        assert float(error.sqrt()) == pytest.approx(found.predicted_error, rel=1e-9)


def test_law_it_predicts_what_is_measured_at_fifty_words() -> None:
    chain, (vectors, law) = calm(20, 4, 50), vocabulary(500, 4)
    chain = replace(chain, hidden=torch.cat([0.8 * chain.hidden[:-1], chain.hidden[-1:]]))
    words = drawn(vectors, law, 3000, 50)
    exact, metric = run(chain, words), word_root(vectors, law)
    errors = []
    for bond in (3, 6, 12, 18):
        found = balance(chain, bond, metric)
        assert relative_rms(exact, found.uniform.run(words)) == pytest.approx(found.predicted_error, rel=0.2)
        assert found.predicted_error >= error_bounds(chain, metric)[0][bond - 1]
        assert found.predicted_error > truncate(chain, bond, metric).predicted_error, "one core for all words costs"
        errors.append(found.predicted_error)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.03


def test_law_no_other_closing_is_nearer() -> None:
    chain, (vectors, law) = calm(5, 2, 8, outputs=2), vocabulary(6, 2)
    metric = word_root(vectors, law)
    for bond in (1, 3):
        found = balance(chain, bond, metric)
        assert found.predicted_error <= 1
        assert found.predicted_error == pytest.approx(law_error(chain, found.uniform, metric), rel=1e-9)
        for k in range(2):
            for i in range(bond):
                for step in (-1e-3, 1e-3):
                    last = found.uniform.last.clone()
                    last[k, i] += step
                    assert law_error(chain, replace(found.uniform, last=last), metric) > found.predicted_error


def test_law_small_errors_are_right_to_their_own_digits() -> None:
    """A unit of weight 1e-11: Grams would give an error of 1e-8 for it, and roots give 1e-11."""
    chain = draw(2, 2, 6, seed=4)
    last = chain.last.clone()
    last[0] = 1e-11
    chain = replace(chain, last=last, hidden=chain.hidden * torch.tensor([[1.0, 0, 1], [0, 1, 1], [0, 0, 1]]))
    without = replace(chain, last=last * torch.tensor([0.0, 1, 1]))  # unit 0 feeds nothing but the logit
    psi = dense(chain)
    expected = np.linalg.norm(dense(without) - psi) / np.linalg.norm(psi)
    assert law_error(chain, as_uniform(without)) == pytest.approx(expected, rel=1e-3)
    assert expected < 1e-8


def test_law_a_basis_of_the_bond_means_nothing() -> None:
    chain, words = calm(6, 2, 20), sentences(3, 20, 2)
    turned = rescaled_units(replace(chain, last=chain.last[0]), torch.tensor([1e-2, 3, 1, 40, 1, 0.2, 1]).double())
    here, there = balance(chain, 3), balance(turned, 3)
    assert_close(there.schmidt, here.schmidt, rtol=1e-6, atol=1e-12)
    assert_close(there.uniform.run(words).values, here.uniform.run(words).values, rtol=1e-6, atol=1e-9)


def test_law_what_is_no_more_than_rounding_is_left_out() -> None:
    chain = draw(3, 2, 6)
    twice = torch.tensor([0, 1, 2, 0, 1, 3])
    share = torch.tensor([0.5, 0.5, 1, 0.5, 0.5, 1]).double()
    doubled = replace(
        chain,
        hidden=chain.hidden[twice][:, twice] * share,
        inputs=chain.inputs[twice],
        first=chain.first[twice],
        last=chain.last[twice] * share,
    )
    found = balance(doubled, 5)
    assert found.uniform.bond == 4
    assert found.predicted_error < 1e-9


def test_law_two_thousand_words_and_growth_beyond_doubles() -> None:
    """Spectral radii far from 1, where sums over all lengths do not exist: a finite horizon does."""
    for length, scale in ((300, 0.5), (2000, 3.0)):
        chain = several(3, 2, length, scale=scale)
        found = balance(chain, 3)
        assert np.isfinite(found.predicted_error)
        assert all(bool(part.isfinite().all()) for part in (found.uniform.core, found.uniform.first, found.schmidt))
        assert found.uniform.run(sentences(1, length, 2)).values.isfinite().all()


def test_known_the_smallest_bond_within_the_tolerance() -> None:
    chain = calm(8, 2, 12)
    errors = [balance(chain, bond).predicted_error for bond in range(1, 10)]
    for tolerance in (2.0, 0.3, 0.05, 1e-3, 0.0):
        first = next(bond for bond, error in enumerate(errors, start=1) if error <= tolerance)
        found = balance_to(chain, tolerance)
        assert (found.uniform.bond, found.predicted_error) == (first, errors[first - 1])


def test_known_what_cannot_be_balanced_is_refused() -> None:
    chain = draw(3, 2, 4)
    for bond in (0, 5):
        with pytest.raises(UserError, match=rf"bond {bond} lies outside 1\.\.4"):
            balance(chain, bond)
    with pytest.raises(UserError, match="at least 0"):
        balance_to(chain, -1)
    with pytest.raises(UserError, match="0 for every sentence"):
        balance(replace(chain, last=0 * chain.last), 2)
    with pytest.raises(UserError, match="'hidden' weights are not finite"):
        balance(replace(chain, hidden=chain.hidden * torch.inf), 2)
