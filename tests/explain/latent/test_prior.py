"""Priors fitted afterwards: densities against scipy's, moments of samples, the number of Gaussians."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.latent.prior import Covariance, Prior, fit_gaussian, fit_mixture, standard


def blobs(centres: int, each: int = 120, width: int = 3, seed: int = 0) -> Tensor:
    """Askew clouds far from each other."""
    rng = np.random.default_rng(seed)
    middles = 30 * rng.normal(size=(centres, width))
    clouds = [middle + rng.normal(size=(each, width)) @ rng.normal(size=(width, width)) for middle in middles]
    return torch.from_numpy(np.concatenate(clouds)).float()


def density(prior: Prior, points: Tensor) -> np.ndarray:
    total = np.zeros(len(points))
    for weight, mean, scale in zip(prior.weights, prior.means, prior.scales, strict=True):
        covariance = np.diag(scale**2) if scale.ndim == 1 else (scale @ scale.mT).numpy()
        total += float(weight) * multivariate_normal(mean.numpy(), covariance).pdf(points.numpy())
    return np.log(total)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_parity_of_densities_with_scipy(covariance: Covariance) -> None:
    latents = blobs(2)
    for prior in (standard(3), fit_gaussian(latents, covariance), fit_mixture(latents, (2,), covariance)):
        near = prior.sample(20, seed=3)
        np.testing.assert_allclose(prior.log_density(near), density(prior, near), rtol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_law_a_gaussian_has_the_moments_of_its_latents(covariance: Covariance) -> None:
    latents = blobs(2).double()
    draws = fit_gaussian(latents, covariance).sample(200_000)
    ours, theirs = np.cov(draws.numpy().T), np.cov(latents.numpy().T, bias=True)
    if covariance == "diagonal":
        theirs = np.diag(np.diag(theirs))
    np.testing.assert_allclose(ours, theirs, atol=0.02 * theirs.max())
    np.testing.assert_allclose(draws.mean(0), latents.mean(0), atol=0.01 * theirs.max() ** 0.5)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_law_samples_of_a_mixture_have_its_moments(covariance: Covariance) -> None:
    prior = fit_mixture(blobs(3), (3,), covariance)
    draws = prior.sample(200_000, seed=1)
    covariances = torch.stack([torch.diag(s**2) if s.ndim == 1 else s @ s.mT for s in prior.scales])
    mean = prior.weights @ prior.means
    second = covariances + (prior.means - mean)[:, :, None] * (prior.means - mean)[:, None]
    whole = (prior.weights[:, None, None] * second).sum(0)
    np.testing.assert_allclose(np.cov(draws.numpy().T), whole, atol=0.01 * float(whole.max()))
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.01 * float(whole.max()) ** 0.5)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("centres", [1, 2, 4])
def test_known_the_criterion_finds_the_number_of_separate_clouds(centres: int, covariance: Covariance) -> None:
    latents = blobs(centres, seed=centres)
    if covariance == "diagonal":  # of round clouds, which a diagonal covariance can be true of
        middles = latents.view(centres, 120, 3).mean(1, keepdim=True)
        noise = torch.randn(centres, 120, 3, generator=torch.Generator().manual_seed(0))
        latents = (middles + noise).flatten(0, 1)
    prior = fit_mixture(latents, (1, 2, 3, 4, 5, 6), covariance)
    assert prior.facts["components"] == len(prior.weights) == centres
    assert list(prior.facts["bic"]) == ["1", "2", "3", "4", "5", "6"]
    torch.testing.assert_close(prior.weights, torch.full((centres,), 1 / centres).double(), rtol=1e-6, atol=0)


def test_parity_of_the_criterion_with_its_definition() -> None:
    latents = blobs(2)
    prior = fit_mixture(latents, (2,))
    parameters = 1 + 2 * 3 + 2 * 6  # weights, means, covariances
    expected = -2 * float(prior.log_density(latents).sum()) + parameters * np.log(len(latents))
    assert prior.facts["bic"]["2"] == pytest.approx(expected, rel=1e-9)


def test_law_samples_depend_on_the_seed_alone() -> None:
    prior = fit_mixture(blobs(3), (3,))
    assert torch.equal(prior.sample(7, seed=2), prior.sample(40, seed=2)[:7])
    assert not torch.equal(prior.sample(7, seed=2), prior.sample(7, seed=3))
    again = fit_mixture(blobs(3), (3,))
    assert torch.equal(prior.means, again.means) and torch.equal(prior.scales, again.scales)


def test_law_a_fit_moves_and_grows_with_its_latents() -> None:
    latents = blobs(2).double()
    for factor in (1e-3, 1e3):
        scaled = fit_mixture(factor * latents + 5, (1, 2))
        plain = fit_mixture(latents, (1, 2))
        assert len(scaled.weights) == 2
        change = plain.log_density(latents) - scaled.log_density(factor * latents + 5)
        torch.testing.assert_close(change, torch.full_like(change, 3 * np.log(factor)), rtol=1e-4, atol=1e-4)


def test_known_too_few_latents_for_some_numbers_are_passed_over() -> None:
    latents = blobs(2, each=20)
    assert list(fit_mixture(latents, (1, 3, 50)).facts["bic"]) == ["1", "3"]


def test_known_the_standard_prior_of_a_language_model_has_nothing_in_it() -> None:
    assert standard(0).sample(4).shape == (4, 0)


def test_known_what_cannot_be_fitted() -> None:
    few = blobs(1, each=3)
    with pytest.raises(UserError, match="takes 4 sentences at least, not 3; a diagonal one takes fewer"):
        fit_gaussian(few)
    with pytest.raises(UserError, match="2 Gaussians of 3 numbers with full covariance take 20 sentences at least"):
        fit_mixture(few, (2, 3))
    assert fit_gaussian(few, "diagonal").scales.shape == (1, 3)
    with pytest.raises(UserError, match="the latents of all 5 are one"):
        fit_gaussian(torch.ones(5, 2))
    with pytest.raises(UserError, match="not finite"):
        fit_gaussian(torch.tensor([[1.0], [torch.nan], [0.0]]))
    with pytest.raises(UserError, match="one component or more, not 0"):
        fit_mixture(blobs(2), (0, 1))
    with pytest.raises(UserError, match="one at least, not 0"):
        standard(3).sample(0)
    with pytest.raises(ValueError, match="latents are"):
        fit_gaussian(torch.ones(5))
    with pytest.raises(ValueError, match="a mixture's weights"):
        Prior(torch.ones(2), torch.ones(1, 3), torch.ones(1, 3))
