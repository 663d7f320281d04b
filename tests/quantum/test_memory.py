"""Memory that is not there is asked for in words."""

from __future__ import annotations

import numpy as np
import pytest

from psitext.errors import UserError
from psitext.nn.unitary.born import Outcomes
from psitext.quantum import from_gates, ideal, measure, memory


def test_known_sizes_in_words() -> None:
    sizes = [1, 999, 16_000, 2.5e6, 17_179_869_184, 3e13, 1e20]
    words = ["1 bytes", "999 bytes", "16 kB", "2.5 MB", "17.2 GB", "30 TB", "1e+05 PB"]
    assert [memory.in_words(size) for size in sizes] == words


def test_known_too_many_qubits_say_what_they_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "installed", lambda: 8_000_000_000)
    memory.check(28, 1, "this")
    with pytest.raises(UserError, match=r"^this would take 17.2 GB of memory, and this machine has 8 GB$"):
        memory.check(30, 1, "this")
    many = from_gates([("ry", (0,), 0.1)], 2, 40, Outcomes(1 << 40, 2), np.ones((2, 2)), None)
    for shots in (None, 10):
        with pytest.raises(UserError, match=r"40 qubits would take 70.4 TB of memory, and this machine has 8 GB"):
            measure(many, np.ones((1, 2), dtype=complex), ideal(), shots)
