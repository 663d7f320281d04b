"""Entanglement of kets at cuts between their qubits, in bits, and what single qubits and pairs know.

    ket = sum_i lambda_i |a_i>|b_i>,     S = -sum lambda_i^2 log2 lambda_i^2

with the named qubits on the side of a and all the others on that of b (Nielsen and Chuang 2010, section 2.5). S is
the same for either side, from 0 (a product) to the number of qubits of the smaller side; changing the basis of single
qubits does not change it, another order of the amplitudes does. Letters: n qubits, R = 2^(n // 2).
"""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor

from psitext.nn.kets.qubits import Cut, first_part, padded, qubits_for, split
from psitext.nn.schmidt import entropy_bits, schmidt


def schmidt_at(vector: Tensor, cut: Cut, *, pad: bool = True) -> Tensor:
    """lambda at one cut, after the first ``cut`` qubits or around k named ones; (..., D) -> float64 (..., R).

    R = 2^min(k, n - k); not squared, descending, squares sum to 1. Errors: a cut that there is not; as ``padded``.
    """
    spread = padded(vector, pad=pad)
    part = first_part(cut, qubits_for(vector.shape[-1]))
    return schmidt(split(spread, part).flatten(-2), 1 << len(part))


def entropy_at(vector: Tensor, cut: Cut, *, pad: bool = True) -> Tensor:
    """S in bits at one cut; (..., D) -> float64 (...). Errors: as ``schmidt_at``."""
    return entropy_bits(schmidt_at(vector, cut, pad=pad))


def spectra(vector: Tensor, *, pad: bool = True) -> Tensor:
    """lambda at every cut, after 1 to n - 1 qubits, filled up with 0; (..., D) -> float64 (..., n - 1, R)."""
    spread = padded(vector, pad=pad)
    qubits = qubits_for(vector.shape[-1])
    first_part(1, qubits)  # there is a cut
    most = 1 << (qubits // 2)
    each = [schmidt(spread, 1 << cut) for cut in range(1, qubits)]
    return torch.stack([torch.nn.functional.pad(one, (0, most - one.shape[-1])) for one in each], dim=-2)


def entropies(vector: Tensor, *, pad: bool = True) -> Tensor:
    """S in bits at every cut, after 1 to n - 1 qubits; (..., D) -> float64 (..., n - 1)."""
    return entropy_bits(spectra(vector, pad=pad))


def reduced(vector: Tensor, qubits: Cut, *, pad: bool = True) -> Tensor:
    """Density matrices of some qubits, the others traced out; (..., D) -> complex128 (..., 2^k, 2^k).

    The index of a row is big-endian in the qubits as they are named. Errors: as ``schmidt_at``.
    """
    matrix = split(padded(vector, pad=pad), first_part(qubits, qubits_for(vector.shape[-1])))
    return matrix @ matrix.mH


def bloch(vector: Tensor, *, pad: bool = True) -> Tensor:
    """Bloch vectors (x, y, z) of every qubit; (..., D) -> float64 (..., n, 3).

    Their lengths are 1 for a qubit that is entangled with no other, 0 for one that is as much as can be.
    """
    spread = padded(vector, pad=pad)
    found = []
    for qubit in range(qubits_for(vector.shape[-1])):
        zero, one = split(spread, [qubit]).unbind(-2)
        both = 2 * (zero.conj() * one).sum(-1)  # x + iy
        found.append(torch.stack([both.real, both.imag, (zero.abs().square() - one.abs().square()).sum(-1)], dim=-1))
    return torch.stack(found, dim=-2)


def mutual_bits(vector: Tensor, *, pad: bool = True) -> Tensor:
    """Mutual information of two qubits, S_i + S_j - S_ij in bits, from 0 to 2; (..., D) -> float64 (..., n, n).

    The diagonal is 0. A pair of a Bell state has 2 bits, two of a GHZ state of more qubits 1.
    """
    spread, qubits = padded(vector, pad=pad), qubits_for(vector.shape[-1])
    single = [entropy_at(spread, [qubit]) for qubit in range(qubits)] if qubits > 1 else []
    found = spread.real.new_zeros(*spread.shape[:-1], qubits, qubits)
    for i, j in combinations(range(qubits), 2):
        together = entropy_at(spread, [i, j]) if qubits > 2 else 0.0
        found[..., i, j] = found[..., j, i] = (single[i] + single[j] - together).clamp_min(0.0)
    return found
