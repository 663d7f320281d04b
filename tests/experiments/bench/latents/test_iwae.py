"""The race of bounds in a tiny form: both sides find the same, at a size of milliseconds. No time is judged."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from psitext.encoders.bert import BertConfig
from psitext.encoders.vae import VaeConfig
from psitext.experiments.bench import suite
from psitext.experiments.bench.latents import iwae as race
from psitext.experiments.latents.bounds import Bounds, Draws, iwae, noise
from psitext.heads.decoding import CausalConfig
from psitext.nn.numerics import Precision

TINY = race.Space(
    VaeConfig(trunk=BertConfig(vocab_size=60, width=16, layers=1, heads=2, hidden=24), latent=3),
    CausalConfig(vocab_size=60, width=16, layers=2, heads=2, hidden=24, latent=3, init_std=0.3),
    sentences=3,
)


def test_parity_of_the_original_scheme_with_ours() -> None:
    pytest.importorskip("transformers")
    encoder, decoder, source = race._parts(TINY, 1)
    found = iwae(encoder, decoder, source, Draws(k=20, seed=4))
    drawn = [noise(4, np.full(20, sentence), np.arange(20), 3).float() for sentence in range(3)]
    assert found.log_p == pytest.approx(race.one_by_one(encoder, decoder, source, drawn), abs=1e-4)
    assert len(set(found.log_p.tolist())) == 3


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_smoke_a_race(precision: Precision) -> None:
    pytest.importorskip("transformers")
    before = torch.get_rng_state()
    found = race.iwae_speed(1, 0, precision, TINY)
    assert torch.equal(torch.get_rng_state(), before)
    assert found.unit == "s a sentence" and found.ratio > 0 and found.ours > 0
    assert precision in found.name and "5 draws of one at a time" in found.name


def test_known_sides_that_differ_are_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    nothing = np.zeros(3)
    monkeypatch.setattr(race, "iwae", lambda *args: Bounds(nothing + 1, nothing, nothing, np.ones(3, dtype=np.int64)))
    with pytest.raises(AssertionError, match="the bounds of the two sides differ"):
        race.iwae_speed(1, 0, "fp32", TINY)


def test_known_the_suite_has_it() -> None:
    assert {"iwae", "iwae-bf16"} <= set(suite.BENCHMARKS) - suite.TORCH_ALONE
