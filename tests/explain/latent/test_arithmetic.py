"""Analogies by set means, and walks by deviations of the aggregate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from psitext.explain.latent.arithmetic import active, analogy, direction, spread, traversal
from psitext.state import Posterior


def latents(count: int, width: int = 4, seed: int = 0) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


def test_law_analogies() -> None:
    a, b, c = latents(3), latents(5, seed=1), latents(2, seed=2)
    assert torch.equal(analogy(a, b, c, degree=0.0), c)
    torch.testing.assert_close(analogy(a, a, c), c)
    torch.testing.assert_close(analogy(a[:1], b[:1], a[:1]), b[:1])
    torch.testing.assert_close(analogy(a, b, c, 2.0) - c, 2 * (analogy(a, b, c) - c))
    torch.testing.assert_close(analogy(b, a, analogy(a, b, c)), c)
    torch.testing.assert_close(analogy(a, b, c), c + b.mean(0) - a.mean(0))
    assert analogy(a, b, c).dtype == torch.float32
    torch.testing.assert_close(direction(a, b), -direction(b, a))


def test_known_activity_is_the_unbiased_variance_of_means() -> None:
    mean = latents(6)
    np.testing.assert_allclose(active(mean), mean.numpy().astype(float).var(0, ddof=1), rtol=1e-12)
    assert active(mean[:1]).tolist() == [0, 0, 0, 0]


def test_law_spread_is_that_of_draws_from_the_aggregate() -> None:
    state = Posterior(2 * latents(3), latents(3, seed=1))
    draws = torch.cat([state.sample(seed) for seed in range(20_000)]).double()
    directions = torch.tensor([[1.0, 0, 0, 0], [0, 0, 5, 0], [1, -1, 2, 0.5]])
    units = (directions / directions.norm(dim=1, keepdim=True)).double()
    np.testing.assert_allclose(spread(state.vector, state.log_var, directions), (draws @ units.mT).std(0), rtol=0.02)


def test_known_spread_of_one_sentence_is_its_own_deviation() -> None:
    found = spread(latents(1), torch.full((1, 4), 2 * np.log(3.0)), torch.eye(4))
    np.testing.assert_allclose(found, np.full(4, 3.0), rtol=1e-6)


def test_known_traversal() -> None:
    (z,) = latents(1)
    steps = torch.tensor([-3.0, 0.0, 3.0])
    found = traversal(z, torch.tensor([[0, 2.0, 0, 0], [3.0, 4.0, 0, 0]]), torch.tensor([0.5, 1.0]), steps)
    assert found.shape == (2, 3, 4)
    assert torch.equal(found[:, 1], z.expand(2, -1))
    torch.testing.assert_close(found[0, 2] - z, torch.tensor([0, 1.5, 0, 0]))
    torch.testing.assert_close(found[1, 0] - z, torch.tensor([-1.8, -2.4, 0, 0]))
    with pytest.raises(ValueError, match="leads nowhere"):
        traversal(z, torch.zeros(1, 4), torch.ones(1), steps)
