"""Gates as plain data, and what they do to kets: a reference that shares no code with any quantum library.

A gate is (name, qubits, angle in radians or None). Big-endian: qubit 0 is the most significant bit of an amplitude's
index, and the first qubit of a two-qubit gate is its control. Letters: B kets, n qubits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

Gate = tuple[str, tuple[int, ...], float | None]
Complex = npt.NDArray[np.complex128]
Real = npt.NDArray[np.float64]


def _turn(axis: Complex) -> Callable[[float], Complex]:
    """exp(-i angle P / 2) for a matrix with P P = 1."""
    return lambda angle: np.cos(angle / 2) * np.eye(2) - 1j * np.sin(angle / 2) * axis


_X, _Y, _Z = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]], dtype=np.complex128)
_I = np.eye(2, dtype=np.complex128)
TURNS: dict[str, Callable[[float], Complex]] = {"rx": _turn(_X), "ry": _turn(_Y), "rz": _turn(_Z)}
FIXED: dict[str, Complex] = {
    "x": _X,
    "sx": ((1 + 1j) * _I + (1 - 1j) * _X) / 2,
    "h": (_X + _Z) / np.sqrt(2),
    "cx": np.block([[_I, 0 * _I], [0 * _I, _X]]),
    "cz": np.diag([1, 1, 1, -1]).astype(np.complex128),
}


def matrix(name: str, angle: float | None) -> Complex:
    """The gate as a matrix, (2, 2) or (4, 4)."""
    return FIXED[name] if angle is None else TURNS[name](angle)


def act(kets: Complex, gates: Iterable[Gate], qubits: int) -> Complex:
    """The gates on kets, in the order of time; (B, 2^n) -> (B, 2^n)."""
    axes = kets.reshape(-1, *[2] * qubits)
    for name, at, angle in gates:
        size, places = len(at), [1 + qubit for qubit in at]
        gate = matrix(name, angle).reshape([2] * (2 * size))
        axes = np.moveaxis(np.tensordot(gate, axes, (range(size, 2 * size), places)), range(size), places)
    return np.asarray(axes.reshape(kets.shape), dtype=np.complex128)
