"""Where sentences lie in a latent space, found out after training: a prior to draw new ones from.

A VAE is trained towards N(0, 1), but its sentences need not fill it, and an autoencoder's have no reason to lie there;
a density fitted to their latents afterwards (Ghosh et al. 2020) is where its decoder has learnt to write. All
priors are mixtures of Gaussians: of one at the origin, of one fitted, or of as many as the Bayesian information
criterion favours. Letters: N latents, P their numbers, K Gaussians, n samples.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.nn.numerics import FLAT
from psitext.randomness import bits, generator

Covariance = Literal["full", "diagonal"]
COMPONENTS = (1, 2, 3, 5, 8, 12, 20)  # what a mixture is tried with
TRIES, ITERATIONS = 3, 500  # starts of a fit by k-means, and steps of each
FEWEST = (
    10  # latents for each of several Gaussians: on fewer, one soon lies flat, and the criterion takes it for a find
)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A mixture of K Gaussians in double.

    ``weights`` (K,) sum to 1; ``means`` (K, P); ``scales``: (K, P) standard deviations, or (K, P, P) lower Cholesky
    factors of covariances. ``facts``: how it was fitted, for a reader.
    """

    weights: Tensor
    means: Tensor
    scales: Tensor
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count, width = self.means.shape
        if self.weights.shape != (count,) or self.scales.shape not in ((count, width), (count, width, width)):
            shapes = ", ".join(str(tuple(value.shape)) for value in (self.weights, self.means, self.scales))
            raise ValueError(f"a mixture's weights, means and scales are (K,), (K, P), (K, P[, P]), not {shapes}")

    @property
    def width(self) -> int:
        """P."""
        return self.means.shape[1]

    def sample(self, n: int, seed: int = 0) -> Tensor:
        """(n, P) latents; more of them begin with the same ones. Errors: fewer than one."""
        if n < 1:
            raise UserError(f"samples are one at least, not {n}")
        edges = self.weights.cumsum(0)[:-1].numpy()
        which = torch.from_numpy(np.searchsorted(edges, generator(seed, "component").random(n), side="right"))
        noise = torch.from_numpy(generator(seed, "noise").standard_normal((n, self.width)))
        if self.scales.ndim == 2:
            return self.means[which] + self.scales[which] * noise
        found = self.means[which]
        for number, root in enumerate(self.scales):  # one root at a time: n of them would not fit a memory
            own = which == number
            found[own] += noise[own] @ root.mT
        return found

    def log_density(self, latents: Tensor) -> Tensor:
        """(N,) natural logarithms of the density at latents (N, P), in double."""
        terms = [
            torch.log(weight) - _half_squares(latents.double() - mean, scale)
            for weight, mean, scale in zip(self.weights, self.means, self.scales, strict=True)
        ]
        return torch.logsumexp(torch.stack(terms), dim=0) - self.width / 2 * math.log(2 * math.pi)


def standard(width: int) -> Prior:
    """N(0, 1) of P dimensions, the prior that a VAE is trained with."""
    row = torch.zeros(1, width, dtype=torch.float64)
    return Prior(torch.ones(1, dtype=torch.float64), row, row + 1, {"kind": "normal"})


def fit_gaussian(latents: Tensor, covariance: Covariance = "full") -> Prior:
    """One Gaussian by maximum likelihood from latents (N, P), its variances raised by a millionth of their mean.

    Errors: too few latents, or all of them the same.
    """
    wide, floor = _checked(latents)
    _enough(len(wide), wide.shape[1], 1, covariance)
    mean = wide.mean(0)
    centred = wide - mean
    if covariance == "diagonal":
        scale = (centred.square().mean(0) + floor).sqrt()
    else:
        scale = torch.linalg.cholesky(centred.mT @ centred / len(wide) + floor * torch.eye(wide.shape[1]).double())
    facts = {"kind": "gaussian", "covariance": covariance, "latents": len(wide)}
    return Prior(wide.new_ones(1), mean[None], scale[None], facts)


