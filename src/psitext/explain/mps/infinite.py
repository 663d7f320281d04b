"""The infinite chain: the spectrum far from both ends, and how fast correlations decay.

The transfer map X -> sum_s A^s X A^{sT} = (W~_H X W~_H^T) o K takes D x D matrices to such; it is completely positive,
so its spectral radius is one of its eigenvalues, e1, with a positive semidefinite eigenvector. Where e1 stands alone at
that modulus, both sides of a cut tend to fixed points and the ends are forgotten like |e2 / e1|^m: then the choice of
boundary vectors, which the paper leaves to the user, does not matter in the limit, if they reach e1 at all (an exact
zero can hide it, as h_0 = 0 does without biases). The correlation length here counts all modes of the map, also those
that only the ends excite: inside the bulk correlations may be shorter, none where the constant 1 outweighs h.
Letters: D = chi + 1.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from psitext.explain.mps.chain import Chain
from psitext.explain.mps.gram import kernel
from psitext.explain.mps.spectrum import Engine, spectrum
from psitext.explain.mps.stack import Floats, stacked
from psitext.nn.numerics import DEGENERATE, SETTLED
from psitext.nn.schmidt import entropy
from psitext.randomness import generator

SHORTEST, LONGEST = 128, 2**14  # words of the finite chains whose middle is looked at, each twice the one before
FORGOTTEN = 72  # correlation lengths after which the middle has forgotten both ends: exp(-36) is below epsilon
DENSE = 8  # up to this D all eigenvalues of the transfer map are found, beyond it the leading ones
LEADING = 6  # which are so many
UNSETTLED = "; at {} words the spectrum had not settled"


@dataclass(frozen=True, slots=True, eq=False)
class Bulk:
    """The middle of a chain as T goes to infinity; ``statement`` says in words whether there is such a limit."""

    schmidt: Tensor  # (D,) lambda, not squared, descending, of the longest chain looked at
    words: int  # T of that chain
    settled: bool  # its spectrum is that of a chain half as long
    growth: float  # natural logarithm of the factor that one word more puts on the state's norm
    eigenvalues: tuple[complex, ...]  # leading ones of the transfer map over the largest, by modulus: 1, e2 / e1, ...
    correlation_length: float  # -1 / ln|e2 / e1| in words; infinite where e1 is not alone, NaN where e2 was not found
    reached: bool  # the boundary vectors reach e1: the norm grows by sqrt(e1) a word
    statement: str

    @property
    def entropy_bits(self) -> Tensor:
        """() von Neumann entropy of the bulk."""
        return entropy(self.schmidt)


def bulk(chain: Chain, engine: Engine = "gram") -> Bulk:
    """The infinite-chain limit of one chain between its boundary vectors.

    The spectrum is that of the middle cut of chains of 128, 256, ... words, until it stays the same and the ends are
    forgotten. Errors: those of ``spectrum``; more than one chain.
    """
    if chain.restarts:
        raise ValueError("the bulk is looked at one chain at a time: give chain[i]")
    words, settled, growth = SHORTEST, False, math.nan
    now = spectrum(replace(chain, length=words), "mid", engine)
    leading, log_radius = transfer_spectrum(chain)
    length = correlation_length(leading)
    enough = FORGOTTEN * length if math.isfinite(length) else SHORTEST
    while words < LONGEST and not (settled and words >= enough):
        before, words = now, 2 * words
        now = spectrum(replace(chain, length=words), "mid", engine)
        settled = bool((now.schmidt.square() - before.schmidt.square()).abs().max() < SETTLED)
        growth = float(now.log_norm - before.log_norm) / (words // 2)
    reached = abs(2 * growth - log_radius) < DEGENERATE
    says = _statement(leading, length, reached) + ("" if settled else UNSETTLED.format(words))
    return Bulk(now.schmidt[0], words, settled, growth, leading, length, reached, says)


def transfer_spectrum(chain: Chain) -> tuple[tuple[complex, ...], float]:
    """The leading eigenvalues of one chain's transfer map over the largest, e1, and ln e1.

    By modulus, the 1 first. Found by Arnoldi iteration on D x D matrices (densely, and all of them, for D <= 8). There
    are none where the iteration does not converge.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    single = stacked(replace(chain, length=1))
    per_word = 2 * (stacked(replace(chain, length=2)).exponent - single.exponent).item()  # what the weights leave out
    hidden, factor = single.hidden[0], kernel(single.inputs[0])[0]

    def transfer(matrix: Floats) -> Floats:
        return np.asarray((hidden @ matrix.reshape(factor.shape) @ hidden.T) * factor).reshape(matrix.shape)

    if len(factor) <= DENSE:
        found = np.linalg.eigvals(np.kron(hidden, hidden) * factor.reshape(-1, 1))
    else:
        operator = LinearOperator((factor.size, factor.size), matvec=transfer, dtype=np.float64)
        start = generator(0, "arnoldi").random(factor.size)  # a symmetric one would stay so, and miss what is not
        try:
            found = eigs(operator, LEADING, v0=start, ncv=8 * LEADING, return_eigenvectors=False)
        except ArpackError as error:
            found = getattr(error, "eigenvalues", np.zeros(0))  # what had converged, if anything
    radius = float(np.abs(found).max(initial=0.0))
    if radius == 0:
        return (), math.nan
    ordered = sorted((found / radius).astype(complex).tolist(), key=abs, reverse=True)
    first = min((value for value in ordered if abs(value) > 1 - DEGENERATE), key=lambda value: abs(value - 1))
    ordered.remove(first)
    return (first, *ordered), math.log(radius) + per_word * math.log(2)


def correlation_length(eigenvalues: tuple[complex, ...]) -> float:
    """-1 / ln|e2 / e1| in words, of a transfer map's eigenvalues over e1; 0 where e2 is 0, NaN without an e2."""
    ratio = abs(eigenvalues[1]) if len(eigenvalues) > 1 else math.nan
    if ratio == 0:
        return 0.0
    return math.inf if ratio > 1 - DEGENERATE else -1 / math.log(ratio)


def _statement(eigenvalues: tuple[complex, ...], length: float, reached: bool) -> str:
    if math.isnan(length):
        return "the second eigenvalue of the transfer map was not found, so the correlation length is unknown"
    turning = max((abs(cmath.phase(value)) for value in eigenvalues[1:] if abs(value) > 1 - DEGENERATE), default=0.0)
    if turning > DEGENERATE:
        return (
            f"another eigenvalue is as large as the first, turned by {turning:.4g} a word: the ends are not forgotten"
        )
    if math.isinf(length):
        return "the largest eigenvalue of the transfer map is not alone: the ends are not forgotten"
    if not reached:
        return (
            "the boundary vectors do not reach the transfer map's largest eigenvalue: other closings have other limits"
        )
    angle = abs(cmath.phase(eigenvalues[1])) if length else 0.0
    how = f", turning by {angle:.4g} a word" if angle > DEGENERATE else ""
    return f"both ends are forgotten within some {length:.3g} words{how}: the closing does not matter in the limit"
