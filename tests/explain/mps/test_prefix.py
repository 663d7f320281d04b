"""explain/mps/prefix.py: every row against the full tensor of the words to come; channels against its SVD."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from chains import bits, dense, dense_schmidt, draw, sentences
from plain import drawn, every_sentence, mean_square, several, value, vocabulary
from psitext.errors import UserError
from psitext.explain.mps.chain import Chain, in_metric, word_root
from psitext.explain.mps.prefix import channels, prefix_map
from psitext.explain.passes import run

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 2), st.integers(2, 6), st.integers(0, 10**6))


def bond_vectors(chain: Chain, sentence: Tensor) -> list[Tensor]:
    """h~_0 ... h~_T of one sentence (T, d)."""
    h = [chain.first]
    for word in sentence:
        h.append((chain.hidden @ h[-1]) * (chain.inputs @ torch.cat([word, torch.ones(1).double()])))
    return h


@given(SIZES)
def test_parity_every_row_is_the_full_tensor_of_the_words_to_come(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, words = draw(chi, width, length, seed=seed), sentences(2, length, width, seed)
    found = prefix_map(chain, words)
    for sentence, rows in zip(words, found, strict=True):
        for k, h in enumerate(bond_vectors(chain, sentence)[: length - 1]):
            psi = dense(replace(chain, first=h, length=length - k))
            expected = [np.nan] * k + [bits(dense_schmidt(psi, m - k)) for m in range(k + 1, length)]
            assert_close(rows[k], torch.tensor(expected).double(), rtol=0, atol=1e-10, equal_nan=True)


def test_parity_the_data_metric_is_the_spectrum_over_sentences() -> None:
    """Row 0 in the metric of a law: weighted by chances, f is a matrix of all early by all late sentences."""
    chain, (vectors, law) = draw(4, 2, 4, seed=1), vocabulary(5, 2)
    found = prefix_map(chain, drawn(vectors, law, 1, 4), word_root(vectors, law))[0, 0]
    words, chances = every_sentence(vectors, law, 4)
    weighted = (value(chain, words)[:, 0] * chances.sqrt()).reshape([5] * 4).numpy()
    expected = [bits(dense_schmidt(weighted, m)) for m in (1, 2, 3)]
    assert_close(found, torch.tensor(expected), rtol=0, atol=1e-10)


def test_law_one_metric_for_every_place_is_one_metric() -> None:
    chain, words, (vectors, law) = draw(4, 2, 5), sentences(2, 5, 2), vocabulary(6, 2)
    root = word_root(vectors, law)
    once = prefix_map(chain, words, root)
    assert_close(prefix_map(chain, words, [root] * 5), once, equal_nan=True)
    assert_close(prefix_map(chain, words, root.expand(5, -1, -1)), once, equal_nan=True)
    other = prefix_map(chain, words, [*[root] * 4, 2 * root + 1])
    assert not torch.allclose(other[:, 0], once[:, 0])


@pytest.mark.parametrize("bond", [1, 2, 4])
def test_parity_channels_with_the_svd_of_the_full_tensor(bond: int) -> None:
    chain, words = draw(4, 2, 5, seed=2), sentences(3, 5, 2)
    psi = dense(chain)
    left, schmidt, right = np.linalg.svd(psi.reshape(3**bond, -1), full_matrices=False)
    found = channels(chain, words, bond)
    rank = len(found.schmidt)
    assert rank == min(3**bond, 3 ** (5 - bond), 5)
    assert_close(found.schmidt.numpy(), schmidt[:rank] / np.linalg.norm(schmidt), rtol=1e-9, atol=1e-14)
    wide = torch.cat([words, torch.ones(3, 5, 1)], dim=-1).numpy()
    for b in range(3):
        early, late = np.ones(1), np.ones(1)
        for word in wide[b, :bond]:
            early = np.outer(early, word).ravel()
        for word in wide[b, bond:]:
            late = np.outer(late, word).ravel()
        filled = (early @ left)[:rank] * schmidt[:rank] / np.linalg.norm(schmidt)
        rest = (right @ late)[:rank] * np.linalg.norm(schmidt)
        assert_close(found.filled[b].abs().numpy(), np.abs(filled), rtol=1e-8, atol=1e-10)
        assert_close((found.filled * found.rest[:, 0])[b].numpy(), filled * rest, rtol=1e-8, atol=1e-10)


@given(SIZES)
def test_law_channels_add_up_to_the_logits(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, words = several(chi, width, length, 3, seed), sentences(2, length, width, seed)
    expected = value(chain, words)
    found = channels(chain, words, 1 + seed % (length - 1))
    added = (found.filled[:, None] * found.rest).sum(-1)
    assert_close(added, expected, rtol=0, atol=1e-9 * float(1 + expected.abs().max()))
    assert found.filled_log_scale.abs().max() == found.rest_log_scale.abs().max() == 0


def test_law_channels_are_orthogonal_functions_of_the_data() -> None:
    """Over the law: E[filled_i filled_j] = lambda_i^2 delta_ij, E[rest_i rest_j] = E[f^2] delta_ij."""
    chain, (vectors, law) = draw(3, 2, 4, seed=3), vocabulary(6, 2)
    words, chances = every_sentence(vectors, law, 4)
    found = channels(chain, words, 2, word_root(vectors, law))
    whole = mean_square(value(chain, words), chances)
    covariance = torch.einsum("s,si,sj->ij", chances, found.filled, found.filled)
    assert_close(covariance, found.schmidt.square().diag(), rtol=0, atol=1e-12)
    covariance = torch.einsum("s,si,sj->ij", chances, found.rest[:, 0], found.rest[:, 0]) / whole
    assert_close(covariance, torch.eye(len(found.schmidt)).double(), rtol=0, atol=1e-8)


def test_law_a_basis_of_the_bond_means_nothing() -> None:
    chain, words = draw(4, 2, 6), sentences(2, 6, 2)
    sizes = torch.tensor([1e-2, 3, 1, 40, 1]).double()
    turned = replace(
        chain, hidden=sizes[:, None] * chain.hidden / sizes, first=sizes * chain.first, last=chain.last / sizes
    )
    assert_close(prefix_map(turned, words), prefix_map(chain, words), rtol=0, atol=1e-9, equal_nan=True)
    assert_close(channels(turned, words, 3).schmidt, channels(chain, words, 3).schmidt, rtol=0, atol=1e-12)


def test_law_two_thousand_words_stay_finite() -> None:
    chain, words = several(3, 2, 2000, scale=3), sentences(1, 2000, 2)
    found, whole = channels(chain, words, 1000), run(chain, words)
    share = (found.filled_log_scale + found.rest_log_scale - whole.log_scale).exp()
    assert_close((found.filled[:, None] * found.rest).sum(-1) * share, whole.values, rtol=1e-9, atol=0)
    some = prefix_map(chain, words[:, :60])[0]
    assert some[torch.ones(59, 59).triu().bool()].isfinite().all()


def test_known_without_memory_every_sentence_has_entropy_zero() -> None:
    """W_H = 0: a bond of one channel, before and after any prefix."""
    chain = draw(3, 2, 5)
    chain.hidden[:-1, :-1] = 0
    found = prefix_map(chain, sentences(1, 5, 2))[0]
    assert found[torch.ones(4, 4).triu().bool()].abs().max() < 1e-12
    assert found[torch.ones(4, 4).tril(-1).bool()].isnan().all()


def test_known_what_has_no_map_is_refused() -> None:
    chain, words = draw(3, 2, 4), sentences(1, 4, 2)
    for bond in (0, 4, -1):
        with pytest.raises(UserError, match=r"outside 1\.\.3"):
            channels(chain, words, bond)
    with pytest.raises(UserError, match="one word has no bond"):
        prefix_map(chain, words[:, :1])
    with pytest.raises(UserError, match="one metric or 4, not 3"):
        prefix_map(chain, words, [torch.eye(3)] * 3)
    with pytest.raises(UserError, match="3 rows of finite numbers"):
        prefix_map(chain, words, torch.eye(2))
    with pytest.raises(UserError, match="0 for every sentence"):
        channels(replace(chain, last=0 * chain.last), words, 2)
    with pytest.raises(UserError, match="one circuit"):
        prefix_map(in_metric(draw(3, 2, 4, 2), torch.eye(3)), words)
