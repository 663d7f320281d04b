"""Benchmarks of circuits: both sides do the same, at a size of seconds."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from psitext.experiments.bench import tensors
from psitext.explain.mps.chain import middle
from psitext.explain.mps.spectrum import spectrum


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_smoke_both_comparisons() -> None:
    pytest.importorskip("quimb")
    pytest.importorskip("tensorkrowch")
    found = list(tensors.tensor_speed(1, 0, print, bonds=(3,), texts=4, models=2))
    assert [one.unit for one in found] == ["s a model", "s"]
    assert all(one.ratio > 0 and one.ours > 0 for one in found)
    assert "tensorkrowch" in found[0].name and "quimb" in found[1].name


def test_known_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "find_spec", lambda name: None)
    told: list[str] = []
    assert list(tensors.tensor_speed(1, 0, told.append)) == []
    assert [text.split(",")[0] for text in told] == ["skipped", "skipped"]


def test_parity_of_the_entropies() -> None:
    pytest.importorskip("quimb")
    chains = tensors._chains(3, 4, 0)
    ours = spectrum(chains, bonds="mid").entropy_bits[:, 0]
    assert_close(torch.tensor(tensors._one_by_one(chains, middle(50)), dtype=torch.float64), ours, rtol=0, atol=1e-10)
