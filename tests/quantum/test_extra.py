"""Without qiskit, circuits say what to install."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from psitext import quantum
from psitext.errors import UserError


def test_known_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "qiskit_aer" else found(name))
    with pytest.raises(UserError, match=r"circuits need qiskit and its simulator: pip install 'psitext\[quantum\]'"):
        importlib.reload(quantum)
