"""Whether vectors and matrices of so many qubits fit into this machine's memory, asked before they are made."""

from __future__ import annotations

import math
import os

from psitext.errors import UserError

AMPLITUDE = 16  # bytes of a complex128


def check(qubits: int, copies: int, what: str) -> None:
    """Refuse 2^qubits amplitudes, ``copies`` times, where that is more than the machine has; says what it takes."""
    needed, have = AMPLITUDE * copies * 2**qubits, installed()
    if have is not None and needed > have:
        raise UserError(f"{what} would take {in_words(needed)} of memory, and this machine has {in_words(have)}")


def installed() -> int | None:
    """Bytes of memory, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def in_words(size: float) -> str:
    """Bytes with a unit that people know."""
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min(len(units) - 1, max(0, int(math.log10(size)) // 3))
    return f"{size / 1000**power:.3g} {units[power]}"
