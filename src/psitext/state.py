"""States: what a sentence becomes, and the only thing that crosses from encoders to heads.

Letters: B sentences, R rows, T tokens, D width. Every state has ``vector`` (B, D), real or complex, and answers
``len``, indexing, ``to_ket``, ``to_real`` and ``numpy``. The kinds are closed: SentenceState, Ket, Bond, Posterior.

Any of them is asked as quantum states, too: from ``amplitudes`` on, a State answers for the kets that its vectors
make, in double (docs/states.md). Of a posterior these are those of its mean, of a bond its scale makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psitext.config import MAX_INT
from psitext.errors import UserError
from psitext.nn.kets import cuts, geometry
from psitext.nn.kets.product import Product, bond_for, product
from psitext.nn.kets.qubits import Cut, qubits_for, whole, wide
from psitext.nn.numerics import MIN_NORM, as_complex, norm, unit


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """B sentences as vectors; the base of the closed set of kinds."""

    vector: Tensor  # (B, D) real or complex

    def __post_init__(self) -> None:
        if self.vector.ndim != 2:
            raise ValueError(f"a state's vector is (B, D), not {tuple(self.vector.shape)}")

    def __len__(self) -> int:
        return len(self.vector)

    def __getitem__(self, index: int | slice | Tensor | list[int]) -> Self:
        """Some of the sentences; an integer keeps an axis of one. Errors: what is no number of a sentence."""
        rows = _chosen(index, len(self))
        taken: dict[str, Any] = {f.name: _rows(getattr(self, f.name), rows) for f in fields(self)}
        return replace(self, **taken)

    @property
    def width(self) -> int:
        """D, the logical width; never padded."""
        return self.vector.shape[-1]

    def to_real(self) -> Tensor:
        """(B, D), or (B, 2 D) with imaginary parts after real ones."""
        return side_by_side(self.vector)

    def to_ket(self) -> Ket:
        """The vectors as quantum states of unit norm, of the same width."""
        return ket(self.vector)

    def numpy(self) -> npt.NDArray[Any]:
        """The vectors as a numpy array on the CPU; bfloat16, which numpy lacks, becomes float32."""
        vector = self.vector.detach().cpu()
        return np.asarray((vector.float() if vector.dtype == torch.bfloat16 else vector).numpy())

    def amplitudes(self) -> Tensor:
        """(B, D) complex128 amplitudes of unit norm; ``.numpy()`` of it, and of all below, is the array."""
        return wide(self.to_ket().vector)

    def probabilities(self) -> Tensor:
        """(B, D) Born probabilities |amplitude|^2."""
        return self.to_ket().probabilities()

    def fidelity(self, other: State) -> Tensor:
        """(B,) |<self|other>|^2 in double, sentence by sentence (one sentence is compared with all).

        Errors: other widths; numbers of sentences that are neither equal nor 1.
        """
        return geometry.fidelity(*self._beside(other))

    def fidelities(self, other: State | None = None) -> Tensor:
        """(B, B') |<self|other>|^2 of each with each; without another state, among themselves."""
        return geometry.fidelities(self.amplitudes(), (self if other is None else _state(other)).amplitudes())

    def angle(self, other: State) -> Tensor:
        """(B,) Fubini-Study distance in radians, from 0 to pi / 2, sentence by sentence. Errors: as ``fidelity``."""
        return geometry.angle(*self._beside(other))

    def angles(self, other: State | None = None) -> Tensor:
        """(B, B') Fubini-Study distances of each with each; without another state, among themselves."""
        return geometry.angles(self.amplitudes(), (self if other is None else _state(other)).amplitudes())

    def geodesic(self, other: State, t: float | list[float] | Tensor) -> Ket:
        """Kets at shares ``t`` in [0, 1] of the shortest ways to another state, at 1 up to a phase.

        One share for all pairs, or one for each; of one sentence to another, as many kets as shares. Errors: as
        ``fidelity``; another number of shares; one that is no number, or outside [0, 1].
        """
        start, end = self._beside(other)
        try:
            given = torch.as_tensor(t, dtype=torch.complex128, device=start.device)
        except (TypeError, ValueError, RuntimeError):
            raise UserError(f"t is a number from 0 to 1 or a list of such, not a {type(t).__name__}") from None
        if bool(given.imag.any()):
            raise UserError("t is a number from 0 to 1 or a list of such, and none of them is complex")
        shares = given.real
        pairs = len(end) if len(self) == 1 else len(self)
        if shares.ndim > 1 or (pairs != 1 and shares.numel() not in (1, pairs)):
            raise UserError(
                f"{pairs:,} pairs of sentences take one share for all or {pairs:,}, one for each, not an array "
                f"{tuple(shares.shape)}; of one sentence to another there may be any number"
            )
        return Ket(geometry.geodesic(start, end, shares))

    @property
    def qubits(self) -> int:
        """n: how many qubits hold the kets; where D is no power of two, with zeros up to 2^n."""
        return qubits_for(self.width)

    def schmidt(self, cut: Cut, *, pad: bool = True) -> Tensor:
        """(B, R) Schmidt coefficients, unsquared, descending, after the first ``cut`` qubits or around those named.

        Errors: a cut that there is not; a width that is no power of two, with ``pad`` False (so below, too).
        """
        return cuts.schmidt_at(self.amplitudes(), cut, pad=pad)

    def entropy_bits(self, cut: Cut | None = None, *, pad: bool = True) -> Tensor:
        """(B,) entanglement entropy at a cut, as in ``schmidt``; (B, n - 1) at every cut where none is named."""
        amplitudes = self.amplitudes()
        return cuts.entropies(amplitudes, pad=pad) if cut is None else cuts.entropy_at(amplitudes, cut, pad=pad)

    def reduced(self, qubits: Cut, *, pad: bool = True) -> Tensor:
        """(B, 2^k, 2^k) density matrices of the first so many qubits, or of those named, the others traced out."""
        return cuts.reduced(self.amplitudes(), qubits, pad=pad)

    def bloch(self, *, pad: bool = True) -> Tensor:
        """(B, n, 3) Bloch vectors of the single qubits."""
        return cuts.bloch(self.amplitudes(), pad=pad)

    def mutual_bits(self, *, pad: bool = True) -> Tensor:
        """(B, n, n) mutual information of two qubits, from 0 to 2 bits; 0 on the diagonal."""
        return cuts.mutual_bits(self.amplitudes(), pad=pad)

    def to_product(self, bond: int, *, sweeps: int = 0, pad: bool = True) -> Product:
        """Matrix-product states of at most ``bond``: tensors, fidelity, what each cut lost (nn/kets/product.py)."""
        return product(self.amplitudes(), bond, sweeps=sweeps, pad=pad)

    def at_bond(self, bond: int, *, sweeps: int = 0, pad: bool = True) -> Ket:
        """The kets of ``to_product``, of the same width: where that was padded, the part in the width, normalised."""
        return Ket(self.to_product(bond, sweeps=sweeps, pad=pad).inside()[0])

    def bond_for(self, fidelity: float = 0.99, *, pad: bool = True) -> Tensor:
        """(B,) the smallest bonds that keep this fidelity, int64."""
        return bond_for(self.amplitudes(), fidelity, pad=pad)

    def _beside(self, other: State) -> tuple[Tensor, Tensor]:
        """Amplitudes of both, to be compared sentence by sentence."""
        other = _state(other)
        if len(self) != len(other) and 1 not in (len(self), len(other)):
            raise UserError(
                f"{len(self):,} sentences and {len(other):,} are not compared one by one; take as many of both, or one"
            )
        return self.amplitudes(), other.amplitudes()


NUMBER = "the number of a sentence"
# exp() of more is infinite; one below it leaves room for the rounding of the logarithm itself.
OVERFLOW = {dtype: float(np.log(torch.finfo(dtype).max)) - 1e-3 for dtype in (torch.float32, torch.float64)}


@dataclass(frozen=True, slots=True, eq=False)
class SentenceState(State):
    """A transformer's sentence vectors, and the states of all tokens where they were kept.

    Inside training ``tokens`` is (R, T, D) in the rows of the batch; from ``Model.encode`` it is (B, L, D) with
    ``real`` (B, L) True on tokens that are not padding.
    """

    tokens: Tensor | None = None
    real: Tensor | None = None

    def __getitem__(self, index: int | slice | Tensor | list[int]) -> SentenceState:
        """Some of the sentences; token states that still lie in the rows of a batch belong to no single one and
        stay behind.
        """
        if self.tokens is not None and self.real is None:
            return SentenceState(self.vector)[index]
        return State.__getitem__(self, index)


@dataclass(frozen=True, slots=True, eq=False)
class Ket(State):
    """Pure quantum states: complex amplitudes of unit norm, index big-endian in qubits."""

    def probabilities(self) -> Tensor:
        """(B, D) Born probabilities |amplitude|^2."""
        return self.vector.abs().square()


@dataclass(frozen=True, slots=True, eq=False)
class Bond(State):
    """The bond vector of a recurrent arithmetic circuit after its last word: the state is ``vector *
    exp(log_scale)``.
    """

    log_scale: Tensor  # (B,) natural logarithm

    def to_real(self) -> Tensor:
        """The vectors with their scale; refuses where that leaves the range of the dtype."""
        vector = State.to_real(self)  # super() does not work in a dataclass with slots
        size, log_scale = vector.detach().abs().amax(-1), self.log_scale.detach()  # (B,)
        largest = torch.where(size > 1, size.log(), 0.0) + log_scale  # of the scale and of what it multiplies
        if not bool((largest < OVERFLOW[vector.dtype]).all()):
            scale = float(log_scale.max())
            raise UserError(
                f"a bond of scale exp({scale:.1f}) does not fit {vector.dtype}: in training it has diverged, and a "
                "lower train.optim.lr helps; as a ket it has no scale"
            )
        return vector * self.log_scale.exp()[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Posterior(State):
    """A Gaussian over latents: ``vector`` is its mean, ``log_var`` (B, D) the logarithm of its variances."""

    log_var: Tensor

    def sample(self, seed: int = 0) -> Tensor:
        """(B, D) one latent for every sentence, by the reparameterised draw mean + sigma * noise.

        Errors: a seed that is not a whole number from 0 on.
        """
        if not 0 <= whole(seed, "a seed") <= MAX_INT:
            raise UserError(f"a seed is a whole number from 0 to {MAX_INT}, not {seed}")
        noise = torch.randn(
            self.vector.shape, generator=torch.Generator().manual_seed(int(seed)), dtype=self.vector.dtype
        )
        return self.vector + (0.5 * self.log_var).exp() * noise.to(self.vector.device)


def side_by_side(value: Tensor) -> Tensor:
    """Imaginary parts after real ones: complex (..., D) -> real (..., 2 D); what is real stays as it is."""
    return torch.cat([value.real, value.imag], dim=-1) if value.is_complex() else value


def _state(value: Any) -> State:
    """What was given as the other state. Errors: something else."""
    if not isinstance(value, State):
        raise UserError(f"a state is compared with another one, as Model.encode gives it, not a {type(value).__name__}")
    return value


def _chosen(index: Any, count: int) -> slice | Tensor | list[int]:
    """What was given to choose of ``count`` sentences, as an index that keeps the axis. Errors: something else."""
    if isinstance(index, np.ndarray):
        index = index.tolist()
    if isinstance(index, slice):
        return index
    if isinstance(index, Tensor) and index.ndim == 1 and not (index.is_floating_point() or index.is_complex()):
        return index
    if isinstance(index, list):
        return index if all(isinstance(one, bool) for one in index) else [whole(one, NUMBER) for one in index]
    number = whole(index, NUMBER)
    if not -count <= number < count:
        raise IndexError(f"there are {count} sentences, no number {number}")
    return slice(number, number + 1 or None)


def _rows(value: Tensor | None, rows: slice | Tensor | list[int]) -> Tensor | None:
    return None if value is None else value[rows]


def ket(vector: Tensor) -> Ket:
    """Normalise (B, D) vectors to complex unit vectors, in float32 at least; a zero or non-finite vector is refused,
    since it is no state.
    """
    wide = as_complex(vector)
    size = norm(wide.detach())
    bad = ~torch.isfinite(size) | (size < MIN_NORM)
    if bool(bad.any()):
        row = int(bad.flatten().nonzero()[0])
        raise UserError(f"sentence {row} has a vector of norm {float(size[row]):g}, which no quantum state can hold")
    return Ket(unit(wide))
