"""explain/mps/compress/truncation.py: predicted errors are those of full tensors and of all sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from chains import dense, draw, sentences
from plain import calm, drawn, every_sentence, mean_square, several, value, vocabulary
from psitext.errors import UserError
from psitext.explain.mps.chain import word_root
from psitext.explain.mps.compress.sequences import Sites, relative_rms
from psitext.explain.mps.compress.truncation import error_bounds, truncate, truncate_to
from psitext.explain.passes import run

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 2), st.integers(1, 6), st.integers(0, 10**6))


def full(sites: Sites) -> np.ndarray:
    """The tensor of the cores, (p, ..., p), of one closing."""
    psi = torch.ones(1, dtype=torch.float64)
    for core in sites.cores:
        psi = torch.tensordot(psi, core, dims=1)
    return psi[..., 0].numpy()


@given(SIZES)
def test_parity_the_predicted_error_is_that_of_the_full_tensor(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain = draw(chi, width, length, seed=seed)
    psi = dense(chain)
    for bond in range(1, chain.bond + 1):
        found = truncate(chain, bond)
        error = np.linalg.norm(full(found.sites) - psi) / np.linalg.norm(psi)
        assert error == pytest.approx(found.predicted_error, rel=1e-9, abs=1e-12)
        assert max(found.sites.bonds, default=1) <= bond


@given(SIZES)
def test_law_errors_lie_between_their_bounds(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, (vectors, law) = several(chi, width, length, seed=seed), vocabulary(8, width, seed)
    for metric in (None, word_root(vectors, law)):
        least, most = error_bounds(chain, metric)
        errors = [truncate(chain, bond, metric).predicted_error for bond in range(1, chain.bond + 1)]
        assert all(a - 1e-12 <= b <= c + 1e-12 for a, b, c in zip(least, errors, most, strict=True))
        assert errors[-1] < 1e-12, "nothing is lost at the chain's own bond"


def test_parity_the_data_metric_predicts_the_error_over_all_sentences() -> None:
    chain, (vectors, law) = several(5, 2, 5, outputs=3, seed=1), vocabulary(4, 2, seed=1)
    words, chances = every_sentence(vectors, law, 5)
    exact = value(chain, words)
    for bond in (1, 2, 3, 5):
        found = truncate(chain, bond, word_root(vectors, law))
        error = mean_square(found.sites.run(words).values - exact, chances) / mean_square(exact, chances)
        assert float(error.sqrt()) == pytest.approx(found.predicted_error, rel=1e-9)


def test_parity_a_law_for_every_place() -> None:
    """Another law at the first two places, as padding makes it."""
    chain, (vectors, law) = several(4, 2, 4, outputs=1, seed=2), vocabulary(4, 2, seed=2)
    padding = torch.tensor([0.05, 0.05, 0.1, 0.8]).double()
    laws = [padding, padding, law, law]
    words, _ = every_sentence(vectors, law, 4)
    ids = torch.cartesian_prod(*[torch.arange(4)] * 4)
    chances = torch.stack([each[column] for each, column in zip(laws, ids.T, strict=True)]).prod(0)
    found = truncate(chain, 2, [word_root(vectors, each) for each in laws])
    exact = value(chain, words)
    error = mean_square(found.sites.run(words).values - exact, chances) / mean_square(exact, chances)
    assert float(error.sqrt()) == pytest.approx(found.predicted_error, rel=1e-9)
    assert found.predicted_error != pytest.approx(truncate(chain, 2, word_root(vectors, law)).predicted_error, rel=1e-3)


def test_law_the_data_metric_does_not_see_the_scale_of_word_vectors() -> None:
    """Phi -> M Phi, W_I -> W_I M^-1 leaves every prediction as it is; the paper's metric moves with it."""
    chain, (vectors, law) = calm(8, 3, 12), vocabulary(30, 3)
    matrix = torch.tensor([[10.0, 0, 0], [1, 1, 0], [0, 2, 0.1]]).double()
    inputs = chain.inputs.clone()
    inputs[:, :-1] = inputs[:, :-1] @ torch.linalg.inv(matrix)
    turned, moved = replace(chain, inputs=inputs), vectors @ matrix.T
    here = truncate(chain, 3, word_root(vectors, law))
    there = truncate(turned, 3, word_root(moved, law))
    assert there.predicted_error == pytest.approx(here.predicted_error, rel=1e-9)
    words = drawn(vectors, law, 20, 12)
    there_values = there.sites.run(words @ matrix.T).values
    assert_close(there_values, here.sites.run(words).values, rtol=1e-7, atol=1e-9)
    assert truncate(turned, 3).predicted_error != pytest.approx(truncate(chain, 3).predicted_error, rel=0.1)


