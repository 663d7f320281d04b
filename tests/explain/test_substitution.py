"""explain/substitution.py: against brute-force recomputation and autograd; which words turn a decision."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from chains import sentences
from plain import several, value
from psitext.errors import UserError
from psitext.explain import substitution as module
from psitext.explain.mps.chain import Chain
from psitext.explain.passes import run
from psitext.explain.substitution import environments, flips, leave_one_out, substitutions

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 8), st.integers(1, 3), st.integers(0, 10**6))


def every_substitution(chain: Chain, words: Tensor, vocabulary: Tensor) -> Tensor:
    """(B, K, T, N) logits, each from a sentence of its own."""
    places = []
    for t in range(words.shape[1]):
        changed = words[:, None].repeat(1, len(vocabulary), 1, 1)
        changed[:, :, t] = vocabulary
        places.append(value(chain, changed.flatten(0, 1)).unflatten(0, (len(words), -1)))
    return torch.stack(places, dim=1).permute(0, 3, 1, 2)


def decided(logits: Tensor) -> Tensor:
    """The class of logits (..., K): of one, whether it is positive."""
    return (logits[..., 0] > 0).long() if logits.shape[-1] == 1 else logits.argmax(-1)


@given(SIZES)
def test_parity_with_recomputation(size: tuple[int, int, int, int, int]) -> None:
    chi, width, length, outputs, seed = size
    chain, words = several(chi, width, length, outputs, seed), sentences(2, length, width, seed)
    vocabulary = sentences(1, 7, width, seed + 1)[0]
    expected = every_substitution(chain, words, vocabulary)
    close_to = {"rtol": 0, "atol": 1e-11 * float(1 + expected.abs().max())}
    assert_close(
        substitutions(chain, words, vocabulary).values, expected - value(chain, words)[..., None, None], **close_to
    )
    without = leave_one_out(chain, words, vocabulary[3])
    assert_close(without.values, expected[..., 3] - value(chain, words)[..., None], **close_to)
    assert without.log_scale.abs().max() == 0


def test_parity_environments_with_autograd() -> None:
    chain, words = several(5, 3, 12), sentences(2, 12, 3).requires_grad_()
    found = environments(chain, words)
    for k in range(2):
        (expected,) = torch.autograd.grad(value(chain, words)[:, k].sum(), words)
        assert_close(found.vectors[:, k, :, :-1], expected, rtol=1e-10, atol=1e-10)
    wide = torch.cat([words, torch.ones(2, 12, 1)], dim=-1)
    logits = torch.einsum("bktp,btp->bkt", found.vectors, wide)
    assert_close(logits, found.logits[..., None].expand_as(logits), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("outputs", [1, 2, 4])
@pytest.mark.parametrize("chunk", [1, 2**23])
def test_parity_flips_with_a_search_of_all(outputs: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    chain, words = several(4, 2, 6, outputs, seed=outputs), sentences(8, 6, 2)
    vocabulary, top = sentences(1, 30, 2, seed=9)[0], 5
    allowed = torch.arange(30) % 3 != 0
    found = flips(chain, words, vocabulary, top, allowed)
    now = decided(value(chain, words))
    after = every_substitution(chain, words, vocabulary).movedim(1, -1)  # (B, T, N, K)
    assert now.unique().numel() > 1
    for b in range(8):
        turned = []
        for t, n in torch.cartesian_prod(torch.arange(6), torch.arange(30)[allowed]).tolist():
            logits = after[b, t, n]
            if decided(logits) != now[b]:
                against = logits[now[b]] if outputs > 1 else 0.0
                turned.append((float(logits.max() - against if outputs > 1 else logits.abs()), t, n))
        turned = sorted(turned, reverse=True)[:top]
        assert found.position[b].tolist() == [t for _, t, _ in turned] + [-1] * (top - len(turned))
        assert found.word[b].tolist() == [n for _, _, n in turned] + [-1] * (top - len(turned))
        for (_, t, n), logits in zip(turned, found.logits[b], strict=False):
            assert_close(logits, after[b, t, n], rtol=1e-10, atol=1e-10)
        assert found.logits[b, len(turned) :].isnan().all()


def test_known_where_nothing_turns_the_decision() -> None:
    chain, words = several(3, 2, 4, 1), sentences(2, 4, 2)
    chain.last[:, :-1] = 0  # the logit is its bias, whatever the words
    found = flips(chain, words, sentences(1, 3, 2)[0], top=20)  # and 20 are more than there are
    assert found.position.tolist() == found.word.tolist() == [[-1] * 20] * 2
    assert found.logits.isnan().all()


def test_law_two_thousand_words_stay_finite() -> None:
    chain, words, vocabulary = several(3, 2, 2000, scale=3), sentences(1, 2000, 2), sentences(1, 4, 2, seed=1)[0]
    found, whole = environments(chain, words), run(chain, words)
    assert found.vectors.isfinite().all() and found.log_scale > 1000
    assert_close(found.logits * (found.log_scale - whole.log_scale).exp(), whole.values, rtol=1e-9, atol=0)
    assert (flips(chain, words, vocabulary).position >= 0).all()


def test_known_what_cannot_be_explained_is_refused() -> None:
    chain, words, vocabulary = several(3, 2, 4), sentences(1, 4, 2), sentences(1, 5, 2)[0]
    with pytest.raises(UserError, match="at least 1, not 0"):
        flips(chain, words, vocabulary, top=0)
    with pytest.raises(UserError, match="vocabulary is empty"):
        flips(chain, words, vocabulary[:0])
    with pytest.raises(UserError, match="not finite"):
        substitutions(chain, words, vocabulary * torch.nan)
    with pytest.raises(UserError, match="width 1 do not fit"):
        substitutions(chain, words, vocabulary[:, :1])
    with pytest.raises(UserError, match="does not fit words"):
        leave_one_out(chain, words, torch.zeros(3))
