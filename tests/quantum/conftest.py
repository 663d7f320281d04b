"""Skips the tests of this folder where qiskit is not installed, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

MISSING = [name for name in ("qiskit", "qiskit_aer", "qiskit_qasm3_import", "pennylane") if find_spec(name) is None]


class Skipped(pytest.Module):
    """A file of tests that is not even imported."""

    def collect(self) -> Iterator[pytest.Item]:  # type: ignore[override]
        pytest.skip(f"needs psitext[quantum]: {', '.join(MISSING)} not installed", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return Skipped.from_parent(parent, path=module_path) if MISSING else None
