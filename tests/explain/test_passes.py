"""explain/passes.py: what a chain says of sentences, with scales; refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from chains import draw, sentences, with_one
from plain import several, value
from psitext.errors import UserError
from psitext.explain.mps.chain import contract
from psitext.explain.passes import aligned, factors, prefixes, run, settle, suffixes

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 9), st.integers(0, 10**6))


@given(SIZES)
def test_parity_with_the_recurrence_word_by_word(size: tuple[int, int, int, int]) -> None:
    chi, width, length, seed = size
    chain, words = several(chi, width, length, seed=seed), sentences(3, length, width, seed)
    expected = value(chain, words)
    found = run(chain, words)
    assert_close(found.values, expected, rtol=1e-12, atol=1e-12 * float(expected.abs().max()))
    assert found.log_scale.abs().max() == 0


def test_parity_with_the_state_contracted() -> None:
    chain, words = draw(4, 3, 7), sentences(5, 7, 3)
    mantissa, log_scale = contract(chain, with_one(words))
    assert_close(run(chain, words).values[:, 0], mantissa * log_scale.exp(), rtol=1e-12, atol=1e-12)


@given(SIZES)
def test_law_every_word_splits_the_sentence_alike(size: tuple[int, int, int, int]) -> None:
    """f = sum_i g_t[i] u_t[i] a_t[i] for every t."""
    chi, width, length, seed = size
    chain, words = several(chi, width, length, seed=seed), sentences(2, length, width, seed)
    expected = value(chain, words)
    u = factors(chain, words)
    a, exponents = prefixes(chain, u)
    for t, g, exponent in suffixes(chain, u):
        split = torch.einsum("bkd,bd,bd->bk", g, u[:, t], a[:, t]) * torch.exp2(exponent + exponents[:, t])[:, None]
        assert_close(split, expected, rtol=1e-11, atol=1e-11 * float(1 + expected.abs().max()))


def test_known_scales_beyond_doubles() -> None:
    values, exponent = torch.tensor([[0.5], [0.75], [-0.5]]).double(), torch.tensor([10.0, 3000, -3000]).double()
    small, log_scale = settle(values, exponent)
    assert small[0, 0] == 512 and log_scale[0] == 0
    assert_close(small.abs().log()[:, 0] + log_scale, values.abs().log()[:, 0] + exponent * math.log(2))
    (first, second), top = aligned((values, exponent), (values, exponent + 1))
    assert torch.equal(first * 2, second) and torch.equal(top, exponent + 1)


def test_law_two_thousand_words_stay_finite() -> None:
    found = run(several(5, 3, 2000, scale=3), sentences(2, 2000, 3))
    assert found.values.isfinite().all() and bool((found.log_scale > 1000).all())


def test_known_what_cannot_be_read_is_refused() -> None:
    chain, words = several(3, 2, 4), sentences(1, 4, 2)
    broken = [
        replace(chain, **{name: getattr(chain, name) * torch.nan}) for name in ("hidden", "inputs", "first", "last")
    ]
    for circuit in broken:
        with pytest.raises(UserError, match="not finite"):
            run(circuit, words)
    with pytest.raises(UserError, match="one circuit is explained at a time, not 3"):
        run(draw(3, 2, 4, 3), words)
    with pytest.raises(UserError, match="at least one word"):
        run(chain, words[:, :0])
