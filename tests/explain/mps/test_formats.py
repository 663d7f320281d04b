"""explain/mps/formats.py: round trips through three libraries and arrays, and their own entropies of what they got."""

from __future__ import annotations

import importlib
import io
import math
from typing import Any

import numpy as np
import pytest
import torch

from chains import dense, draw, sentences, with_one
from psitext.errors import UserError
from psitext.explain.mps import formats
from psitext.explain.mps.chain import Chain, contract
from psitext.explain.mps.formats import Sites, sites
from psitext.explain.mps.spectrum import spectrum

LIBRARIES = {"quimb": "quimb", "tenpy": "tenpy", "tensorkrowch": "tensorkrowch"}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(LIBRARIES[request.param], reason="needs psitext[tensor]")
    return str(request.param)


def there(name: str, state: Chain | Sites) -> Any:
    return getattr(formats, f"to_{name}")(state)


def back(name: str, theirs: Any) -> Sites:
    found = getattr(formats, f"from_{name}")(theirs)
    assert isinstance(found, Sites)
    return found


def logs(found: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Signs and natural logarithms of the values."""
    mantissa, log_scale = np.asarray(found[0]), np.asarray(found[1])
    return np.sign(mantissa), np.log(np.abs(mantissa)) + log_scale


@pytest.mark.parametrize("length", [2, 3, 20])
def test_law_round_trips_leave_the_state_as_it_was(library: str, length: int) -> None:
    chain, words = draw(6, 3, length, seed=1), with_one(sentences(4, length, 3))
    signs, sizes = logs(contract(chain, words))
    for state in (chain, sites(chain)):
        found = back(library, there(library, state))
        assert found.length == length
        ours = logs(found.contract(words.numpy()))
        np.testing.assert_array_equal(ours[0], signs)
        np.testing.assert_allclose(ours[1], sizes, rtol=0, atol=1e-11)
        assert found.log_norm() == pytest.approx(spectrum(chain).log_norm.item(), abs=1e-12)


def test_parity_their_entropies_of_what_was_written() -> None:
    chain = draw(6, 3, 12)
    ours = spectrum(chain).entropy_bits
    pytest.importorskip("quimb", reason="needs psitext[tensor]")
    mps = formats.to_quimb(chain)
    assert mps.norm() == pytest.approx(spectrum(chain).log_norm.exp().item())
    mps.normalize()
    np.testing.assert_allclose([mps.entropy(bond) for bond in range(1, 12)], ours, atol=1e-10)
    pytest.importorskip("tenpy", reason="needs psitext[tensor]")
    psi = formats.to_tenpy(chain)
    np.testing.assert_allclose(psi.entanglement_entropy() / math.log(2), ours, atol=1e-10)
    assert psi.norm == pytest.approx(spectrum(chain).log_norm.exp().item()) and max(psi.norm_test().ravel()) < 1e-12
    pytest.importorskip("tensorkrowch", reason="needs psitext[tensor]")
    for bond in (1, 6, 11):
        network = formats.to_tensorkrowch(chain)  # its entropy changes the network
        found = network.entropy(middle_site=bond - 1, renormalize=True)[0].item() / math.log(2)
        assert found == pytest.approx(ours[bond - 1].item(), abs=1e-10)


def test_known_quimb_has_the_full_tensor() -> None:
    pytest.importorskip("quimb", reason="needs psitext[tensor]")
    chain = draw(3, 2, 5)
    np.testing.assert_allclose(formats.to_quimb(chain).to_dense().reshape([3] * 5), dense(chain), atol=1e-12)


def test_known_a_truncated_quimb_state_comes_back() -> None:
    tensor = pytest.importorskip("quimb.tensor", reason="needs psitext[tensor]")
    mps = tensor.MPS_rand_state(7, bond_dim=4, phys_dim=3, seed=1)
    found = formats.from_quimb(mps)
    assert [array.shape[2] for array in found.arrays[:-1]] == [mps.bond_size(i, i + 1) for i in range(6)]
    for bond, values in enumerate(found.schmidt(), start=1):
        np.testing.assert_allclose(values**2, np.sort(mps.schmidt_values(bond))[::-1][: len(values)], atol=1e-12)
    with pytest.raises(UserError, match="complex"):
        formats.from_quimb(tensor.MPS_rand_state(4, bond_dim=2, dtype=complex))
    with pytest.raises(UserError, match="periodic"):
        formats.from_quimb(tensor.MPS_rand_state(4, bond_dim=2, cyclic=True))


@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_known_two_thousand_words_keep_their_scale_beside_them(scale: float) -> None:
    chain, words = draw(4, 2, 2000, scale=scale), with_one(sentences(2, 2000, 2))
    held = sites(chain)
    assert all(np.isfinite(array).all() for array in held.arrays)
    ours, theirs = logs(held.contract(words.numpy())), logs(contract(chain, words))
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12)
    assert held.log_norm() == pytest.approx(spectrum(chain, "mid").log_norm.item(), rel=1e-12, abs=1e-11)
    if scale > 1:
        assert held.log_scale == pytest.approx(held.log_norm(), abs=1)
        pytest.importorskip("quimb", reason="needs psitext[tensor]")
        mps = formats.to_quimb(chain)
        assert mps.exponent * math.log(10) == pytest.approx(held.log_scale)
        assert formats.from_quimb(mps).log_norm() == pytest.approx(held.log_norm(), rel=1e-12)


def test_law_arrays_go_through_a_file_and_back() -> None:
    for state in (draw(4, 3, 6), draw(4, 3, 6, 2), sites(draw(4, 3, 6))):
        file = io.BytesIO()
        np.savez(file, **formats.to_numpy(state))  # type: ignore[arg-type]
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            found = formats.from_numpy(arrays)
        assert type(found) is type(state)
        if isinstance(found, Chain) and isinstance(state, Chain):
            assert found.length == 6
            for name in ("hidden", "inputs", "first", "last"):
                assert torch.equal(getattr(found, name), getattr(state, name))
        elif isinstance(found, Sites) and isinstance(state, Sites):
            assert all(map(np.array_equal, found.arrays, state.arrays)) and found.log_scale == state.log_scale


def test_known_the_site_of_a_chain_is_written_out() -> None:
    chain = draw(2, 1, 3)
    arrays = formats.to_numpy(chain)
    site, psi = arrays["site"], arrays["first"]
    for _ in range(3):
        psi = np.tensordot(psi, site, axes=(-1, 0))
    np.testing.assert_allclose(psi @ arrays["last"], dense(chain), rtol=1e-13)
    arrays["hidden"][:] = 0  # a copy, not the chain's own
    assert chain.hidden.any()


def test_parity_sites_have_the_spectrum_of_their_chain() -> None:
    chain = draw(5, 2, 9)
    ours = spectrum(chain, engine="roots").schmidt
    for cut, values in enumerate(sites(chain).schmidt()):
        np.testing.assert_allclose(values[:6], ours[cut, : len(values)], atol=1e-14)


def test_known_what_does_not_fit_is_refused() -> None:
    one = np.ones((1, 2, 1))
    for arrays, message in [
        ((), "left bond, dimension"),
        ((np.ones((1, 2)),), "left bond, dimension"),
        ((np.ones((1, 2, 3)), np.ones((2, 2, 1))), "do not fit"),
        ((np.ones((2, 2, 1)),), "ends are not closed"),
        ((one * math.nan,), "finite"),
        ((one.astype(np.float32),), "double"),
    ]:
        with pytest.raises(UserError, match=message):
            Sites(arrays)
    with pytest.raises(UserError, match="2 sites cannot read 3 words"):
        Sites((one, one)).contract(np.ones((1, 3, 2)))
    with pytest.raises(UserError, match="one restart at a time"):
        sites(draw(2, 2, 4, 3))
    with pytest.raises(UserError, match="no chain and no sites: weight"):
        formats.from_numpy({"weight": one})
    with pytest.raises(UserError, match="one site"):
        formats.to_quimb(Sites((one,)))
    assert Sites((one * 0,)).log_norm() == -math.inf


def test_known_a_zero_state_is_nothing_for_tenpy() -> None:
    pytest.importorskip("tenpy", reason="needs psitext[tensor]")
    with pytest.raises(UserError, match="this state is 0"):
        formats.to_tenpy(Sites((np.zeros((1, 2, 1)), np.ones((1, 2, 1)))))


def test_known_products_go_through_tenpy() -> None:
    pytest.importorskip("tenpy", reason="needs psitext[tensor]")
    product = Sites((np.array([[[3.0], [4.0]]]), np.array([[[1.0], [-1.0]]])))
    psi = formats.to_tenpy(product)
    assert psi.norm == pytest.approx(5 * math.sqrt(2))
    words = np.array([[[1.0, 2.0], [0.5, 3.0]]])
    mantissa, log_scale = formats.from_tenpy(psi).contract(words)
    assert (mantissa * np.exp(log_scale)).item() == pytest.approx(11 * -2.5)


@pytest.mark.parametrize("name", LIBRARIES)
def test_known_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> Any:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UserError, match=r"pip install 'psitext\[tensor\]'"):
        there(name, draw(2, 2, 4))


def test_law_names_sort_as_sites_do_however_many_there_are() -> None:
    one = np.zeros((1, 1, 1))
    for length in (9, 10_001):
        arrays = formats.to_numpy(Sites((one,) * (length - 1) + (one + 1,)))
        last = max(name for name in arrays if name.startswith("site_"))
        assert arrays[last].item() == 1
