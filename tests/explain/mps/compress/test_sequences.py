"""explain/mps/compress/sequences.py: cores read words as written out; errors that were measured."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from chains import sentences
from psitext.errors import UserError
from psitext.explain.mps.compress.sequences import Sites, Uniform, relative_rms
from psitext.explain.passes import Outputs


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_parity_sites_with_the_tensor_written_out() -> None:
    cores = (random(1, 3, 4), random(4, 3, 2, seed=1), random(2, 3, 2, seed=2))
    words = sentences(5, 3, 2)
    wide = torch.cat([words, torch.ones(5, 3, 1)], dim=-1)
    expected = torch.einsum("asb,btc,cuk,ns,nt,nu->nk", *cores, *wide.unbind(1))
    assert Sites(cores).bonds == (4, 2)
    assert_close(Sites(cores).run(words).values, expected, rtol=1e-12, atol=1e-12)


def test_parity_uniform_with_the_recurrence_written_out() -> None:
    machine = Uniform(random(3, 3, 3), random(3), random(2, 3))
    words = sentences(4, 6, 2)
    h = machine.first.expand(4, 3)
    for word in words.unbind(1):
        h = torch.einsum("nl,ns,lsr->nr", h, torch.cat([word, torch.ones(4, 1)], dim=-1), machine.core)
    assert machine.bond == 3
    assert_close(machine.run(words).values, h @ machine.last.T, rtol=1e-12, atol=1e-12)


def test_law_thousands_of_words_stay_finite() -> None:
    found = Uniform(5 * random(3, 3, 3), random(3), random(2, 3)).run(sentences(2, 2000, 2))
    assert found.values.isfinite().all() and bool((found.log_scale > 1000).all())


def test_known_relative_errors() -> None:
    exact = Outputs(torch.tensor([[3.0], [4.0]]).double(), torch.zeros(2).double())
    near = Outputs(torch.tensor([[3.0], [4.5]]).double(), torch.zeros(2).double())
    assert relative_rms(exact, near) == pytest.approx(0.1)
    large = [Outputs(each.values, each.log_scale + 1e4) for each in (exact, near)]
    assert relative_rms(*large) == pytest.approx(0.1)
    mixed = Outputs(exact.values / torch.tensor([[1.0], [8.0]]), torch.tensor([0.0, math.log(8)], dtype=torch.float64))
    assert relative_rms(exact, mixed) < 1e-15


def test_known_sentences_that_do_not_fit_are_refused() -> None:
    sites, machine = Sites((random(1, 3, 2), random(2, 3, 1))), Uniform(random(3, 3, 3), random(3), random(2, 3))
    with pytest.raises(UserError, match="2 words cannot read sentences of 3"):
        sites.run(sentences(1, 3, 2))
    for each in (sites, machine):
        with pytest.raises(UserError, match="at least one word"):
            each.run(sentences(1, 2, 2)[:, :0])
        with pytest.raises(UserError, match="width 1"):
            each.run(sentences(1, 2, 1))
