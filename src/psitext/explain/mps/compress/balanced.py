"""A smaller recurrence for sentences of any length: balanced truncation over a finite horizon.

A projector Pi of rank D' in place of the bond's identity gives a recurrence of D' numbers with the same core for every
word, no longer a circuit. It is exactly f - f' = sum_m g_m . (1 - Pi) h'_m over bonds m = 0 ... T, h' the compressed
bond vectors, since the sum telescopes. To first order h' = h, and term m has the mean square, over sentences of
independent words, tr(F_m Q E_m Q^T) with Q = 1 - Pi and the Grams of ``frames``. For any nu_m > 0 all terms add to

    J = sum_m tr(F_m Q E_m Q^T) <= tr(F Q E Q^T),    E = sum_m E_m / nu_m,   F = sum_m nu_m F_m,

and the right side is least for the balanced projector of (E, F): sum_{i > D'} sigma_i^2, sigma the singular values of
F^{1/2} E^{1/2} (Eckart and Young). This is the singular value automaton of Balle, Panangaden and Precup (2015) for one
length in place of all. Theirs sums over every length without weights and does not exist here: a circuit carries a
constant 1, so the spectral radius of its kernel is at least 1 and the sum diverges. T ends the sum whatever the
radius is, and nu_m = rho^m, rho the growth of E[f^2] a word, which tends to it, gives all bonds like shares whatever
basis the bond has; other nu changed errors by some per cent either way. Fixed points of the kernels, the limit for T
to infinity, forget the first words and how the last are read: on random circuits of D = 21 they did better by two in
a hundred at most, and worse by up to a hundred times.

f - f' is itself a recurrence, of bond D + D', so one pass gives its mean square over the law: what is reported is no
bound but the error itself. From the same pass come, by least squares, the closing vectors that are best for the new
core, so no error is above 1. Letters as in ``passes``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.mps.compress.frames import (
    Frame,
    Metric,
    Root,
    early,
    frames,
    late,
    numerical_rank,
    roots_of,
    shrunk,
)
from psitext.explain.mps.compress.sequences import Uniform
from psitext.explain.mps.compress.truncation import error_bounds, in_range
from psitext.explain.passes import closings, rescaled
from psitext.nn.numerics import BALANCED_FLOOR, scaled


@dataclass(frozen=True, slots=True, eq=False)
class Balanced:
    """A recurrence of bond D' and how far it is from the circuit over sentences of the chain's length."""

    uniform: Uniform
    schmidt: Tensor  # (n,) sigma, descending, of unit norm: what each of n <= D channels weighs over the whole horizon
    predicted_error: float  # root mean square of f - f' over that of f, exact for independent words of the metric's law


@torch.no_grad()
def balance(chain: Chain, bond: int, metric: Metric = None) -> Balanced:
    """The recurrence of ``bond`` channels, fewer where others are rounding; bond = D is the circuit itself, exactly.

    ``metric`` as in ``frames``: None weighs word tensors as the paper does, a root the sentences of a law. Time
    T p D^3. Errors: as ``frames``; a bond outside 1..D; a chain that is 0 everywhere.
    """
    in_range(chain, bond)
    return _reduced(chain, bond, metric, *_directions(chain, frames(chain, metric)))


@torch.no_grad()
def balance_to(chain: Chain, tolerance: float, metric: Metric = None) -> Balanced:
    """The smallest bond, counting up, whose predicted error is at most ``tolerance``; in the end D, which has none.

    Errors: as ``balance``; a negative tolerance.
    """
    if not tolerance >= 0:
        raise UserError(f"a tolerance is a relative error of at least 0, not {tolerance:g}")
    directions = _directions(chain, frames(chain, metric))
    least, _ = error_bounds(chain, metric)  # of any chain of that bond, and a recurrence is one
    hopeful = 1 + (least <= tolerance).nonzero().flatten()
    tries = (_reduced(chain, int(bond), metric, *directions) for bond in hopeful)
    return next(found for found in tries if found.predicted_error <= tolerance)


@torch.no_grad()
def as_uniform(chain: Chain) -> Uniform:
    """The circuit as a recurrence of its own bond: core[l, s, r] = W~_I[r, s] W~_H[r, l]."""
    return Uniform(torch.einsum("rs,rl->lsr", chain.inputs, chain.hidden), chain.first, closings(chain))


@torch.no_grad()
def law_error(chain: Chain, uniform: Uniform, metric: Metric = None) -> float:
    """||f - f'|| / ||f|| at the chain's length in a metric: of the data, the relative root mean square over its law.

    From a root of the Gram of both side by side, so that errors far below 1e-8 are right too. Time T p (D + D')^3.
    """
    exact, reduced = _ends(chain, uniform, metric)
    return float((exact - uniform.last @ reduced).norm() / exact.norm())


def _ends(chain: Chain, uniform: Uniform, metric: Metric) -> tuple[Tensor, Tensor]:
    """f (K, c) and the recurrence's bond (D', c) after T words, in one orthonormal basis of functions of sentences."""
    wide, d = as_uniform(chain), chain.bond
    x = torch.cat([wide.first, uniform.first])[:, None]
    for root in roots_of(chain, metric):
        parts = [
            torch.einsum("lsr,sk,lc->rkc", each.core, root, part).flatten(1)
            for each, part in ((wide, x[:d]), (uniform, x[d:]))
        ]
        x, _ = rescaled(shrunk(torch.cat(parts)), (-2, -1))
    return wide.last @ x[:d], x[d:]


def _directions(chain: Chain, sites: list[Frame]) -> tuple[Tensor, Tensor, Tensor]:
    """Columns (D, n) and rows (n, D) of the balanced basis, dual to each other, and sigma (n,) descending."""
    before, after = early(chain, sites), late(chain, sites)
    growth = _log_growth(before, after)
    e, f = _summed(before, -growth), _summed(after, growth)
    left, sigma, right = torch.linalg.svd(e.mT @ f, full_matrices=False)
    kept = numerical_rank(sigma, BALANCED_FLOOR)
    root = sigma[:kept].sqrt()
    return e @ left[:, :kept] / root, right[:kept] @ f.mT / root[:, None], sigma


def _reduced(chain: Chain, bond: int, metric: Metric, columns: Tensor, rows: Tensor, sigma: Tensor) -> Balanced:
    schmidt = sigma / sigma.norm()
    if bond == chain.bond:
        return Balanced(as_uniform(chain), schmidt, 0.0)
    into, out = columns[:, :bond], rows[:bond]
    core = torch.einsum("ds,dl,rd->lsr", chain.inputs, chain.hidden @ into, out)
    uniform = Uniform(core, out @ chain.first, closings(chain) @ into)
    exact, reduced = _ends(chain, uniform, metric)
    # The best closing for this core. What to add, not the whole: directions that T words never reach keep theirs.
    more = torch.linalg.lstsq(reduced.mT, (exact - uniform.last @ reduced).mT, driver="gelsd").solution.mT
    uniform = replace(uniform, last=uniform.last + more)
    error = float((exact - uniform.last @ reduced).norm() / exact.norm())
    return Balanced(uniform, schmidt, error)


def _summed(roots: list[Root], log_weight: float) -> Tensor:
    """A root (D, n) of sum_m 2^(m log_weight) R_m R_m^T, up to a factor."""
    sizes = torch.tensor([exponent + m * log_weight / 2 for m, (_, exponent) in enumerate(roots)], dtype=torch.float64)
    parts = [scaled(root, less) for (root, _), less in zip(roots, sizes.max() - sizes, strict=True)]
    return shrunk(torch.cat(parts, dim=1))


def _log_growth(before: list[Root], after: list[Root]) -> float:
    """log2 of rho, by which a word more multiplies E[f^2] between T and 2 T words; 0 where 2 T words give 0.

    Both mean squares are at hand, |X_T^T Y_T|^2 and |X_T^T Y_0|^2, and no basis of the bond matters to them.
    """
    (x, _), (once, e), (twice, f) = before[-1], after[-1], after[0]
    sizes = [float((x.mT @ y).norm()) for y in (once, twice)]
    if min(sizes) == 0:
        return 0.0
    return 2 * (math.log2(sizes[1]) + f - math.log2(sizes[0]) - e) / (len(before) - 1)
