"""``Model.to_mps``: a circuit's matrix product state as a user holds it, with what can be asked of it.

Letters: T words, D = chi + 1, p = d + 1; a cut m has m words before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from psitext.explain.law import same_everywhere
from psitext.explain.mps import formats
from psitext.explain.mps.chain import Chain, in_metric, middle
from psitext.explain.mps.formats import SAFE, Sites
from psitext.explain.mps.infinite import Bulk, bulk
from psitext.explain.mps.spectrum import Engine, Spectrum, spectrum
from psitext.explain.mps.stack import Floats
from psitext.model.model import Model
from psitext.model.mps.reading import Circuit, Closing, Metric, check_metric, circuit_of


@dataclass(frozen=True, slots=True, eq=False)
class Mps:
    """T words of a circuit between h_0 and a closing vector; entropies in bits, coefficients not squared.

    In the paper's metric its site tensors read word vectors [Phi; 1], and its entanglement depends on their scale. In
    that of the data sites stand in an orthonormal basis of functions of a word, drawn from the law of the words, so
    that nothing depends on how word vectors are written. Where texts are filled from the front, places near the front
    have laws of their own.
    """

    chain: Chain  # in word vectors, whatever the metric
    closing: Closing
    says: str  # what the chain is: "the log-odds of positive against negative"
    metric: Metric
    roots: tuple[Tensor, ...] = ()  # T roots (p, k) of the data's metric; none of the paper's
    words: Tensor | None = None  # such a root of words alone, without the filler

    @property
    def length(self) -> int:
        """T."""
        return self.chain.length

    @property
    def bond(self) -> int:
        """D, the bond dimension."""
        return self.chain.bond

    @property
    def middle(self) -> int:
        """The cut that the paper takes, after ceil(T / 2) words."""
        return middle(self.length)

    @property
    def bound_bits(self) -> Tensor:
        """(T - 1,) the largest entropy that there could be at each cut, log2 min(p^m, p^(T-m), D)."""
        return self.spectrum().bound_bits

    def spectrum(self, exact: bool = False) -> Spectrum:
        """All cuts; with ``exact`` every coefficient is right to rounding of the largest, and so is the rank.

        Errors: T of 1; a state that is 0.
        """
        return self._cuts("all", "roots" if exact else "gram")

    def entropy_bits(self) -> Tensor:
        """(T - 1,) von Neumann entropy at every cut."""
        return self.spectrum().entropy_bits

    def schmidt(self, cut: int | None = None) -> Tensor:
        """(D,) Schmidt coefficients at a cut, descending, squares of sum 1; None: the middle.

        Errors: a cut outside 1..T-1.
        """
        return self._cuts((self.middle if cut is None else cut,), "roots").schmidt[0]

    def rank(self) -> Tensor:
        """(T - 1,) how many coefficients at every cut are more than rounding."""
        return self.spectrum(exact=True).rank

    def bulk(self) -> Bulk:
        """The chain without ends: its spectrum, whether it has one, and how soon ends are forgotten.

        In the data's metric it is made of words alone, since far from the front there is no filler.
        """
        return bulk(self.chain if self.words is None else in_metric(self.chain, self.words))

    def correlation_length(self) -> float:
        """In words; infinite where the ends are never forgotten, NaN where it was not found."""
        return self.bulk().correlation_length

    def sites(self) -> Sites:
        """One array a word, in this metric, ready for other libraries."""
        held = formats.sites(self._seen)
        if self._uniform:
            return held
        pairs = zip(held.arrays, self.roots, strict=True)
        return _sized([np.einsum("lpr,pk->lkr", array, root.numpy()) for array, root in pairs], held.log_scale)

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """Named arrays: ``hidden``, ``inputs``, ``first``, ``last``, ``length`` and ``site`` (l, p, r) where all places
        are equal, else ``site_0001`` ... and ``log_scale``. ``formats.from_numpy`` reads them.
        """
        return formats.to_numpy(self._seen if self._uniform else self.sites())

    def to_quimb(self) -> Any:
        """A quimb MatrixProductState. Errors: quimb is not installed."""
        return formats.to_quimb(self.sites())

    def to_tenpy(self) -> Any:
        """A TeNPy MPS in canonical form. Errors: TeNPy is not installed."""
        return formats.to_tenpy(self.sites())

    def to_tensorkrowch(self) -> Any:
        """A tensorkrowch MPS. Errors: tensorkrowch is not installed."""
        return formats.to_tensorkrowch(self.sites())

    def record(self) -> dict[str, Any]:
        """All numbers as JSON holds them; None where one is infinite or none."""
        fast, exact, limit = self.spectrum(), self.spectrum(exact=True), self.bulk()
        return {
            "length": self.length,
            "bond": self.bond,
            "closing": self.closing,
            "metric": self.metric,
            "state": self.says,
            "log_norm": number(fast.log_norm),
            "entropy_bits": fast.entropy_bits.tolist(),
            "bound_bits": fast.bound_bits.tolist(),
            "rank": exact.rank.tolist(),
            "middle": self.middle,
            "schmidt": exact.schmidt[self.middle - 1].tolist(),
            "infinite": {
                "entropy_bits": number(limit.entropy_bits),
                "schmidt": limit.schmidt.tolist(),
                "correlation_length": number(limit.correlation_length),
                "settled": limit.settled,
                "says": limit.statement,
            },
        }

    @property
    def _uniform(self) -> bool:
        """Whether all sites are equal."""
        return same_everywhere(self.roots)

    @property
    def _seen(self) -> Chain:
        """The chain in the metric, where that is one for all places; else in word vectors."""
        return in_metric(self.chain, self.roots[0]) if self.roots and self._uniform else self.chain

    def _cuts(self, bonds: Sequence[int] | Literal["all"], engine: Engine) -> Spectrum:
        return spectrum(self._seen, bonds, engine, None if self._uniform else self.roots)


def mps_of(
    model: Model,
    length: int | None = None,
    closing: Closing = "readout",
    metric: Metric = "paper",
    *,
    label: str | None = None,
    texts: Sequence[str] | None = None,
) -> Mps:
    """What ``Model.to_mps`` gives."""
    check_metric(metric)
    circuit = circuit_of(model, texts)
    return state_of(circuit, length, closing, metric, label)


def state_of(
    circuit: Circuit,
    length: int | None,
    closing: Closing = "readout",
    metric: Metric = "paper",
    label: str | None = None,
) -> Mps:
    """The state of a circuit that was read."""
    chain = circuit.chain(circuit.usual_length if length is None else length, closing, label)
    says = circuit.closing(closing, label)[1]
    if metric == "paper":
        return Mps(chain, closing, says, metric)
    return Mps(chain, closing, says, metric, tuple(circuit.roots(chain.length)), circuit.word_root)


def number(value: Tensor | float) -> float | None:
    """A finite number, or None, which JSON has."""
    found = float(value)
    return found if math.isfinite(found) else None


def _sized(arrays: list[Floats], log_scale: float) -> Sites:
    """Arrays whose contraction is to be times exp(``log_scale``), of a norm whose square a double holds."""
    held = Sites(tuple(arrays))
    log_norm = held.log_norm()
    exponent = 0 if math.isinf(log_norm) else round(log_norm / math.log(2))
    if abs(exponent) <= SAFE:
        return replace(held, log_scale=log_scale)
    until = [exponent * site // held.length for site in range(held.length + 1)]
    even = [np.ldexp(array, low - high) for array, (low, high) in zip(arrays, pairwise(until), strict=True)]
    return Sites(tuple(even), log_scale + exponent * math.log(2))
