"""Sentences as kets, in one table: entanglement at every cut, the bond that is needed, fidelities between them.

Letters: B sentences, n qubits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from psitext.explain.ket.controls import random_profile
from psitext.nn.kets.cuts import spectra
from psitext.nn.numerics import RANK_OF_FLOAT32
from psitext.nn.schmidt import entropy_bits, rank
from psitext.state import State


@dataclass(frozen=True, slots=True, eq=False)
class Portrait:
    """What B sentence kets are like."""

    width: int  # D, the logical one
    qubits: int  # n; 2^n is D, or more and filled up with zeros
    entropy_bits: Tensor  # (B, n - 1) after the first 1 to n - 1 qubits
    rank: Tensor  # (B, n - 1) Schmidt coefficients above the rounding of float32
    wanted: float  # the fidelity that ``bond`` keeps
    bond: Tensor  # (B,) the smallest bond that does
    fidelities: Tensor  # (B, B)
    real: bool  # whether all amplitudes are
    random_bits: tuple[float, ...]  # (n - 1,) what random kets of the same width and field have on average
    at: int | None = None  # a bond to look at
    kept: Tensor | None = None  # (B,) the fidelity that it keeps

    @property
    def padded(self) -> bool:
        """Whether zeros fill the kets up to a power of two."""
        return self.width < 1 << self.qubits

    @property
    def says(self) -> str:
        """The kets in a line."""
        size = 1 << self.qubits
        zeros = f", padded with zeros to {size}" if self.padded else ""
        field = "real" if self.real else "complex"
        return f"{field} kets of {self.qubits} qubits (width {self.width}{zeros}), qubit 0 the most significant bit"

    def rows(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """A row for every sentence: bits at every cut, the largest rank, the bond needed, and what ``at`` keeps."""
        found = []
        for place, text in enumerate(texts):
            row: dict[str, Any] = {"sentence": text}
            row |= {f"bits, cut {cut}": bits for cut, bits in enumerate(self.entropy_bits[place].tolist(), 1)}
            row |= {"rank": int(self.rank[place].max()), f"bond for {self.wanted:g}": int(self.bond[place])}
            if self.kept is not None:
                row[f"fidelity at bond {self.at}"] = float(self.kept[place])
            found.append(row)
        return found

    def record(self, texts: Sequence[str]) -> dict[str, Any]:
        """Everything as plain values: one entry for each sentence, the matrix, and the entropies of random kets."""
        sentences = [
            {
                "text": text,
                "entropy_bits": self.entropy_bits[place].tolist(),
                "rank": self.rank[place].tolist(),
                "bond": int(self.bond[place]),
                **({} if self.kept is None else {"fidelity": float(self.kept[place])}),
            }
            for place, text in enumerate(texts)
        ]
        return {
            "width": self.width,
            "qubits": self.qubits,
            "padded": self.padded,
            "wanted": self.wanted,
            **({} if self.at is None else {"at": self.at}),
            "real": self.real,
            "random_bits": list(self.random_bits),
            "sentences": sentences,
            "fidelities": self.fidelities.tolist(),
        }


def portrait(state: State, wanted: float = 0.99, bond: int | None = None, *, pad: bool = True) -> Portrait:
    """Look at the kets of B sentences, and at their matrix-product states of ``bond`` where one is named.

    Errors: a width that is no power of two, with ``pad`` False, or below 3; a bond below 1; a fidelity outside (0, 1].
    """
    amplitudes = state.amplitudes()
    values, real = spectra(amplitudes, pad=pad), not bool(amplitudes.imag.any())
    return Portrait(
        width=state.width,
        qubits=state.qubits,
        entropy_bits=entropy_bits(values),
        rank=rank(values, RANK_OF_FLOAT32),
        wanted=wanted,
        bond=state.bond_for(wanted),
        fidelities=state.fidelities(),
        real=real,
        random_bits=tuple(random_profile(state.width, real=real)),
        at=bond,
        kept=None if bond is None else state.to_product(bond).fidelity,
    )
