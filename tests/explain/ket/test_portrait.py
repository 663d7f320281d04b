"""The table of sentence kets: what is in it is what the functions say, and it holds plain values."""

from __future__ import annotations

import json

import pytest
import torch

from psitext.errors import UserError
from psitext.explain.ket.controls import page_profile, random_kets
from psitext.explain.ket.portrait import portrait
from psitext.state import Posterior, SentenceState

BELL = torch.tensor([[1.0, 0, 0, 1], [1, 0, 0, 0]])


def test_known_a_bell_state_beside_a_product() -> None:
    found = portrait(SentenceState(BELL), bond=1)
    first, second = found.rows(["a", "b"])
    assert first == {
        "sentence": "a", "bits, cut 1": pytest.approx(1), "rank": 2, "bond for 0.99": 2,
        "fidelity at bond 1": pytest.approx(0.5),
    }  # fmt: skip
    assert (second["bits, cut 1"], second["rank"], second["bond for 0.99"]) == (0, 1, 1)
    torch.testing.assert_close(found.fidelities, torch.tensor([[1.0, 0.5], [0.5, 1]], dtype=torch.float64))
    assert found.says == "real kets of 2 qubits (width 4), qubit 0 the most significant bit"


def test_known_a_record_is_json_with_everything() -> None:
    state = SentenceState(random_kets(2, 6).to(torch.complex64))
    found = portrait(state, 0.9)
    tree = json.loads(json.dumps(found.record(["a", "b"])))
    assert (tree["width"], tree["qubits"], tree["padded"], tree["real"]) == (6, 3, True, False)
    assert [len(one["entropy_bits"]) for one in tree["sentences"]] == [2, 2] and "fidelity" not in tree["sentences"][0]
    assert tree["sentences"][1]["bond"] == int(state.bond_for(0.9)[1])
    assert len(tree["random_bits"]) == 2 and tree["random_bits"] != page_profile(3)
    assert "padded with zeros to 8" in found.says


def test_law_any_kind_of_state_has_one() -> None:
    vector = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    plain = portrait(SentenceState(vector))
    other = portrait(Posterior(3 * vector, torch.zeros(2, 8)))
    torch.testing.assert_close(plain.entropy_bits, other.entropy_bits)


def test_known_what_is_refused() -> None:
    with pytest.raises(UserError, match="no power of two"):
        portrait(SentenceState(torch.ones(1, 6)), pad=False)
    with pytest.raises(UserError, match="one qubit cannot be cut"):
        portrait(SentenceState(torch.ones(1, 2)))
