"""The doctor: what it looks at, when it gives advice, and when something counts as broken."""

from __future__ import annotations

import json
import os
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import torch

import door
from psitext.experiments import doctor
from psitext.experiments.doctor import Finding, installed, machine, usable

ROOT = Path(__file__).parents[2]


def found(*parts: list[Finding]) -> dict[str, Finding]:
    return {finding.what: finding for part in parts for finding in part}


def test_known_versions_and_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PSITEXT_DATA", str(tmp_path))
    everything = doctor.findings()
    seen = found(everything)
    assert seen["torch"].found == metadata.version("torch")
    assert seen["torch threads"].found.startswith("1 on ") and not seen["torch threads"].advice
    assert (seen["PSITEXT_DATA"].found, seen["PSITEXT_DATA"].advice) == (str(tmp_path), "")
    assert all(finding.found for finding in everything) and len(seen) == len(everything)
    assert [finding for finding in everything if finding.broken] == []
    assert all(finding.advice for finding in everything if finding.found in ("not installed", "not writable"))


def test_law_every_package_of_the_project_is_looked_at() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {line.partition(">=")[0].replace("_", "-") for lines in extras.values() for line in lines}
    wanted |= {line.partition(">=")[0] for line in project["dependencies"]}
    assert wanted <= {name.replace("_", "-") for name in found(list(installed.packages()))}
    assert installed.PURPOSES.keys() == extras.keys()


def test_known_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 0)
    monkeypatch.setattr(machine, "product_seconds", lambda dtype: 1.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setenv("PSITEXT_DATA", "/absent")
    seen = found(list(machine.machine()), list(machine.places()))
    assert "OMP_NUM_THREADS=1" in seen["load"].advice
    assert "built for CUDA 13.0 and finds no GPU" in seen["accelerator"].advice
    assert "gains nothing" in seen["bfloat16 products"].advice
    assert seen["PSITEXT_DATA"].advice == "there is no such folder"
    monkeypatch.delenv("PSITEXT_DATA")
    assert "--data-dir" in found(list(machine.places()))["PSITEXT_DATA"].advice


def test_known_swapped_memory_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "meminfo"
    monkeypatch.setattr(machine, "MEMORY", file)
    gib = 2**20
    rows = {"MemTotal": 8 * gib, "MemAvailable": 4 * gib, "SwapTotal": 8 * gib, "SwapFree": 3 * gib}
    file.write_text("".join(f"{name}: {size} kB\n" for name, size in rows.items()))
    memory = found(list(machine.machine()))["memory"]
    assert memory.found == "4.0 of 8.0 GiB free, 5.0 GiB swapped" and "memory is short" in memory.advice
    file.write_text("MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n")
    assert found(list(machine.machine()))["memory"].advice == ""


def test_known_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    speed = machine.disk_speed(tmp_path, 2**16)
    assert speed is not None and speed > 0 and list(tmp_path.iterdir()) == []
    assert machine.disk_speed(tmp_path / "absent") is None


@pytest.mark.parametrize(
    "version, lowest, expected",
    [
        ("2", "2.0", False),
        ("2.13.0+cpu", "2.9", False),
        ("1.9", "1.10", True),
        ("5.0rc1", "5", False),
        ("4", "5", True),
    ],
)
def test_known_which_version_is_older(version: str, lowest: str, expected: bool) -> None:
    assert installed.older(version, lowest) is expected


def test_known_missing_and_old_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = installed.package("no-such-package", "1", "track")
    assert (absent.advice, absent.broken) == ("for TensorBoard logs: pip install 'psitext[track]'", False)
    assert installed.package("no-such-package", "1", None).broken
    old = installed.package("torch", "999", None)
    assert old.broken and old.advice == "older than the 999 that is needed: pip install --upgrade 'psitext'"


def test_known_a_damaged_shipped_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("card")
    (tmp_path / "checksums.json").write_text(json.dumps({"card.md": "00"}))
    monkeypatch.setattr(installed.shipped, "names", lambda: ["tiny"])
    monkeypatch.setattr(installed.shipped, "located", lambda name: tmp_path)
    (finding,) = installed.models()
    assert finding.broken and finding.found == "damaged: tiny"
    monkeypatch.setattr(installed.shipped, "names", list)
    assert not next(installed.models()).broken


def test_known_what_fails_is_broken_and_what_is_missing_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise ImportError("libdevice.so: cannot open\nmore")

    monkeypatch.setattr(usable, "TRIALS", {"one": (fails, ("torch",)), "two": (fails, ("no_such_package",))})
    (finding,) = usable.trials()
    assert (finding.what, finding.broken) == ("one", True)
    assert finding.found == "fails: ImportError: libdevice.so: cannot open"


def test_known_the_command(tmp_path: Path) -> None:
    done = door.run("doctor", "--json", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    rows = {row["what"]: row for row in json.loads(done.out)}
    assert rows["torch"]["part"] == "installed" and rows["attention in bfloat16"]["part"] == "usable"
    before = "from psitext.experiments.doctor import usable; usable.TRIALS = {'odd': (lambda: 1 / 0, ('torch',))}"
    failing = door.start("doctor", cwd=tmp_path, before=before).wait()
    assert failing.code == 1 and "ZeroDivisionError" in failing.out
    assert list(tmp_path.iterdir()) == []