def test_known_the_data_metric_is_nearer_and_predicts_what_is_measured() -> None:
    chain, (vectors, law) = calm(20, 4, 20), vocabulary(500, 4)
    words = drawn(vectors, law, 3000, 20)
    exact, metric = run(chain, words), word_root(vectors, law)
    for bond in (4, 8, 12):
        paper, data = truncate(chain, bond), truncate(chain, bond, metric)
        measured = relative_rms(exact, data.sites.run(words))
        assert measured == pytest.approx(data.predicted_error, rel=0.15)
        assert relative_rms(exact, paper.sites.run(words)) > 1.2 * measured


@given(SIZES, st.floats(0, 1.5))
def test_law_the_smallest_bond_within_the_tolerance(size: tuple[int, int, int, int], tolerance: float) -> None:
    chi, width, length, seed = size
    chain = draw(chi, width, length, seed=seed)
    found = truncate_to(chain, tolerance)
    errors = [truncate(chain, bond).predicted_error for bond in range(1, chain.bond + 1)]
    first = next((b for b, error in enumerate(errors, start=1) if error <= tolerance), chain.bond)
    assert found.predicted_error == errors[first - 1]


def test_law_two_thousand_words_stay_finite() -> None:
    chain, words = several(3, 2, 2000, scale=3), sentences(2, 2000, 2)
    found, whole = truncate(chain, 4), run(chain, words)
    assert all(bool(core.isfinite().all()) for core in found.sites.cores)
    assert relative_rms(whole, found.sites.run(words)) < 1e-9


def test_law_a_chain_of_lower_rank_gets_no_more_channels_than_that() -> None:
    chain = draw(3, 2, 6)
    twice = torch.tensor([0, 1, 2, 0, 1, 3])  # hidden units in pairs that do the same
    share = torch.tensor([0.5, 0.5, 1, 0.5, 0.5, 1]).double()
    doubled = replace(
        chain,
        hidden=chain.hidden[twice][:, twice] * share,
        inputs=chain.inputs[twice],
        first=chain.first[twice],
        last=chain.last[twice] * share,
    )
    words = sentences(4, 6, 2)
    assert_close(value(doubled, words), value(chain, words))
    found = truncate(doubled, 6)
    assert max(found.sites.bonds) == 4
    assert_close(found.sites.run(words).values, value(chain, words), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bond", [0, 5, -1])
def test_known_a_bond_out_of_range_is_refused(bond: int) -> None:
    with pytest.raises(UserError, match=rf"bond {bond} lies outside 1\.\.4"):
        truncate(draw(3, 2, 4), bond)


def test_known_what_cannot_be_truncated_is_refused() -> None:
    chain = draw(3, 2, 4)
    for tolerance in (-0.1, float("nan")):
        with pytest.raises(UserError, match="at least 0"):
            truncate_to(chain, tolerance)
    with pytest.raises(UserError, match="0 for every sentence"):
        truncate(replace(chain, last=0 * chain.last), 2)
    with pytest.raises(UserError, match="'inputs' weights are not finite"):
        truncate(replace(chain, inputs=chain.inputs * torch.nan), 2)


def test_law_the_chain_is_not_altered() -> None:
    chain = several(3, 2, 4)
    before: list[Tensor] = [part.clone() for part in (chain.hidden, chain.inputs, chain.first, chain.last)]
    truncate(chain, 2)
    for part, kept in zip((chain.hidden, chain.inputs, chain.first, chain.last), before, strict=True):
        assert torch.equal(part, kept)
