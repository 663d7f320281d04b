"""explain/mps/infinite.py: the limit against long chains, all eigenvalues and TeNPy; chains that have no limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from chains import cores, draw, rescaled_units, weights
from psitext.errors import UserError
from psitext.explain.mps import infinite
from psitext.explain.mps.chain import Chain, close
from psitext.explain.mps.infinite import bulk, correlation_length, transfer_spectrum
from psitext.explain.mps.spectrum import spectrum


def every_eigenvalue(chain: Chain) -> np.ndarray:
    """Of sum_s A^s x A^s, by modulus."""
    values = np.linalg.eigvals(sum(np.kron(core, core) for core in cores(chain)))
    return values[np.argsort(-np.abs(values))]


def by_hand(hidden: list[list[float]], inputs: list[list[float]], first: list[float], last: list[float]) -> Chain:
    return Chain(*(torch.tensor(part, dtype=torch.float64) for part in (hidden, inputs, first, last)), 4)


@pytest.mark.parametrize(
    ("chi", "width", "seed", "scale"), [(10, 4, 0, 1.0), (20, 4, 1, 1.0), (3, 2, 4, 1.0), (5, 4, 1, 0.5)]
)
def test_parity_the_middle_of_two_thousand_words(chi: int, width: int, seed: int, scale: float) -> None:
    chain = draw(chi, width, 50, seed=seed, scale=scale)
    found, long = bulk(chain), spectrum(replace(chain, length=2000), "mid")
    assert found.settled and found.reached and math.isfinite(found.correlation_length)
    assert found.entropy_bits.item() == pytest.approx(long.entropy_bits.item(), abs=1e-12)
    torch.testing.assert_close(found.schmidt.square(), long.schmidt[0].square(), rtol=0, atol=1e-12)
    assert "does not matter" in found.statement


@pytest.mark.parametrize("chi", [2, 7, 8, 12])
def test_parity_all_eigenvalues_of_the_transfer_map(chi: int) -> None:
    """Densely up to D = 8, by iteration beyond; the matrix of this test is another one."""
    chain = draw(chi, 3, 50, seed=5)
    every = every_eigenvalue(chain)
    leading, log_radius = transfer_spectrum(chain)
    assert leading[0] == pytest.approx(1) and log_radius == pytest.approx(math.log(abs(every[0])), rel=1e-12)
    np.testing.assert_allclose(np.abs(leading[1:5]), np.abs(every[1:5]) / abs(every[0]), rtol=1e-8)
    expected = -1 / math.log(abs(every[1]) / abs(every[0]))
    found = bulk(chain)
    assert found.correlation_length == pytest.approx(expected, rel=1e-8)
    assert found.growth == pytest.approx(math.log(abs(every[0])) / 2, rel=1e-10)


@pytest.mark.parametrize(("chi", "seed"), [(6, 1), (10, 0)])
def test_parity_tenpy_of_the_infinite_state(chi: int, seed: int) -> None:
    """TeNPy drops the constant 1, which a growing h leaves behind: its correlation length is that of h alone."""
    networks = pytest.importorskip("tenpy.networks", reason="needs psitext[tensor]")
    from tenpy.linalg.np_conserved import LegCharge

    chain = draw(chi, 3, 50, seed=seed)
    flat = cores(chain).transpose(0, 2, 1)  # p, earlier, later
    site = networks.site.Site(LegCharge.from_trivial(4))
    psi = networks.mps.MPS.from_Bflat([site], [flat], bc="infinite", form=None, unit_cell_width=1)
    psi.canonical_form()
    found = bulk(chain, "roots")
    assert found.growth > 0 and psi.chi == [chi]
    assert found.entropy_bits.item() == pytest.approx(psi.entanglement_entropy()[0] / math.log(2), abs=1e-9)
    np.testing.assert_allclose(found.schmidt[:-1], np.sort(psi.get_SL(0))[::-1], atol=1e-9)
    ones = torch.ones(chi, dtype=torch.float64)
    alone = bulk(Chain(chain.hidden[:-1, :-1], chain.inputs[:-1], ones, ones, 50), "roots")
    torch.testing.assert_close(alone.schmidt, found.schmidt[:-1], rtol=0, atol=1e-12)
    assert alone.correlation_length == pytest.approx(psi.correlation_length2(), rel=1e-7)
    assert alone.correlation_length <= found.correlation_length * (1 + 1e-9)


def test_law_the_closing_and_the_scale_of_units_do_not_matter() -> None:
    chain = draw(6, 3, 50, seed=2)
    found = bulk(chain)
    for other in (
        replace(chain, last=torch.linspace(-1, 2, 7, dtype=torch.float64)),
        replace(chain, first=torch.ones(7, dtype=torch.float64)),
        rescaled_units(chain, torch.logspace(-3, 3, 7, dtype=torch.float64)),
        replace(chain, hidden=1e30 * chain.hidden),
    ):
        again = bulk(other)
        torch.testing.assert_close(again.schmidt.square(), found.schmidt.square(), rtol=0, atol=1e-12)
        assert again.correlation_length == pytest.approx(found.correlation_length, rel=1e-8)
    assert again.growth == pytest.approx(found.growth + 30 * math.log(10), rel=1e-12)


def test_known_a_decaying_circuit_is_a_product_far_from_its_ends() -> None:
    """Small weights: e1 = 1 belongs to the constant, and the hidden units are forgotten."""
    found = bulk(draw(5, 4, 50, scale=0.3))
    assert found.entropy_bits.item() == pytest.approx(0, abs=1e-12)
    assert found.growth == pytest.approx(0, abs=1e-12)


def test_known_ghz_has_two_largest_eigenvalues_and_an_entropy_that_the_closing_sets() -> None:
    """A^0 = diag(1, 0), A^1 = diag(0, 1): |00...> and |11...>, as the boundaries weigh them."""
    for weight in (1.0, 3.0):
        found = bulk(by_hand([[1, 0], [0, 1]], [[1, 0], [0, 1]], [1, weight], [1, 1]))
        assert found.eigenvalues[:2] == (1, 1) and found.correlation_length == math.inf
        part = 1 / (1 + weight**2)
        expected = -part * math.log2(part) - (1 - part) * math.log2(1 - part)
        assert found.settled and found.entropy_bits.item() == pytest.approx(expected)
        assert "not alone" in found.statement


def test_known_a_state_that_goes_round_has_no_limit() -> None:
    """Hidden units that change places with every word: e2 = -e1 in size and sign."""
    found = bulk(by_hand([[0, 1], [1, 0]], [[1, 0], [0, 1]], [1, 0.5], [1, 0.5]))
    assert found.correlation_length == math.inf
    assert found.eigenvalues[1] == pytest.approx(-1)
    assert "turned by 3.142 a word" in found.statement


def test_known_two_words_of_three_phases_turn() -> None:
    """A cyclic shift of three units: the other eigenvalues are a complex pair of the same size."""
    shift = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    found = bulk(by_hand(shift, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [1, 0.5, 0.2], [1, 1, 1]))
    assert abs(found.eigenvalues[1].imag) == pytest.approx(math.sqrt(0.75))
    assert "turned by 2.094 a word" in found.statement


def test_known_correlations_that_turn_while_they_decay_are_told() -> None:
    found = bulk(draw(10, 4, 50))
    second = found.eigenvalues[1]
    assert abs(second.imag) > 0.1
    assert f"turning by {abs(math.atan2(second.imag, second.real)):.4g} a word" in found.statement


def test_known_boundaries_that_miss_the_largest_eigenvalue_are_told() -> None:
    """Footnote 10: without biases h stays 0, however fast it would grow."""
    hidden, bias, inputs, _ = weights(10, 4)
    found = bulk(close(2 * hidden, 0 * bias, inputs, 0 * bias, 50))
    assert not found.reached and "do not reach" in found.statement
    assert found.entropy_bits.item() == 0 and found.growth == pytest.approx(0, abs=1e-14)


def test_known_algebraic_decay_never_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that keeps its size and gains b_H a word: two equal eigenvalues in one Jordan block."""
    monkeypatch.setattr(infinite, "LONGEST", 1024)
    found = bulk(by_hand([[1, 0.1], [0, 1]], [[0.8, 0.6], [1, 0]], [0, 1], [1, 1]))
    assert not found.settled and found.words == 1024 and found.correlation_length == math.inf
    assert "not alone" in found.statement and "at 1024 words the spectrum had not settled" in found.statement


def test_known_a_product_has_no_correlations() -> None:
    found = bulk(by_hand([[1.0]], [[0.5, 2.0]], [1], [1]))
    assert found.entropy_bits.item() == 0 and math.isnan(found.correlation_length)  # D = 1: there is no e2
    assert "not found" in found.statement
    assert correlation_length((1, 0)) == 0
    rank_one = by_hand([[0.5, 0.5], [0.5, 0.5]], [[1.0], [1.0]], [1, 1], [1, 1])
    assert bulk(rank_one).correlation_length < 0.1


def test_known_bad_chains_are_refused() -> None:
    with pytest.raises(UserError, match="W_H"):
        bulk(replace(draw(3, 2, 5), hidden=torch.full((4, 4), math.nan, dtype=torch.float64)))
    with pytest.raises(ValueError, match="one chain at a time"):
        bulk(draw(3, 2, 5, 2))
