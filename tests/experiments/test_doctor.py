"""The doctor: finds what is there, and advises where something is to be done."""

from __future__ import annotations

import importlib.util
import os
from importlib import metadata
from pathlib import Path

import pytest

from psitext.experiments import doctor


def found() -> dict[str, doctor.Finding]:
    return {finding.what: finding for finding in doctor.findings()}


def test_known_versions_and_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PSITEXT_DATA", str(tmp_path))
    seen = found()
    assert seen["torch"].found == metadata.version("torch")
    assert seen["torch threads"].found.startswith("1 on ") and not seen["torch threads"].advice
    assert (seen["PSITEXT_DATA"].found, seen["PSITEXT_DATA"].advice) == (str(tmp_path), "")
    assert all(finding.found for finding in seen.values())
    assert len({finding.what for finding in doctor.findings()}) == len(doctor.findings())


def test_known_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tensorboard" else there(name))
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 0)
    monkeypatch.setattr(doctor, "product_seconds", lambda dtype: 1.0)
    monkeypatch.setenv("PSITEXT_DATA", "/absent")
    seen = found()
    assert seen["tensorboard"].advice == "for TensorBoard logs: pip install 'psitext[track]'"
    assert "OMP_NUM_THREADS=1" in seen["load"].advice
    assert "gains nothing" in seen["bfloat16 products"].advice
    assert seen["PSITEXT_DATA"].advice == "there is no such folder"
    monkeypatch.delenv("PSITEXT_DATA")
    assert "--data-dir" in found()["PSITEXT_DATA"].advice
