"""Fewer channels at every bond of a finite chain: the best that one truncation after another can do.

From the left, each bond keeps the leading left singular vectors of the state that the bonds before it left over. What
one bond discards is orthogonal to what is kept there and to all that later bonds discard, since they project within
it: the squared error is exactly the sum of discarded weights (Oseledets 2011 and Schollwoeck 2011 state it as a
bound). In the metric of the data it is the mean square of f - f' over sentences of that law, so it predicts the
error that will be measured. Letters as in ``passes``; cores as in ``sequences``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.mps.compress.frames import Frame, Metric, Root, early, frames, late, numerical_rank
from psitext.explain.mps.compress.sequences import Sites
from psitext.explain.passes import closings, rescaled


@dataclass(frozen=True, slots=True, eq=False)
class Truncated:
    """A chain of bond at most D', and what that cost."""

    sites: Sites
    discarded: Tensor  # (T - 1,) squared norm that each bond lost, over that of the whole

    @property
    def predicted_error(self) -> float:
        """||f - f'|| / ||f|| in the metric of the truncation."""
        return float(self.discarded.sum().sqrt())


@torch.no_grad()
def truncate(chain: Chain, bond: int, metric: Metric = None) -> Truncated:
    """The chain with at most ``bond`` channels at each bond; fewer where the rest is rounding. Exact for bond = D.

    ``metric`` as in ``frames``: None is the paper's. Time T p D^2 D'. Errors: as ``frames``; a bond outside 1..D; a
    chain that is 0 everywhere.
    """
    in_range(chain, bond)
    sites = frames(chain, metric)
    return _sweep(chain, sites, late(chain, sites), bond)


@torch.no_grad()
def truncate_to(chain: Chain, tolerance: float, metric: Metric = None) -> Truncated:
    """The chain of smallest bond whose predicted error is at most ``tolerance`` (D itself, if rounding is above it).

    Errors: as ``truncate``; a negative tolerance.
    """
    if not tolerance >= 0:
        raise UserError(f"a tolerance is a relative error of at least 0, not {tolerance:g}")
    sites = frames(chain, metric)
    right = late(chain, sites)
    least = _tails(chain, sites, right).amax(0).sqrt()  # no chain of that bond is nearer
    for bond in range(1, chain.bond):
        if float(least[bond - 1]) <= tolerance:
            found = _sweep(chain, sites, right, bond)
            if found.predicted_error <= tolerance:
                return found
    return _sweep(chain, sites, right, chain.bond)


@torch.no_grad()
def error_bounds(chain: Chain, metric: Metric = None) -> tuple[Tensor, Tensor]:
    """For each bond 1..D what the error of ``truncate`` lies between, both (D,): the worst bond's tail and all of them.

    From the chain's own spectra, without truncating anything. Below the first no chain of that bond can be.
    """
    sites = frames(chain, metric)
    tails = _tails(chain, sites, late(chain, sites))
    return tails.amax(0).sqrt(), tails.sum(0).sqrt()


def in_range(chain: Chain, bond: int) -> None:
    """Refuse a bond outside 1..D."""
    if not 1 <= bond <= chain.bond:
        raise UserError(f"bond {bond} lies outside 1..{chain.bond}; this chain's own is {chain.bond}")


def _sweep(chain: Chain, sites: list[Frame], right: list[Root], bond: int) -> Truncated:
    left, exponent, remaining = chain.first[None], 0.0, 1.0  # (D_l, D): what the kept channels are of the circuit's
    cores, discarded = [], []
    for site, (root, _) in zip(sites[:-1], right[1:-1], strict=True):
        theta = _grown(chain, site, left)
        basis, schmidt, _ = torch.linalg.svd(theta.flatten(0, 1) @ root, full_matrices=False)
        kept = min(bond, numerical_rank(schmidt))
        weights = schmidt.square()
        total = float(weights.sum())
        discarded.append(remaining * float(weights[kept:].sum()) / total)
        remaining *= float(weights[:kept].sum()) / total
        cores.append(_read_by(site, basis[:, :kept].unflatten(0, theta.shape[:2])))
        left, shift = rescaled(basis[:, :kept].mT @ theta.flatten(0, 1), axes=(-2, -1))
        exponent += float(shift)
    cores.append(_read_by(sites[-1], _grown(chain, sites[-1], left) @ closings(chain).mT))
    each = 2.0 ** (exponent / chain.length)  # the same scale for all cores: no field of its own, and no overflow
    return Truncated(Sites(tuple(each * core for core in cores)), torch.tensor(discarded, dtype=torch.float64))


def _tails(chain: Chain, sites: list[Frame], right: list[Root]) -> Tensor:
    """(T - 1, D): the share of squared Schmidt coefficients beyond the first D' = 1..D, at each bond.

    A chain of one word has no bond, and a row of zeros here.
    """
    tails = chain.hidden.new_zeros(max(chain.length - 1, 1), chain.bond)
    for m, ((x, _), (y, _)) in enumerate(zip(early(chain, sites)[1:-1], right[1:-1], strict=True)):
        weights = torch.linalg.svdvals(x.mT @ y).square()
        beyond = weights.flip(0).cumsum(0).flip(0) / weights.sum()  # from the i-th on, small ones summed first
        tails[m, : len(weights) - 1] = beyond[1:]
    return tails


def _grown(chain: Chain, site: Frame, left: Tensor) -> Tensor:
    """Bond vectors (D_l, D) after one more site: (D_l, r, D)."""
    return (left @ chain.hidden.mT)[:, None] * site.inputs.mT


def _read_by(site: Frame, core: Tensor) -> Tensor:
    """A core (D_l, r, D_r) in the metric as one (D_l, p, D_r) for word vectors."""
    return torch.einsum("lrk,rp->lpk", core, site.whiten)
