"""Mutual information, active units and importance weights, against their definitions and against torch's densities."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Independent, Normal, kl_divergence
from torch.testing import assert_close

from psitext.score import latents
from psitext.score.elbo import kl_per_dimension


def space(n: int, p: int, seed: int = 0, spread: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Means, log-variances, and one draw of each."""
    random = torch.Generator().manual_seed(seed)
    mean = spread * torch.randn(n, p, generator=random, dtype=torch.float64)
    log_var = torch.randn(n, p, generator=random, dtype=torch.float64) - 1
    noise = torch.randn(n, p, generator=random, dtype=torch.float64)
    return mean, log_var, latents.latents(noise, mean, log_var)


def normal(mean: Tensor, log_var: Tensor) -> Independent:
    return Independent(Normal(mean, (0.5 * log_var).exp()), 1)


@pytest.mark.parametrize("block", [1, 7, 64, 1_000])
def test_parity_of_information_with_its_definition(block: int) -> None:
    mean, log_var, draws = space(64, 5)
    q = normal(mean, log_var)
    log_q = torch.stack([q.log_prob(z).logsumexp(0) - math.log(64) for z in draws])
    found = latents.mutual_information(mean, log_var, draws, block)
    assert found.mutual == pytest.approx(float(-q.entropy().mean() - log_q.mean()), abs=1e-10)
    prior = normal(torch.zeros(5), torch.zeros(5))
    assert found.kl == pytest.approx(float(kl_divergence(Normal(mean, q.stddev), Normal(0.0, 1.0)).sum(1).mean()))
    assert found.ceiling == math.log(64)
    # The same KL(q(z) || p(z)), estimated from draws alone: equal but for the noise of 64 draws of log p(z).
    estimated = float((log_q - prior.log_prob(draws)).mean())
    assert found.marginal_kl == pytest.approx(estimated, abs=3 * float(prior.log_prob(draws).std()) / 8)


def test_known_information_of_spaces_without_and_with_all_of_it() -> None:
    nothing = torch.zeros(50, 4)
    collapsed = latents.mutual_information(nothing, nothing, torch.randn(50, 4, generator=_seeded(0)))
    assert abs(collapsed.mutual) < 0.5 and collapsed.kl == 0
    apart = 100 * torch.arange(50.0)[:, None]
    full = latents.mutual_information(apart, torch.zeros(50, 1), apart)
    # Each sentence is alone: log q(z) = log q(z|x) - log N; at the mean itself half a nat more than on average.
    assert full.mutual == pytest.approx(math.log(50) - 0.5, abs=1e-9)
    drawn = apart + torch.randn(50, 1, generator=_seeded(1))
    assert latents.mutual_information(apart, torch.zeros(50, 1), drawn).mutual == pytest.approx(math.log(50), abs=0.4)
    empty = latents.mutual_information(torch.zeros(9, 0), torch.zeros(9, 0), torch.zeros(9, 0))
    assert (empty.mutual, empty.kl, empty.marginal_kl) == pytest.approx((0, 0, 0), abs=1e-12)


def test_known_information_of_a_gaussian_channel() -> None:
    # x ~ N(0, s^2), z = x + N(0, 1): I = log(1 + s^2) / 2, as N grows.
    n, s = 4_000, 3.0
    mean = s * torch.randn(n, 1, generator=_seeded(2), dtype=torch.float64)
    draws = mean + torch.randn(n, 1, generator=_seeded(3), dtype=torch.float64)
    found = latents.mutual_information(mean, torch.zeros(n, 1), draws)
    assert found.mutual == pytest.approx(0.5 * math.log(1 + s * s), abs=0.05)


def test_law_the_expanded_form_is_as_good_as_the_distance() -> None:
    mean, log_var, draws = space(30, 32, spread=40.0)
    wanted = normal(mean, log_var - 8).log_prob(draws[:, None]).logsumexp(1) - math.log(30)
    assert_close(latents.log_aggregated(mean, log_var - 8, draws), wanted, rtol=1e-10, atol=0)


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=30), st.integers(1, 7))
def test_law_a_log_sum_exp_may_come_in_pieces(values: list[float], piece: int) -> None:
    whole = torch.tensor(values, dtype=torch.float64)
    total = torch.tensor(-torch.inf, dtype=torch.float64)
    for some in whole.split(piece):
        total = latents.merged(total, some)
    assert_close(total, whole.logsumexp(0), rtol=1e-13, atol=1e-13)


def test_parity_of_divergence_with_torchs() -> None:
    mean, log_var, _ = space(20, 3)
    wanted = kl_divergence(Normal(mean, (0.5 * log_var).exp()), Normal(0.0, 1.0))
    assert_close(kl_per_dimension(mean, log_var), wanted, rtol=1e-12, atol=1e-14)
    tiny = torch.full((1, 1), 1e-9)
    assert float(kl_per_dimension(torch.zeros(1, 1), tiny)) >= 0


def test_known_active_units() -> None:
    mean = torch.zeros(4, 3)
    mean[:, 1] = torch.tensor([0.0, 0.0, 0.0, 0.22])  # variance 0.0121 over n - 1, 0.0091 over n
    mean[:, 2] = torch.tensor([5.0, 5.0, 5.0, 5.19])  # 0.0090: a mean far from 0 is no use by itself
    assert latents.active_units(mean).tolist() == [False, True, False]
    assert latents.active_units(mean, threshold=0.2).sum() == 0
    with pytest.raises(ValueError, match="no variance"):
        latents.active_units(mean[:1])


def test_parity_of_weights_with_densities() -> None:
    mean, log_var, _ = space(6, 4)
    noise = torch.randn(3, 6, 4, generator=_seeded(4), dtype=torch.float64)
    log_likelihood = -10 * torch.rand(3, 6, generator=_seeded(5), dtype=torch.float64)
    z = latents.latents(noise, mean, log_var)
    prior = normal(torch.zeros(4).double(), torch.zeros(4).double())
    wanted = log_likelihood + prior.log_prob(z) - normal(mean, log_var).log_prob(z)
    assert_close(latents.log_weights(log_likelihood, noise, mean, log_var), wanted, rtol=0, atol=1e-11)
    assert latents.log_weights(log_likelihood.float(), noise.float(), mean, log_var).dtype == torch.float64


def test_known_weights_of_the_exact_posterior_are_all_the_evidence() -> None:
    # z ~ N(0, 1), x | z ~ N(z, 1): q(z|x) = N(x / 2, 1 / 2) makes every weight p(x) = N(0, 2).
    x = torch.tensor([[1.3], [-0.4]], dtype=torch.float64)
    noise = torch.randn(5, 2, 1, generator=_seeded(6), dtype=torch.float64)
    mean, log_var = x / 2, torch.full_like(x, math.log(0.5))
    likelihood = Normal(latents.latents(noise, mean, log_var)[..., 0], 1.0).log_prob(x[:, 0])
    found = latents.log_weights(likelihood, noise, mean, log_var)
    evidence = Normal(torch.zeros(2).double(), torch.full((2,), 2.0).double().sqrt()).log_prob(x[:, 0])
    assert_close(found, evidence.expand(5, 2), rtol=0, atol=1e-12)
    assert_close(latents.bound(found.logsumexp(0), 5), found[0], rtol=0, atol=1e-12)


def test_known_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="no space"):
        latents.mutual_information(torch.zeros(3, 2), torch.zeros(3, 2), torch.zeros(4, 2))
    with pytest.raises(ValueError, match="no space"):
        latents.mutual_information(torch.zeros(0, 2), torch.zeros(0, 2), torch.zeros(0, 2))


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
