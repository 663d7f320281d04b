"""Benchmarks of circuits: both sides do the same, at a size of seconds."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch.testing import assert_close

from psitext.experiments.bench import suite, tensors
from psitext.experiments.bench.timing import grown
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


def test_known_a_power_of_the_size_is_found() -> None:
    now = [0.0]

    def step(size: int) -> Callable[[], object]:
        def spend() -> None:
            now[0] += 1e-3 * size**2 * (1.5 if size == 80 else 1.0)

        return spend

    sizes = (10, 20, 40, 80)
    medians, growth = grown([step(size) for size in sizes], sizes, 2, clock=lambda: now[0])
    assert medians == pytest.approx([0.1, 0.4, 1.6, 9.6])
    assert growth.last == pytest.approx(2 + math.log2(1.5))
    assert growth.exponent == pytest.approx(2 + 0.3 * math.log2(1.5)), "least squares over four points"


def test_smoke_every_size_grows() -> None:
    sizes = {"T": (4, 8), "chi": (3, 6), "d_I": (2, 4), "restarts": (1, 3)}
    found = list(tensors.growth(1, 0, sizes, texts=4))
    assert len(found) == 8
    assert found[1].name == "a training step of RACs, chi = 3 against 6"
    assert all(one.growth is not None and one.ours > 0 for one in found)
    line = suite.line(found[0], suite.Settings(), 1.0)
    assert {"exponent", "exponent of the last two"} < set(line.metrics)
    assert suite.table([line])[0]["exponents"].count("/") == 1