def fit_mixture(
    latents: Tensor, components: Sequence[int] = COMPONENTS, covariance: Covariance = "full", seed: int = 0
) -> Prior:
    """A mixture by expectation-maximisation (scikit-learn) from latents (N, P), of that number of ``components`` which
    has the least Bayesian information criterion; numbers for which there are too few latents are passed over.

    ``facts["bic"]`` has the criterion of every number that was tried. Errors: as ``fit_gaussian``.
    """
    from sklearn.mixture import GaussianMixture

    wide, floor = _checked(latents)
    count, width = wide.shape
    if not components or min(components) < 1:
        raise UserError(f"a mixture has one component or more, not {min(components, default='none')}")
    _enough(count, width, min(components), covariance)
    rows, fits = wide.numpy(), {}
    for number in sorted(set(components)):
        if count < _least(width, number, covariance):
            break
        kind = "diag" if covariance == "diagonal" else "full"
        start = int(bits(seed, "mixture", number)) % 2**32
        fits[number] = GaussianMixture(number, covariance_type=kind, reg_covar=floor, n_init=TRIES,
                                       max_iter=ITERATIONS, random_state=start)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what has not settled after so many steps is a mixture like any other
            fits[number].fit(rows)
    bic = {number: float(fit.bic(rows)) for number, fit in fits.items()}
    best = min(bic, key=bic.__getitem__)
    found = fits[best]
    variances = torch.from_numpy(found.covariances_)
    scales = variances.sqrt() if covariance == "diagonal" else torch.linalg.cholesky(variances)
    facts = {"kind": "mixture", "covariance": covariance, "latents": count, "components": best,
             "bic": {str(number): value for number, value in bic.items()}}  # fmt: skip
    weights = torch.from_numpy(found.weights_ / found.weights_.sum())
    return Prior(weights, torch.from_numpy(found.means_), scales, facts)


def _half_squares(difference: Tensor, scale: Tensor) -> Tensor:
    """(N,) half of the squared length of (N, P) under a Gaussian's scale, and the logarithm of its volume."""
    if scale.ndim == 1:
        return (difference / scale).square().sum(1) / 2 + scale.log().sum()
    white: Tensor = torch.linalg.solve_triangular(scale, difference.mT, upper=False)
    return white.square().sum(0) / 2 + scale.diagonal().log().sum()


def _checked(latents: Tensor) -> tuple[Tensor, float]:
    """Latents in double on the CPU, and what is added to their variances."""
    wide = latents.detach().cpu().double()
    if wide.ndim != 2 or 0 in wide.shape:
        raise ValueError(f"latents are (N, P), not {tuple(latents.shape)}")
    if not bool(wide.isfinite().all()):
        raise UserError("a latent holds a number that is not finite, so no prior can be fitted to them")
    variance = float(wide.var(0, unbiased=False).mean())
    if not variance > 0:
        here = "there is one" if len(wide) == 1 else f"the latents of all {len(wide)} are one"
        raise UserError(f"a prior is fitted to several different sentences, and {here}")
    return wide, FLAT * variance


def _enough(count: int, width: int, components: int, covariance: Covariance) -> None:
    least = _least(width, components, covariance)
    if count < least:
        instead = "; a diagonal one takes fewer" if covariance == "full" else ""
        whole = f"of {width} numbers with {covariance} covariance"
        takes = f"a Gaussian {whole} takes" if components == 1 else f"{components} Gaussians {whole} take"
        raise UserError(f"{takes} {least:,} sentences at least, not {count:,}{instead}")


def _least(width: int, components: int, covariance: Covariance) -> int:
    """Latents that so many Gaussians take at least: without them some covariance would be singular."""
    each = width + 1 if covariance == "full" else 2
    return each if components == 1 else components * max(each, FEWEST)
