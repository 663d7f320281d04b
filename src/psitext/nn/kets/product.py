"""Kets as matrix-product states of a bond dimension, left-canonical, and how good that is.

    ket[s_1 ... s_n] ~ A_1[s_1] A_2[s_2] ... A_n[s_n],     sum_s A_i[s]^H A_i[s] = 1 for i < n

Singular values at the cuts, from the first qubit on, are cut off after the ``bond`` largest (Vidal 2003; Schollwoeck
2011, section 4.5). Each step is a projection inside the one before, so what the cuts discard adds up: the fidelity is
1 - sum of the discarded weights, exactly, and no less than 1 - sum over cuts of what the ket's own spectra have beyond
the bond. One cut alone bounds what any state of that bond reaches, 1 - max over cuts, so this is nearly the best one;
``sweeps`` of variational steps, each the best tensor given all the others, go on from it and never lose.

Letters: B kets, n qubits, l and r the bonds of a site.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.nn.kets.cuts import spectra
from psitext.nn.kets.qubits import padded, qubits_for, whole, wide
from psitext.nn.numerics import FIDELITY_ROUNDING


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """B matrix-product states of unit norm; the first n - 1 tensors are isometries from (l, qubit) to r."""

    width: int  # D of the kets before they were padded
    tensors: tuple[Tensor, ...]  # n of (B, l, 2, r) complex128; the first l and the last r are 1
    fidelity: Tensor  # (B,) float64, |<ket|product>|^2: the kept weight
    discarded: Tensor  # (B, n - 1) float64, the weights that the cuts lost before any sweeps

    @property
    def qubits(self) -> int:
        """n."""
        return len(self.tensors)

    @property
    def bond(self) -> int:
        """The largest bond."""
        return max(tensor.shape[-1] for tensor in self.tensors)

    @property
    def padded(self) -> bool:
        """Whether the kets were padded with zeros to a power of two."""
        return self.width < 1 << self.qubits

    def vectors(self) -> Tensor:
        """The amplitudes on all qubits; (B, 2^n) complex128."""
        found = self.tensors[0].flatten(1, 2)  # (B, 2^i, r)
        for tensor in self.tensors[1:]:
            found = torch.einsum("bsl,blqr->bsqr", found, tensor).flatten(1, 2)
        return found.squeeze(-1)

    def inside(self) -> tuple[Tensor, Tensor]:
        """The D logical amplitudes at norm 1, as a measurement that drops readings of the padding has them, and the
        weight that is there, which approximation may bring below 1; (B, D) complex128, (B,).
        """
        found = self.vectors()[:, : self.width]
        return wide(found), found.abs().square().sum(-1)

    def numpy(self) -> list[npt.NDArray[Any]]:
        """The tensors as arrays, (B, l, 2, r) complex128."""
        return [np.asarray(tensor.detach().cpu().numpy()) for tensor in self.tensors]


def product(vector: Tensor, bond: int, *, sweeps: int = 0, pad: bool = True) -> Product:
    """Kets (B, D) as matrix-product states of at most ``bond``; exact from bond 2^(n // 2) on.

    Errors: a bond below 1, fewer than 0 sweeps, numbers that are not whole; as ``padded``.
    """
    bond, sweeps = whole(bond, "a bond"), whole(sweeps, "a number of sweeps")
    if bond < 1 or sweeps < 0:
        raise UserError(
            f"a bond of {bond} holds nothing; 1 is a product state"
            if bond < 1
            else f"variational sweeps are counted from 0, not {sweeps}"
        )
    spread = padded(vector, pad=pad)
    tensors, discarded = _truncated(spread, bond)
    last = tensors[-1]
    kept = last.abs().square().sum((1, 2, 3))
    tensors[-1] = last / kept.sqrt()[:, None, None, None]
    for _ in range(sweeps if len(spread) else 0):
        tensors, kept = _swept(spread, tensors)
    return Product(vector.shape[-1], tuple(tensors), kept.clamp_max(1.0), discarded)


def bond_for(vector: Tensor, wanted: float = 0.99, *, pad: bool = True) -> Tensor:
    """The smallest bond whose ``product`` keeps a fidelity of ``wanted``; (B, D) -> int64 (B,).

    Errors: a fidelity outside (0, 1]; as ``padded``.
    """
    given: Any = wanted
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 < float(given) <= 1:
        raise UserError(f"a fidelity to keep is a number above 0 and at most 1, not {given!r}")
    full = 1 << (qubits_for(vector.shape[-1]) // 2)
    found = torch.full(vector.shape[:-1], full, dtype=torch.int64, device=vector.device)
    if full == 1:
        return found
    weights = spectra(vector, pad=pad).square()  # (B, n - 1, R)
    beyond = 1 - weights.cumsum(-1).amin(-2)  # (B, R): of the worst cut, what each bond loses at least
    open_ = torch.ones_like(found, dtype=torch.bool)
    for bond in range(1, full):
        rows = open_ & (beyond[:, bond - 1] <= 1 - wanted + FIDELITY_ROUNDING)
        if bool(rows.any()):
            place = rows.nonzero()[:, 0]
            enough = place[product(vector[place], bond).fidelity >= wanted - FIDELITY_ROUNDING]
            found[enough], open_[enough] = bond, False
    return found


def _truncated(spread: Tensor, bond: int) -> tuple[list[Tensor], Tensor]:
    """Tensors from the left, the last of them with what is left of the norm, and (B, n - 1) discarded weights."""
    count, qubits = len(spread), qubits_for(spread.shape[-1])
    rest, tensors, lost = spread[:, None, :], [], []
    for _ in range(qubits - 1):
        left, values, right = torch.linalg.svd(
            rest.reshape(count, 2 * rest.shape[1], rest.shape[2] // 2), full_matrices=False
        )
        tensors.append(left[..., :bond].unflatten(1, (rest.shape[1], 2)))
        lost.append(values[:, bond:].square().sum(-1))
        rest = values[:, :bond, None] * right[:, :bond]
    tensors.append(rest.reshape(count, rest.shape[1], 2, 1))
    return tensors, torch.stack(lost, 1) if lost else spread.real.new_zeros(count, 0)


def _swept(spread: Tensor, tensors: list[Tensor]) -> tuple[list[Tensor], Tensor]:
    """One pass to the first site and back, each tensor in turn the best one; and the fidelities (B,) then."""
    count, found = len(spread), list(tensors)
    lefts = [spread[:, None, :]]  # the ket with the sites before i taken out: (B, l, 2^(n - i))
    for tensor in found[:-1]:
        lefts.append(_past(tensor, lefts[-1]))
    right = spread.new_ones(count, 1, 1)  # the sites after i as vectors: (B, r, 2^(n - i - 1))
    for site in range(len(found) - 1, 0, -1):
        best = lefts[site].reshape(count, -1, right.shape[-1]) @ right.mH  # (B, 2 l, r)
        rows = best.reshape(count, -1, 2 * right.shape[1])  # (B, l, 2 r)
        kept = torch.linalg.qr(rows.mH)[0].mH
        found[site] = kept.unflatten(2, (2, -1))
        right = torch.einsum("blqr,brs->blqs", found[site], right).flatten(2)
        lefts.pop()
    left = lefts[0]
    for site in range(len(found) - 1):
        after = _basis(found[site + 1 :])
        best = left.reshape(count, 2 * left.shape[1], -1) @ after.mH
        found[site] = torch.linalg.qr(best)[0].unflatten(1, (-1, 2))
        left = _past(found[site], left)
    kept = left.abs().square().sum((1, 2))
    found[-1] = left.reshape(count, -1, 2, 1) / kept.sqrt()[:, None, None, None]
    return found, kept


def _past(tensor: Tensor, left: Tensor) -> Tensor:
    """One site more taken out of the ket; (B, l, 2, r), (B, l, 2 s) -> (B, r, s)."""
    return tensor.flatten(1, 2).mH @ left.reshape(len(left), 2 * left.shape[1], -1)


def _basis(tensors: list[Tensor]) -> Tensor:
    """The states that the last sites stand for, by their left bond; (B, l, 2^k)."""
    found = tensors[-1].flatten(2)
    for tensor in reversed(tensors[:-1]):
        found = torch.einsum("blqr,brs->blqs", tensor, found).flatten(2)
    return found
