"""The race of writing in a tiny form: both sides write the same, at a size of milliseconds. No time is judged."""

from __future__ import annotations

import pytest
import torch

from psitext.assemble import build_decoder
from psitext.experiments.bench import suite
from psitext.experiments.bench.latents import generation as race
from psitext.heads.decoding import CausalConfig
from psitext.nn.numerics import Precision

SHAPE = CausalConfig(vocab_size=40, width=16, layers=2, heads=2, hidden=24, latent=3, init_std=0.5, eos=0)
TINY = race.Task(SHAPE, latents=3, tokens=5)


def test_parity_of_the_original_scheme_with_ours() -> None:
    pytest.importorskip("transformers")
    decoder = build_decoder(SHAPE, 1).eval()
    latent = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    written = race.together(decoder, latent, 6, "fp32")
    assert torch.equal(written, race.again(decoder, latent, 6))
    assert written.shape == (4, 6) and len(written.unique(dim=0)) > 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_smoke_a_race(precision: Precision) -> None:
    pytest.importorskip("transformers")
    found = race.generation_speed(1, 0, precision, TINY)
    assert found.unit == "s a sentence" and found.ratio > 0 and found.ours > 0
    assert precision in found.name and "without a cache" in found.name


def test_known_sides_that_differ_are_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(race, "together", lambda *args: torch.zeros(3, 5, dtype=torch.int64))
    with pytest.raises(AssertionError, match="write the same in"):
        race.generation_speed(1, 0, "fp32", TINY)


def test_known_the_suite_has_it() -> None:
    assert {"generation", "generation-bf16"} <= set(suite.BENCHMARKS)
