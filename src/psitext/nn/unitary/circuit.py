"""A hardware-efficient circuit: layers of single-qubit rotations with entanglers between them, simulated natively.

On a ket of n qubits every layer turns each qubit by RZ and then RY, of an angle each. Between two layers stand CZ or
CX gates along a chain (0, 1), (1, 2), ... or a ring, which adds (n - 1, 0). After the last layer there are none: a CZ
cannot change what is measured, and a CX only renames outcomes. RZ comes first for the same reason. Every gate can so
be run on a machine of today, and each matters.

Big-endian: qubit 0 is the most significant bit of an amplitude's index. RY(t) = exp(-i t Y / 2), RZ(t) = exp(-i t Z/2).
Letters: B kets, n qubits, L layers.

Source: the layout of Kandala et al. 2017; barren plateaus: McClean et al. 2018.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.errors import UserError
from psitext.nn.kets.qubits import qubits_for
from psitext.nn.unitary.born import probabilities
from psitext.randomness import generator

Entangler = Literal["cz-ring", "cz-chain", "cx-ring", "cx-chain"]
Gate = tuple[str, tuple[int, ...], float | None]  # ("ry", (0,), 0.3) or ("cx", (control, target), None)

TOGETHER = 5  # qubits whose rotations act as one matrix: at 2^5 the product is cheaper than its parts
CHUNK = 1 << 18  # amplitudes at once in a report on gradients: 4 MB
DENSE_QUBITS = 12  # U takes 16 * 4^n bytes: 0.27 GB here, four times as much with every further qubit


def pairs(qubits: int, entangler: Entangler) -> list[tuple[int, int]]:
    """Control and target of the two-qubit gates between two layers, in order; two qubits have no ring, only a chain."""
    chain = [(qubit, qubit + 1) for qubit in range(qubits - 1)]
    return [*chain, (qubits - 1, 0)] if entangler.endswith("ring") and qubits > 2 else chain


def gates(angles: Tensor, entangler: Entangler) -> tuple[Gate, ...]:
    """The circuit of (L, n, 2) angles as plain data, in the order of time: name, qubits, angle in radians or None."""
    found: list[Gate] = []
    for number, layer in enumerate(angles.tolist()):
        if number:
            found += [(entangler[:2], pair, None) for pair in pairs(len(layer), entangler)]
        for qubit, (about_y, about_z) in enumerate(layer):
            found += [("rz", (qubit,), about_z), ("ry", (qubit,), about_y)]
    return tuple(found)


def run(ket: Tensor, angles: Tensor, entangler: Entangler) -> Tensor:
    """The circuit on kets; complex (B, 2^n), angles (L, n, 2), [..., 0] of RY and [..., 1] of RZ -> (B, 2^n)."""
    for number, layer in enumerate(angles.unbind()):
        if number:
            ket = _entangled(ket, len(layer), entangler)
        ket = _turned(ket, rotations(layer))
    return ket


def rotations(layer: Tensor) -> Tensor:
    """RY(a) RZ(b) of every qubit; real (n, 2) -> complex (n, 2, 2)."""
    half_y, half_z = (layer / 2).unbind(-1)
    cos, sin = half_y.cos(), half_y.sin()
    forth = torch.complex(half_z.cos(), -half_z.sin())  # exp(-i b / 2); its conjugate is the other entry of RZ
    rows = torch.stack([cos * forth, -sin * forth.conj(), sin * forth, cos * forth.conj()], dim=-1)
    return rows.reshape(-1, 2, 2)


def _turned(ket: Tensor, turns: Tensor) -> Tensor:
    """One matrix for each run of qubits, from the last run to the first.

    Each acts on the last axis, which then goes to the front: after all of them the axes stand as they stood.
    """
    for some in reversed(turns.split(TOGETHER)):
        matrix = reduce(torch.kron, some.unbind())
        ket = (ket.unflatten(-1, (-1, len(matrix))) @ matrix.T).transpose(-1, -2).flatten(-2)
    return ket


def _entangled(ket: Tensor, qubits: int, entangler: Entangler) -> Tensor:
    table = torch.from_numpy(_table(qubits, entangler)).to(ket.device)
    return ket * table if entangler.startswith("cz") else ket[..., table]


@lru_cache(maxsize=64)
def _table(qubits: int, entangler: Entangler) -> npt.NDArray[Any]:
    """All gates between two layers at once, (2^n,): the sign of every amplitude for CZ, where it comes from for CX."""
    index = np.arange(1 << qubits)

    def bit(of: npt.NDArray[np.int64], qubit: int) -> npt.NDArray[np.int64]:
        return of >> (qubits - 1 - qubit) & 1

    if entangler.startswith("cz"):
        both = sum((bit(index, a) & bit(index, b) for a, b in pairs(qubits, entangler)), np.zeros_like(index))
        return (1 - 2 * (both & 1)).astype(np.float32)
    source = index
    for control, target in reversed(pairs(qubits, entangler)):  # the last gate is undone first
        source = source ^ (bit(source, control) << (qubits - 1 - target))
    return source


class Circuit(nn.Module):
    """Kets of width D, zero-padded to 2^n, through L layers; complex (B, D) -> (B, 2^n).

    ``angles`` (L, n, 2) start normal of deviation ``std``, near the identity, where gradients have not vanished yet
    (Grant et al. 2019), rather than spread over the circle.
    """

    def __init__(self, width: int, layers: int, entangler: Entangler, std: float) -> None:
        super().__init__()
        self.width = width
        self.qubits = qubits_for(width)
        self.outcomes = 1 << self.qubits
        self.entangler: Entangler = entangler
        self.angles = nn.Parameter(torch.empty(layers, self.qubits, 2).normal_(std=std))

    def forward(self, ket: Tensor) -> Tensor:
        """Complex (B, D) -> (B, 2^n)."""
        return run(F.pad(ket, (0, self.outcomes - self.width)), self.angles, self.entangler)

    def gates(self) -> tuple[Gate, ...]:
        """The gates in the order of time, as plain data."""
        return gates(self.angles.detach().double(), self.entangler)

    @torch.no_grad()
    def unitary(self) -> Tensor:
        """The whole circuit as a matrix recomputed in double precision, complex128 (2^n, 2^n), for n of at most 12."""
        if self.qubits > DENSE_QUBITS:
            needed = 16 * 4**self.qubits / 1e9
            raise UserError(
                f"the matrix of a circuit of {self.qubits} qubits takes {needed:,.1f} GB, and psitext makes it for at "
                f"most {DENSE_QUBITS}; its gates() need no matrix"
            )
        basis = torch.eye(self.outcomes, dtype=torch.complex128, device=self.angles.device)
        return run(basis, self.angles.double(), self.entangler).T

    def extra_repr(self) -> str:
        """Shape and entangler, for printing."""
        return f"qubits={self.qubits}, layers={len(self.angles)}, entangler={self.entangler}"


def gradient_variance(
    qubits: int, layers: int, samples: int = 200, seed: int = 0, entangler: Entangler = "cz-ring"
) -> float:
    """Variance of d<Z_0>/d(angle) over circuits of uniformly random angles, from the ket |0...0>.

    The angle is that of the first RY of qubit 0, which <Z_0> depends on at any depth. A barren plateau is a variance
    that falls like 2^-n as qubits are added, once there are layers enough to spread over them all (about n).
    """
    if qubits < 1 or layers < 1 or samples < 2:
        raise UserError(
            f"a variance of gradients takes a qubit, a layer and two samples at least, not {qubits}, {layers} and "
            f"{samples}"
        )
    drawn = torch.from_numpy(generator(seed, "plateau").uniform(0, 2 * np.pi, (samples, layers, qubits, 2)))
    shift = torch.zeros_like(drawn[0])
    shift[0, 0, 0] = torch.pi / 2
    expected = _expected_z(torch.cat([drawn + shift, drawn - shift]), entangler)
    return float(((expected[:samples] - expected[samples:]) / 2).var())  # the parameter-shift rule


@torch.no_grad()
def _expected_z(angles: Tensor, entangler: Entangler) -> Tensor:
    """<Z_0> after each of several circuits on |0...0>; (S, L, n, 2) -> (S,)."""
    size = 1 << angles.shape[2]
    start = torch.eye(1, size, dtype=torch.complex128)

    def of_one(one: Tensor) -> Tensor:
        halves: Tensor = probabilities(run(start, one, entangler)).unflatten(-1, (2, -1)).sum((0, 2))
        return halves[0] - halves[1]

    values: Tensor = torch.vmap(of_one, chunk_size=max(1, CHUNK // size))(angles)
    return values
