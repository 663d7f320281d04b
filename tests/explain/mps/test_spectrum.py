"""explain/mps/spectrum.py: both engines against the full tensor, quimb and TeNPy; batches; what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import bits, cores, dense, dense_schmidt, draw, rescaled_units, weights
from psitext.errors import UserError
from psitext.explain.mps import gram
from psitext.explain.mps.chain import Chain, close
from psitext.explain.mps.spectrum import Engine, Spectrum, spectrum
from psitext.explain.mps.stack import stacked, sweep
from psitext.nn.schmidt import entropy

ENGINES: tuple[Engine, ...] = ("gram", "roots")
SIZES = [(5, 4), (10, 32), (20, 8), (40, 4)]


@cache
def paper(chi: int, width: int) -> Chain:
    """A chain of 50 words."""
    return draw(chi, width, 50)


def parts(chain: Chain) -> tuple[torch.Tensor, ...]:
    return chain.hidden, chain.inputs, chain.first, chain.last


def arrays(chain: Chain) -> list[np.ndarray]:
    """Site arrays (l, p, r) with both ends closed."""
    core = cores(chain).transpose(2, 0, 1)
    first = np.einsum("l,lpr->pr", chain.first.numpy(), core)[None]
    last = np.einsum("lpr,r->lp", core, chain.last.numpy())[..., None]
    return [first, *[core] * (chain.length - 2), last]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("chi", "width", "length"), [(1, 1, 2), (3, 2, 7), (6, 3, 6), (2, 5, 5), (9, 1, 8)])
def test_parity_every_cut_of_the_full_tensor(chi: int, width: int, length: int, engine: Engine) -> None:
    chain = draw(chi, width, length, seed=2)
    psi, found = dense(chain), spectrum(chain, engine=engine)
    assert found.log_norm.item() == pytest.approx(math.log(np.linalg.norm(psi)), rel=1e-13, abs=1e-13)
    for cut in range(1, length):
        theirs = dense_schmidt(psi, cut)
        size = min(len(theirs), chi + 1)
        ours = found.schmidt[cut - 1].numpy()
        assert ours.shape == (chi + 1,)
        np.testing.assert_allclose(ours[:size] ** 2, theirs[:size] ** 2, atol=3e-15)
        np.testing.assert_allclose(ours[:size], theirs[:size], atol=2e-15 if engine == "roots" else 1e-7)
        assert not ours[size:].any()
        assert found.entropy_bits[cut - 1].item() == pytest.approx(bits(theirs), abs=1e-13)
        assert found.bound_bits[cut - 1].item() == pytest.approx(math.log2(size))
        assert found.rank[cut - 1] <= size


@pytest.mark.parametrize(("chi", "width"), SIZES)
def test_parity_quimb_at_all_49_bonds(chi: int, width: int) -> None:
    tensor = pytest.importorskip("quimb.tensor", reason="needs psitext[tensor]")
    first, *middle, last = arrays(paper(chi, width))
    mps = tensor.MatrixProductState([first[0], *middle, last[..., 0]], shape="lpr")
    mps.normalize()
    gram, roots = (spectrum(paper(chi, width), engine=engine) for engine in ENGINES)
    for bond in range(1, 50):
        squares = np.sort(mps.schmidt_values(bond))[::-1][: chi + 1]
        assert gram.entropy_bits[bond - 1].item() == pytest.approx(mps.entropy(bond), abs=1e-10)
        assert roots.entropy_bits[bond - 1].item() == pytest.approx(bits(np.sqrt(squares)), abs=1e-10)
        np.testing.assert_allclose(gram.schmidt[bond - 1, : len(squares)] ** 2, squares, atol=1e-12)


@pytest.mark.parametrize(("chi", "width"), SIZES)
def test_parity_tenpy_at_all_49_bonds(chi: int, width: int) -> None:
    networks = pytest.importorskip("tenpy.networks", reason="needs psitext[tensor]")
    from tenpy.linalg.np_conserved import LegCharge

    chain = paper(chi, width)
    site = networks.site.Site(LegCharge.from_trivial(width + 1))
    flat = [array.transpose(1, 0, 2) for array in arrays(chain)]
    psi = networks.mps.MPS.from_Bflat([site] * 50, flat, bc="finite", form=None, unit_cell_width=50)
    psi.canonical_form()
    for engine in ENGINES:
        found = spectrum(chain, engine=engine)
        np.testing.assert_allclose(found.entropy_bits, psi.entanglement_entropy() / np.log(2), atol=1e-10)
        np.testing.assert_allclose(found.entropy(order=2), psi.entanglement_entropy(n=2) / np.log(2), atol=1e-10)
        for bond in (1, 2, 25, 49):
            theirs = np.sort(psi.get_SL(bond))[::-1]
            np.testing.assert_allclose(found.schmidt[bond - 1, : len(theirs)] ** 2, theirs**2, atol=1e-12)


@settings(max_examples=40)
@given(st.integers(1, 7), st.integers(1, 6), st.integers(2, 30), st.integers(0, 10**6))
def test_law_engines_agree(chi: int, width: int, length: int, seed: int) -> None:
    chain = draw(chi, width, length, seed=seed)
    gram, roots = (spectrum(chain, engine=engine) for engine in ENGINES)
    torch.testing.assert_close(gram.entropy_bits, roots.entropy_bits, rtol=0, atol=1e-11)
    torch.testing.assert_close(gram.schmidt.square(), roots.schmidt.square(), rtol=0, atol=1e-12)
    torch.testing.assert_close(gram.log_norm, roots.log_norm, rtol=1e-12, atol=1e-11)
    assert (gram.entropy_bits <= gram.bound_bits + 1e-12).all() and (gram.entropy_bits >= 0).all()
    torch.testing.assert_close(roots.schmidt.square().sum(-1), torch.ones(length - 1, dtype=torch.float64))
    assert (roots.schmidt.diff(dim=-1) <= 0).all()


def test_known_tails_down_to_rounding_and_zeros_beyond_the_rank() -> None:
    """Small weights: coefficients from 1 to 10^-11, which Gram matrices cannot tell from 0 and roots can."""
    chain = draw(20, 6, 6, scale=0.15)
    found, psi = spectrum(chain, engine="roots"), dense(chain)
    for cut in (2, 3, 4):
        theirs = dense_schmidt(psi, cut)[:21]
        assert theirs[-1] < 1e-8
        np.testing.assert_allclose(found.schmidt[cut - 1], theirs, rtol=2e-15, atol=2e-16)  # of 1, some last digits
    assert found.schmidt[2, -1] < 2e-11 and found.rank[2] == 21
    assert spectrum(chain).rank[2] < 15
    narrow = spectrum(draw(40, 1, 9), engine="roots")
    assert narrow.rank.tolist() == [2, 4, 8, 16, 16, 8, 4, 2]
    for cut, rank in enumerate(narrow.rank.tolist()):
        assert not narrow.schmidt[cut, rank:].any() and (narrow.schmidt[cut, :rank] > 0).all()
    assert spectrum(draw(40, 1, 9)).rank.tolist() == narrow.rank.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_law_hidden_units_of_any_scale_keep_their_digits(engine: Engine) -> None:
    chain = draw(4, 3, 12)
    sizes = torch.tensor([1e-9, 1e6, 1.0, 1e9, 1e-4], dtype=torch.float64)
    ours = spectrum(rescaled_units(chain, sizes), engine=engine)
    torch.testing.assert_close(ours.schmidt, spectrum(chain, engine="roots").schmidt, rtol=0, atol=1e-8)
    torch.testing.assert_close(ours.entropy_bits, spectrum(chain).entropy_bits, rtol=0, atol=1e-11)


def twins(apart: float) -> Chain:
    """A closing that reads the difference of two hidden units, which is ``apart`` of their size."""
    hidden, hidden_bias, inputs, input_bias = weights(6, 3)
    for part in (hidden, hidden_bias, inputs, input_bias):
        part[1] = part[0] + apart * part[1]
    closing = torch.tensor([1.0, -1, 0, 0, 0, 0, 0], dtype=torch.float64)
    return close(hidden, hidden_bias, inputs, input_bias, 7, closing)


def test_known_gram_hands_over_what_it_loses_to_cancellation() -> None:
    chain = twins(1e-7)
    cuts = sweep(stacked(chain), [6], gram)
    norms = np.linalg.norm(cuts.schmidt[:, 0]) * 2 ** (cuts.exponents[0, 0] - cuts.exponent[0])
    assert abs(norms / cuts.norm.item() - 1) > 1e-6  # Gram matrices alone are wrong in the norm
    found, psi = spectrum(chain), dense(chain)
    for cut in range(1, 7):
        assert found.entropy_bits[cut - 1].item() == pytest.approx(bits(dense_schmidt(psi, cut)), abs=1e-7)
    assert torch.equal(found.schmidt, spectrum(chain, engine="roots").schmidt)
    both = Chain(*(torch.stack([a, b]) for a, b in zip(parts(draw(6, 3, 7)), parts(chain), strict=True)), 7)
    torch.testing.assert_close(spectrum(both).schmidt[1], found.schmidt, rtol=0, atol=1e-8)
    torch.testing.assert_close(spectrum(both).schmidt[0], spectrum(draw(6, 3, 7)).schmidt, rtol=0, atol=1e-12)
    assert "lost in rounding" in refused(twins(1e-13))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0, 1e60])
def test_known_two_thousand_words_stay_finite(engine: Engine, scale: float) -> None:
    found = spectrum(draw(5, 2, 2000, scale=scale), "mid", engine)
    assert found.bonds == (1000,)
    for value in (found.schmidt, found.entropy_bits, found.log_norm):
        assert value.isfinite().all()
    assert found.drift < 1e-11


def test_law_bonds_are_those_of_the_whole_profile() -> None:
    chain = draw(5, 2, 11)
    whole, some = spectrum(chain), spectrum(chain, [10, 3, 3, 1])
    assert whole.bonds == tuple(range(1, 11)) and some.bonds == (1, 3, 10)
    at = torch.tensor([0, 2, 9])
    torch.testing.assert_close(some.schmidt.square(), whole.schmidt[at].square(), rtol=0, atol=1e-14)
    assert spectrum(chain, "mid").bonds == (6,)
    torch.testing.assert_close(spectrum(chain, "mid").entropy_bits, whole.entropy_bits[5:6])
    assert torch.equal(whole.rank[at], some.rank) and torch.equal(whole.bound_bits[at], some.bound_bits)


def test_law_restarts_go_together_and_diverged_ones_are_counted() -> None:
    chain = draw(4, 2, 9, 2, 3)
    chain.hidden[0, 1, 2, 2] = torch.nan
    chain.inputs[1, 0, 0, 0] = torch.inf
    chain.last[1, 2] = 0.0
    for engine in ENGINES:
        found = spectrum(chain, engine=engine)
        assert found.schmidt.shape == (2, 3, 8, 5) and found.rank.shape == (2, 3, 8) and found.drift.shape == (2, 3)
        assert found.diverged == 3
        lost = found.log_norm.isnan()
        assert lost.tolist() == [[False, True, False], [True, False, True]]
        assert torch.equal(found.schmidt.isnan().all(-1).all(-1), lost)
        assert torch.equal(found.entropy_bits.isnan().any(-1), lost)
        assert not found.rank[lost].any()
        for index in ((0, 0), (0, 2), (1, 1)):
            alone = spectrum(chain[index], engine=engine)
            torch.testing.assert_close(found.schmidt[index].square(), alone.schmidt.square(), rtol=0, atol=1e-14)
            assert found.log_norm[index].item() == pytest.approx(alone.log_norm.item(), rel=1e-13)


def test_law_nothing_given_is_altered() -> None:
    chain = draw(4, 2, 9, 2)
    before = [part.clone() for part in parts(chain)]
    for engine in ENGINES:
        spectrum(chain, engine=engine)
    assert all(map(torch.equal, before, parts(chain)))


def test_known_a_circuit_that_never_leaves_zero_is_a_product() -> None:
    """Footnote 10: without biases h stays 0, and the chain is 1."""
    hidden, bias, inputs, _ = weights(4, 3)
    for engine in ENGINES:
        found = spectrum(close(hidden, 0 * bias, inputs, 0 * bias, 6), engine=engine)
        assert found.entropy_bits.tolist() == [0] * 5 and found.rank.tolist() == [1] * 5
        assert found.log_norm.item() == 0


def test_known_entropies_of_given_coefficients() -> None:
    flat = torch.full((2, 4), 0.5, dtype=torch.float64)
    for order in (0.5, 1, 2, 3.5, math.inf):
        torch.testing.assert_close(entropy(flat, order=order), torch.full((2,), 2.0, dtype=torch.float64))
    assert entropy(flat, base=math.e)[0].item() == pytest.approx(2 * math.log(2))
    tilted = torch.tensor([math.sqrt(0.75), 0.5, 0.0, 1e-170], dtype=torch.float64)
    assert entropy(tilted).item() == pytest.approx(-0.75 * math.log2(0.75) + 0.5)
    assert entropy(tilted, order=2).item() == pytest.approx(-math.log2(0.75**2 + 0.25**2))
    assert entropy(tilted, order=math.inf).item() == pytest.approx(-math.log2(0.75))
    with pytest.raises(UserError, match="base above 1"):
        entropy(flat, base=1)
    with pytest.raises(UserError, match="order above 0"):
        entropy(flat, order=0)


def spoiled(name: str, value: float) -> Chain:
    chain = draw(3, 2, 5)
    getattr(chain, name).flatten()[1] = value  # flatten of a contiguous tensor is a view
    return chain


def refused(chain: Chain, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        spectrum(chain, **options)
    return str(caught.value)


def test_known_bad_input_is_refused_in_words() -> None:
    assert "W_H or b_H" in refused(spoiled("hidden", math.nan))
    assert "W_I or b_I" in refused(spoiled("inputs", math.inf))
    assert "closing vector" in refused(spoiled("last", -math.inf))
    assert "1 to 4, not 5" in refused(draw(3, 2, 5), bonds=[2, 5])
    assert "1 to 4, not 0" in refused(draw(3, 2, 5), bonds=[0])
    assert "1 to 4, not none" in refused(draw(3, 2, 5), bonds=[])
    assert "one word" in refused(draw(3, 2, 1))
    assert "norm" in refused(replace(draw(3, 2, 5), last=torch.zeros(4, dtype=torch.float64)))
    assert "5 words needs as many metrics, not 4" in refused(draw(3, 2, 5), metrics=[torch.eye(3)] * 4)
    assert "a metric" in refused(draw(3, 2, 5), metrics=[torch.eye(3) * math.nan] * 5)
    several = replace(draw(3, 2, 5), last=torch.ones(2, 4, dtype=torch.float64))
    assert "one closing vector" in refused(several)


def test_known_a_spectrum_is_a_value() -> None:
    found = spectrum(draw(3, 2, 5))
    assert isinstance(found, Spectrum) and found.schmidt.dtype == torch.float64
    with pytest.raises(AttributeError):
        found.drift = torch.tensor(0.0)  # type: ignore[misc]


def test_parity_bounds_of_ranks_with_products_of_dimensions() -> None:
    """min(p^m, p^(T - m), D) where sites have dimensions of their own, of which some are 1."""
    sizes = [1, 2, 3, 1, 2, 2, 1, 4]
    chain = draw(8, 4, len(sizes))
    metrics = [torch.ones(5, size, dtype=torch.float64) for size in sizes]
    stack = stacked(chain, metrics)
    cuts = range(1, len(sizes))
    assert stack.ranks(cuts) == [min(math.prod(sizes[:m]), math.prod(sizes[m:]), chain.bond) for m in cuts]
