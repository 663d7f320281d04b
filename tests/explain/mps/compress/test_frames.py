"""explain/mps/compress/frames.py: roots are roots of the Grams as they are defined; metrics; ranks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from chains import draw, with_one
from plain import several, vocabulary
from psitext.errors import UserError
from psitext.explain.mps.chain import word_root
from psitext.explain.mps.compress.frames import early, frames, late, numerical_rank

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 8), st.integers(1, 6), st.integers(0, 10**6))


def gram(root: tuple[Tensor, float]) -> Tensor:
    return root[0] @ root[0].mT * 4.0 ** root[1]


@given(SIZES)
def test_parity_with_grams_by_their_definition(size: tuple[int, int, int, int]) -> None:
    """E_m = sum_ss' C_ss' A^s E_{m-1} A^s'^T, the law's mean, word by word; p may exceed D."""
    chi, width, length, seed = size
    chain, (vectors, law) = several(chi, width, length, seed=seed), vocabulary(2 * width + 3, width, seed)
    found = frames(chain, word_root(vectors, law))
    sites = [torch.diag(chain.inputs @ word) @ chain.hidden for word in with_one(vectors)]
    e, f = torch.outer(chain.first, chain.first), chain.last.T @ chain.last
    for before, after in zip(early(chain, found), late(chain, found)[::-1], strict=True):
        assert_close(gram(before), e, rtol=0, atol=1e-11 * float(e.abs().max()))
        assert_close(gram(after), f, rtol=0, atol=1e-11 * float(f.abs().max()))
        e = sum(chance * a @ e @ a.T for chance, a in zip(law, sites, strict=True))
        f = sum(chance * a.T @ f @ a for chance, a in zip(law, sites, strict=True))


@given(SIZES)
def test_law_words_are_read_alike_in_any_metric(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, (vectors, law) = draw(chi, width, length, seed=seed), vocabulary(width, width, seed)  # fewer words than p
    wide = with_one(vectors)
    for metric in (None, word_root(vectors, law)):
        site = frames(chain, metric)[0]
        assert site.inputs.shape[1] <= min(chain.bond, chain.physical)
        assert_close(wide @ site.whiten.mT @ site.inputs.mT, wide @ chain.inputs.mT, rtol=1e-9, atol=1e-9)


def test_law_two_thousand_sites_stay_finite() -> None:
    chain = draw(2, 1, 2000, scale=10.0)
    for roots in (early(chain, frames(chain)), late(chain, frames(chain))):
        assert all(0.5 <= float(root.abs().max()) < 1 for root, _ in roots)
        assert max(exponent for _, exponent in roots) > 2000


def test_known_ranks() -> None:
    values = torch.tensor([1.0, 1e-3, 1e-12, 1e-17, 0.0]).double()
    assert numerical_rank(values) == 3
    assert numerical_rank(values, floor=1e-6) == 2
    with pytest.raises(UserError, match="0 for every sentence"):
        numerical_rank(torch.zeros(3))


def test_known_metrics_that_are_none_are_refused() -> None:
    chain = draw(3, 2, 4)
    for metric, message in (
        (torch.eye(4), "3 rows"),
        (torch.eye(3) * torch.nan, "finite"),
        (torch.eye(3).expand(5, 3, 3), "one metric or 4, not 5"),
        (torch.ones(4, 3), "3 rows"),
    ):
        with pytest.raises(UserError, match=message):
            frames(chain, metric)
