"""The objectives of rivals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

import spaces
from psitext.score.dialog import CvaeConfig, Seq2SeqConfig, cvae, seq2seq
from psitext.score.dialog.rivals import kl_between
from psitext.score.elbo import ObjectiveConfig, kl_per_dimension
from psitext.state import Posterior


def gaussian(seed: int, count: int = 3) -> Posterior:
    random = torch.Generator().manual_seed(seed)
    return Posterior(*(torch.randn(count, 4, generator=random, dtype=torch.float64) for _ in range(2)))


def test_parity_the_divergence_of_two_gaussians_with_torchs() -> None:
    first, second = gaussian(0), gaussian(1)
    theirs = kl_divergence(*(Normal(one.vector, (one.log_var / 2).exp()) for one in (first, second)))
    assert torch.allclose(kl_between(first, second), theirs)
    prior = Posterior(torch.zeros(3, 4), torch.zeros(3, 4))
    assert torch.allclose(kl_between(first, prior), kl_per_dimension(first.vector, first.log_var))
    assert torch.equal(kl_between(first, first), torch.zeros(3, 4, dtype=torch.float64))


def test_known_terms_of_both() -> None:
    batch = spaces.Made((3, 1, 4)).build(np.arange(3))
    state = gaussian(0, 6)
    logits = torch.zeros(int((batch.targets["written_length"] - 1).sum()), spaces.V)
    uniform = len(logits) * np.log(spaces.V) / 3
    config = CvaeConfig(objective=ObjectiveConfig(beta=0.5, schedule="linear"))
    score = cvae(config)
    found = {
        name: float(term.total({"written": logits}, batch, state) / term.count(batch)) for name, term in score.items()
    }
    assert found["rec"] == pytest.approx(uniform)
    assert found["kl"] == pytest.approx(float(kl_between(state[3:], state[:3]).sum()) / 3)
    assert score["kl"].weight_at(0, 100) < 0.01 and score["kl"].weight_at(99, 100) == 0.5
    rec = seq2seq(Seq2SeqConfig())["rec"]
    assert float(rec.total({"written": logits}, batch, state) / rec.count(batch)) == pytest.approx(uniform)
