"""Writers by name."""

from __future__ import annotations

import pytest

from psitext.errors import UserError
from psitext.quantum.export import WRITERS, writer


def test_known_forms() -> None:
    assert set(WRITERS) == {"qasm3", "qpy", "pennylane"}
    assert writer("qpy") is WRITERS["qpy"]
    with pytest.raises(UserError, match="no form called 'qasm2'; did you mean 'qasm3'"):
        writer("qasm2")
    with pytest.raises(UserError, match="no form called 'x'; there are: qasm3, qpy, pennylane"):
        writer("x")
