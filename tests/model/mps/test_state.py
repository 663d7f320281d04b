"""What a user's state says, against other ways to the same numbers: its own sites, quimb, all sentences one by one."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import racs
from psitext.errors import UserError
from psitext.explain.mps import formats
from psitext.explain.mps.chain import contract
from psitext.model.mps import Mps
from psitext.model.mps.reading import circuit_of

KINDS = [
    {"metric": "paper"},
    {"metric": "data"},
    {"metric": "paper", "closing": "ones"},
    {"metric": "data", "closing": "ones"},
]


def state(pad: str = "none", **arguments: object) -> Mps:
    return racs.model(pad=pad).to_mps(**arguments)


@pytest.mark.parametrize("pad", ["none", "word", "zero"])
@pytest.mark.parametrize("arguments", KINDS, ids=str)
def test_parity_with_its_own_sites(arguments: dict[str, object], pad: str) -> None:
    held = state(pad, **arguments)
    assert (held.length, held.bond, held.middle) == (10, 5, 5)
    found = held.sites().schmidt()
    assert [len(each) for each in found] == [4, 5, 5, 5, 5, 5, 5, 5, 4]
    for cut, expected in enumerate(found, 1):
        ours = held.schmidt(cut)[: len(expected)]
        assert_close(ours, torch.from_numpy(expected), rtol=1e-9, atol=1e-12)
    squares = [np.square(each) for each in found]
    bits = [-sum(value * math.log2(value) for value in each if value > 0) for each in squares]
    assert held.entropy_bits().tolist() == pytest.approx(bits, abs=1e-10)
    assert held.rank().tolist() == [int((each > 1e-13).sum()) for each in found]
    assert held.bound_bits.tolist() == pytest.approx([math.log2(len(each)) for each in found])
    assert torch.equal(held.schmidt(), held.schmidt(5))


@pytest.mark.parametrize("pad", ["none", "word"])
@pytest.mark.parametrize("cut", [1, 2])
def test_parity_of_the_data_metric_with_all_sentences(cut: int, pad: str) -> None:
    """f as a matrix over first and last words, weighted by the roots of what the law gives them."""
    model = racs.model(pad=pad)
    circuit = circuit_of(model)
    assert circuit.law is not None
    words = circuit.law.words.double() / circuit.law.words.sum()
    vectors, shares = circuit.vectors, circuit.law.filled(3)
    if circuit.filler is not None:
        vectors = torch.cat([vectors, circuit.filler[None]])
    laws = [torch.cat([(1 - s) * words, s[None]]) if circuit.filler is not None else words for s in shares]
    there = [index for index in range(len(vectors)) if any(law[index] > 0 for law in laws)]
    grids = torch.tensor(list(itertools.product(there, repeat=3)))
    phi = torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1)[grids]
    mantissa, log_scale = contract(circuit.chain(3), phi)
    weight = math.prod(law[grids[:, place]] for place, law in enumerate(laws))
    table = (mantissa * log_scale.exp() * weight.sqrt()).reshape(len(there) ** cut, -1)
    expected = torch.linalg.svdvals(table)
    held = model.to_mps(length=3, metric="data")
    ours = held.schmidt(cut)
    assert_close(ours[:4], (expected / expected.norm())[:4], rtol=1e-8, atol=1e-10)
    assert float(held.spectrum().log_norm.exp()) == pytest.approx(float(expected.norm()), rel=1e-10)


def test_law_only_the_paper_s_metric_sees_the_scale_of_word_vectors() -> None:
    """Phi -> c Phi, W_I -> W_I / c changes no prediction."""
    model = racs.model()
    weights = dict(model.network.named_parameters())
    words, inputs = weights["encoder.words.token.weight"], weights["encoder.cells.0.inputs"]
    other = racs.with_weights(model, **{"encoder.words.token.weight": 8 * words, "encoder.cells.0.inputs": inputs / 8})
    texts = ["a fine film", "odd"]
    assert_close(model.encode(texts).vector, other.encode(texts).vector, rtol=1e-5, atol=1e-6)
    for closing in ("readout", "ones"):
        same, moved = (one.to_mps(closing=closing, metric="data").entropy_bits() for one in (model, other))
        assert_close(same, moved, rtol=0, atol=1e-6)
        same, moved = (one.to_mps(closing=closing).entropy_bits() for one in (model, other))
        assert float((same - moved).abs().max()) > 0.05


def test_parity_with_quimb() -> None:
    pytest.importorskip("quimb")
    for held in (state(), state("word", metric="data")):
        theirs = held.to_quimb()
        theirs.normalize()
        assert [theirs.entropy(cut) for cut in range(1, 10)] == pytest.approx(held.entropy_bits().tolist(), abs=1e-9)


def test_parity_with_tenpy_and_tensorkrowch() -> None:
    pytest.importorskip("tenpy")
    pytest.importorskip("tensorkrowch")
    held = state()
    nats = held.to_tenpy().entanglement_entropy()
    assert (nats / math.log(2)).tolist() == pytest.approx(held.entropy_bits().tolist(), abs=1e-9)
    back = formats.from_tensorkrowch(held.to_tensorkrowch())
    assert back.log_norm() == pytest.approx(held.sites().log_norm(), abs=1e-9)


@pytest.mark.parametrize("pad", ["none", "word"])
@pytest.mark.parametrize("arguments", KINDS, ids=str)
def test_law_arrays_come_back(arguments: dict[str, object], pad: str) -> None:
    held = state(pad, **arguments)
    arrays = held.to_numpy()
    again = formats.from_numpy(arrays)
    assert ("site_0001" in arrays) == (pad == "word" and arguments["metric"] == "data")
    log_norm = (again if isinstance(again, formats.Sites) else formats.sites(again)).log_norm()
    assert log_norm == pytest.approx(float(held.spectrum().log_norm), abs=1e-9)


def test_law_long_chains_of_places_keep_their_norm_in_range() -> None:
    model = racs.model(pad="word", max_len=1502)
    hidden = dict(model.network.named_parameters())["encoder.cells.0.hidden"]
    held = racs.with_weights(model, **{"encoder.cells.0.hidden": 4 * hidden}).to_mps(metric="data")
    assert held.length == 1500
    assert abs(float(held.spectrum().log_norm)) > 400, "not wide enough to need a scale"
    sites = held.sites()
    assert sites.log_norm() == pytest.approx(float(held.spectrum().log_norm), rel=1e-9)
    assert abs(sites.log_norm() - sites.log_scale) < 400


def test_law_the_record_is_json() -> None:
    for held in (state(), state("word", metric="data")):
        record = json.loads(json.dumps(held.record(), allow_nan=False))
        assert len(record["entropy_bits"]) == len(record["rank"]) == len(record["bound_bits"]) == 9
        assert record["schmidt"] == pytest.approx(held.schmidt().tolist())
        limit = held.bulk()
        assert record["infinite"]["correlation_length"] == pytest.approx(limit.correlation_length)
        assert held.correlation_length() == limit.correlation_length
        assert record["state"] == "the log-odds of good against bad"


@pytest.mark.parametrize("metric", ["paper", "data"])
def test_law_far_from_the_ends_the_filler_is_forgotten(metric: str) -> None:
    """The chain without ends is of words alone, so a model that fills texts has that of one that does not."""
    one, other = racs.model(pad="word"), racs.model(pad="none")
    weights = {name: value for name, value in one.network.named_parameters() if "filler" not in name}
    other = racs.with_weights(other, **weights)
    bits = [model.to_mps(metric=metric).bulk().entropy_bits for model in (one, other)]
    assert_close(bits[0], bits[1], rtol=0, atol=1e-12)


def test_law_what_is_no_bond_is_refused() -> None:
    held = state()
    for cut in (0, 10, -1):
        with pytest.raises(UserError, match=f"bonds of a chain of 10 words are 1 to 9, not {cut}"):
            held.schmidt(cut)
    single = state(length=1)
    for use in (single.entropy_bits, single.schmidt, single.rank, single.to_quimb):
        with pytest.raises(UserError, match=r"a chain of one word has no bond to cut"):
            use()
