"""Entanglement of a chain at its cuts: Schmidt spectrum, entropies, norm, rank and the bound of the entropy.

Source: NJP 24 053032, eqs. 14, 15 and 22. Cut m lies between words m and m + 1. Two engines find the same: ``gram`` is
fast and right for entropies; ``roots`` has small coefficients and ranks exactly. Letters: D = chi + 1, p = d_I + 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps import gram, roots
from psitext.explain.mps.chain import Chain, middle
from psitext.explain.mps.stack import Floats, Stack, Way, stacked, sweep
from psitext.nn.numerics import GRAM_DRIFT, ROOT_DRIFT
from psitext.nn.schmidt import entropy

Engine = Literal["gram", "roots"]
WAYS: dict[Engine, Way] = {"gram": gram, "roots": roots}
WEIGHTS = {"hidden": "W_H or b_H", "inputs": "W_I or b_I", "first": "the first boundary", "last": "the closing vector"}


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """What a chain's M cuts are like, for all its restarts (...); NaN, and rank 0, of restarts that have no state.

    Those are the ones with weights that are not finite, and states of norm 0.
    """

    bonds: tuple[int, ...]  # (M,) words before each cut
    schmidt: Tensor  # (..., M, D) lambda, not squared, descending, squares sum to 1, padded by 0
    log_norm: Tensor  # (...) natural logarithm of the state's norm
    rank: Tensor  # (..., M) coefficients above rounding: D epsilon of roots, sqrt(D epsilon) of gram
    bound_bits: Tensor  # (M,) the largest entropy there could be, log2 min(p^m, p^(T-m), D)
    drift: (
        Tensor  # (...) how far the norms at the cuts depart from the whole state's, relative; rounding if all is well
    )

    @property
    def entropy_bits(self) -> Tensor:
        """(..., M) von Neumann entropy -sum lambda^2 log2 lambda^2."""
        return self.entropy()

    @property
    def diverged(self) -> int:
        """How many restarts have no state."""
        return int(self.log_norm.isnan().sum())

    def entropy(self, base: float = 2.0, order: float = 1.0) -> Tensor:
        """(..., M) Renyi entropy of that order (1 is von Neumann's), in units of log ``base``."""
        return entropy(self.schmidt, base, order)


def spectrum(
    chain: Chain,
    bonds: Sequence[int] | Literal["all", "mid"] = "all",
    engine: Engine = "gram",
    metrics: Sequence[Tensor] | None = None,
) -> Spectrum:
    """The spectrum of a chain at ``bonds``, of all its restarts at once, in double; one pass from either end.

    ``mid`` is the cut after ceil(T / 2) words. ``metrics`` (T roots (..., p, k)) sees every position through its own
    law of words, where pads make those differ; one law for all is ``in_metric``. The norm is the same at every cut:
    where ``gram`` loses it to cancellation, ``roots`` takes over. Restarts that diverged give NaN.

    Errors: T of 1; bonds outside 1..T-1; a single chain whose weights are not finite, or whose norm is 0 or rounding.
    """
    at = _bonds(chain.length, bonds)
    stack = stacked(chain, metrics)
    if not chain.restarts and not stack.good.all():
        broken = [says for name, says in WEIGHTS.items() if not bool(getattr(chain, name).isfinite().all())]
        what = " and ".join(broken) or "a metric"
        raise UserError(f"{what} of this chain: not every value is finite, so there is no state to look at")
    found = _trusted(stack, at, engine)
    settled = stack.good & (found.drift < ROOT_DRIFT)  # NaN is not
    if not chain.restarts and not settled.all():
        raise UserError("the norm of this chain's state is 0, or lost in rounding; is its closing vector 0?")
    lost = ~settled
    found.schmidt[lost], found.log_norm[lost], found.drift[lost], found.rank[lost] = np.nan, np.nan, np.nan, 0
    shape = chain.restarts
    return Spectrum(
        bonds=at,
        schmidt=torch.from_numpy(found.schmidt).reshape(*shape, len(at), chain.bond),
        log_norm=torch.from_numpy(found.log_norm).reshape(shape),
        rank=torch.from_numpy(found.rank).reshape(*shape, len(at)),
        bound_bits=torch.tensor(stack.ranks(at), dtype=torch.float64).log2(),
        drift=torch.from_numpy(found.drift).reshape(shape),
    )


class _Found(NamedTuple):
    """Of N chains: normalised coefficients, norms, ranks at M cuts, and how far the norms depart from each other."""

    schmidt: Floats  # (N, M, D)
    log_norm: Floats  # (N,)
    rank: npt.NDArray[np.int64]  # (N, M)
    drift: Floats  # (N,)


def _trusted(stack: Stack, bonds: tuple[int, ...], engine: Engine) -> _Found:
    """What the engine finds, with the chains whose norm Gram matrices lost done again by ``roots``."""
    found = _normalised(stack, bonds, engine)
    again = np.flatnonzero(found.drift >= GRAM_DRIFT)  # not NaN: those have no norm at all
    if engine == "gram" and len(again):
        better = _normalised(stack.pick(again), bonds, "roots")
        for old, new in zip(found, better, strict=True):
            old[again] = new
    return found


def _normalised(stack: Stack, bonds: tuple[int, ...], engine: Engine) -> _Found:
    cuts = sweep(stack, bonds, WAYS[engine])
    possible = np.arange(cuts.schmidt.shape[-1]) < np.array(stack.ranks(bonds))[:, None]  # (M, D)
    raw = np.where(possible, cuts.schmidt, 0)  # beyond is rounding of gram
    norms = np.linalg.norm(raw, axis=-1)  # (N, M)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a state of norm 0 has NaN for a spectrum
        schmidt = np.minimum(raw / norms[..., None], 1)
        shifts = np.exp2(cuts.exponents - cuts.exponent[:, None])
        drift = np.abs(norms / cuts.norm[:, None] * shifts - 1).max(-1)
        some = len(bonds) // 2  # any cut would do
        log_norm = np.log(norms[:, some]) + (cuts.exponents[:, some] + stack.exponent) * math.log(2)
    rounding = schmidt.shape[-1] * np.finfo(np.float64).eps
    rank = (schmidt > (rounding if engine == "roots" else math.sqrt(rounding))).sum(-1)
    return _Found(schmidt, log_norm, rank, drift)


def _bonds(length: int, bonds: Sequence[int] | Literal["all", "mid"]) -> tuple[int, ...]:
    """The cuts in ascending order, each once."""
    if length < 2:
        raise UserError("a chain of one word has no bond to cut; entanglement needs T of 2 or more")
    if bonds == "all":
        return tuple(range(1, length))
    if bonds == "mid":
        return (middle(length),)
    wrong = [bond for bond in bonds if not 1 <= bond < length]
    if wrong or not bonds:
        raise UserError(
            f"bonds of a chain of {length} words are 1 to {length - 1}, not {wrong[0] if wrong else 'none'}"
        )
    return tuple(sorted(set(bonds)))
