from __future__ import annotations

from pathlib import Path

import pytest

from fits import Bench, source


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, source())
