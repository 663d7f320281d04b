"""One pass along many chains from either end, meeting at the cuts.

What a side of a cut is held as, Gram matrices (``gram.py``) or roots of them (``roots.py``), is a ``Way``. All arrays
are double. Letters: N chains, M cuts, D = chi + 1, p = d_I + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain, finite

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """N chains in a row, ready for passes: finite, and every weight at most 1; what is left out is 2^``exponent``.

    Where a chain is not ``good``, that is finite, all its weights are 0.
    """

    hidden: Floats  # (N, D, D)
    inputs: tuple[Floats, ...]  # (N, D, p), one for all T sites or one for each
    first: Floats  # (N, D)
    last: Floats  # (N, D)
    length: int  # T
    exponent: Floats  # (N,) integers
    good: npt.NDArray[np.bool_]  # (N,)

    def pick(self, rows: npt.NDArray[np.intp]) -> Stack:
        """Some of the chains."""
        inputs = tuple(each[rows] for each in self.inputs)
        hidden, first, last = self.hidden[rows], self.first[rows], self.last[rows]
        return Stack(hidden, inputs, first, last, self.length, self.exponent[rows], self.good[rows])

    def ranks(self, bonds: Sequence[int]) -> list[int]:
        """The most coefficients that each cut can have, min(p^m, p^(T-m), D)."""
        bond, sites = self.hidden.shape[-1], len(self.inputs)
        sizes = [self.inputs[site % sites].shape[-1] for site in range(self.length)]
        before, after = _products(sizes, bond), _products(sizes[::-1], bond)
        return [min(before[m], after[self.length - m]) for m in bonds]


class Way(Protocol):
    """How a side of a cut is held."""

    @property
    def POWER(self) -> int:
        """2 where a side holds squares, 1 where it does not."""

    def kernel(self, inputs: Floats) -> Floats:
        """What a site multiplies by."""

    def start(self, vector: Floats) -> Floats:
        """A boundary vector as a side."""

    def early(self, hidden: Floats, side: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """One site more on the side of the earlier words, rescaled; and the exponent taken out."""

    def late(self, hidden: Floats, side: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """One site more on the side of the later words, rescaled; and the exponent taken out."""

    def norm(self, before: Floats, after: Floats) -> Floats:
        """The norm of the state, from both sides of any cut."""

    def schmidt(self, before: Floats, after: Floats) -> Floats:
        """Schmidt coefficients, descending, not normalised."""


class Cuts(NamedTuple):
    """Schmidt coefficients ``schmidt`` 2^``exponents`` at M cuts, the norm ``norm`` 2^``exponent`` at another one."""

    schmidt: Floats  # (N, M, D) descending, not normalised
    exponents: Floats  # (N, M)
    norm: Floats  # (N,)
    exponent: Floats  # (N,)


def sweep(stack: Stack, bonds: Sequence[int], way: Way) -> Cuts:
    """Coefficients at ``bonds``, ascending in 1..T-1, and the norm at the cut after the last one.

    Keeps one side of each of these cuts in memory: up to N D^2 numbers a cut.
    """
    wanted = {*bonds, bonds[-1] + 1}
    factors = [way.kernel(inputs) for inputs in stack.inputs]
    side, exponent = way.start(stack.first), np.zeros_like(stack.exponent)
    sides = {}
    for cut in range(1, bonds[-1] + 2):
        side, step = way.early(stack.hidden, side, factors[(cut - 1) % len(factors)])
        exponent = exponent + step
        if cut in wanted:
            sides[cut] = side, exponent
    side, exponent = way.start(stack.last), np.zeros_like(stack.exponent)
    found, exponents, norm = [], [], np.zeros_like(stack.exponent)
    for cut in range(stack.length, bonds[0] - 1, -1):
        if cut < stack.length:
            side, step = way.late(stack.hidden, side, factors[cut % len(factors)])
            exponent = exponent + step
        if cut in wanted:
            before, of_before = sides.pop(cut)
            exponents.append((of_before + exponent) / way.POWER)
            if cut > bonds[-1]:
                norm = way.norm(before, side)
            else:
                found.append(way.schmidt(before, side))
    whole, *rest = exponents
    return Cuts(np.stack(found[::-1], 1), np.stack(rest[::-1], 1), norm, whole)


def stacked(chain: Chain, metrics: Sequence[Tensor] | None = None) -> Stack:
    """A chain's restarts in a row, each position seen through its own metric's root (..., p, k) if there are any.

    Errors: another number of metrics than words; not one closing vector for every restart.
    """
    if chain.last.shape != chain.first.shape:
        raise UserError(f"a state has one closing vector; this chain's are of shape {tuple(chain.last.shape)}")
    if metrics is not None and len(metrics) != chain.length:
        raise UserError(f"a chain of {chain.length} words needs as many metrics, not {len(metrics)}")
    sites = [chain.inputs] if metrics is None else [chain.inputs @ root.double() for root in metrics]
    good = finite(chain).flatten()
    for site in sites:
        good = good & site.isfinite().all(-1).all(-1).flatten()
    rows = good.numpy(force=True)
    hidden, of_hidden = _small(chain.hidden, 2, rows)
    first, of_first = _small(chain.first, 1, rows)
    last, of_last = _small(chain.last, 1, rows)
    inputs, of_inputs = zip(*(_small(site, 2, rows) for site in sites), strict=True)
    exponent = chain.length * of_hidden + chain.length // len(sites) * sum(of_inputs) + of_first + of_last
    return Stack(hidden, inputs, first, last, chain.length, exponent, rows)


def _small(value: Tensor, axes: int, good: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(N, *axes) over the power of two above the largest of each row, 0 where a row is not good; and (N,) exponents."""
    flat: Any = value.double().numpy(force=True).reshape(len(good), *value.shape[value.dim() - axes :])
    column = (-1, *[1] * axes)
    safe = np.where(good.reshape(column), flat, 0.0)
    exponent = np.frexp(np.abs(safe).reshape(len(good), -1).max(1))[1]
    return np.ldexp(safe, -exponent.reshape(column)), exponent.astype(np.float64)


def _products(sizes: Sequence[int], most: int) -> list[int]:
    """The products of the first 0, 1, 2 ... sizes, but ``most`` from where one is more."""
    return list(accumulate(sizes, lambda found, size: min(found * size, most), initial=1))
