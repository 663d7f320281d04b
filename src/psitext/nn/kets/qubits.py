"""A vector's amplitudes on qubits: how many it takes, and the padding with zeros up to a power of two.

Big-endian: qubit 0 is the most significant bit of an amplitude's index. Letters: n qubits, D width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.nn.numerics import unit

Cut = int | Sequence[int]  # the first so many qubits, or qubits by their numbers


def whole(value: Any, what: str) -> int:
    """A whole number that a user gave, ``what`` says for what. Errors: anything else, truth values too."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)
    except (TypeError, ValueError):
        short = isinstance(value, bool | float | str) or value is None
        raise UserError(f"{what} is a whole number, not {repr(value) if short else _kind(value)}") from None


def qubits_for(width: int) -> int:
    """n: how many qubits hold ``width`` amplitudes; one at least."""
    return max(1, (width - 1).bit_length())


def check_width(width: int, *, pad: bool) -> None:
    """Refuse a width that is no power of two where padding is not allowed."""
    size = 1 << qubits_for(width)
    if size != width and not pad:
        raise UserError(
            f"a width of {width} is no power of two, so its kets fit no qubits; allow padding with zeros to {size}"
        )


def wide(vector: Tensor) -> Tensor:
    """Unit vectors in double; real or complex (..., D) -> complex128 (..., D)."""
    return unit(vector.to(torch.complex128))


def padded(vector: Tensor, *, pad: bool = True) -> Tensor:
    """Unit vectors in double on qubits, with zeros after the D logical amplitudes; (..., D) -> complex128 (..., 2^n).

    Errors: a width that is no power of two, where ``pad`` is False.
    """
    width = vector.shape[-1]
    check_width(width, pad=pad)
    return torch.nn.functional.pad(wide(vector), (0, (1 << qubits_for(width)) - width))


def first_part(cut: Cut, qubits: int) -> list[int]:
    """The qubits on one side of a cut. Errors: a side without a qubit; one that is not there or named twice; numbers
    that are not whole.
    """
    if qubits < 2:
        raise UserError("a ket of one qubit cannot be cut")
    given: Any = cut
    if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        after = whole(given, "a cut")
        if not 1 <= after < qubits:
            raise UserError(f"a ket of {qubits} qubits is cut after 1 to {qubits - 1} of them, not after {after}")
        return list(range(after))
    part = [whole(qubit, "a qubit") for qubit in given]
    if len(set(part)) != len(part) or any(not 0 <= qubit < qubits for qubit in part):
        raise UserError(f"the qubits of this ket are 0 to {qubits - 1}, each named once; not {_listed(part)}")
    if not 0 < len(part) < qubits:
        raise UserError(f"a cut leaves some of the {qubits} qubits on either side; {len(part)} were named")
    return part


def split(spread: Tensor, part: Sequence[int]) -> Tensor:
    """The index as a matrix's: ``part`` of the qubits, in that order, are rows; (..., 2^n) -> (..., 2^k, 2^(n-k))."""
    qubits, lead = qubits_for(spread.shape[-1]), spread.dim() - 1
    rest = [qubit for qubit in range(qubits) if qubit not in part]
    axes = spread.unflatten(-1, [2] * qubits)
    turned = axes.permute(*range(lead), *(lead + qubit for qubit in (*part, *rest)))
    matrix: Tensor = turned.reshape(*spread.shape[:-1], 1 << len(part), 1 << len(rest))
    return matrix


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__name__}"


def _listed(part: Sequence[int]) -> str:
    return ", ".join(map(str, part))
