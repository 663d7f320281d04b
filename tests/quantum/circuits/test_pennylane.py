"""Heads in PennyLane: an oracle of its own for the order of bits, and a script that runs without psitext."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import from_head, qnode
from psitext.quantum.circuits.pennylane import write_script

HEADS = [
    (8, {}),
    (8, {"groups": 4}),
    (6, {"groups": 3}),
    (12, {"unitary": "circuit", "layers": 2, "entangler": "cx-ring", "groups": 2}),
]


@pytest.mark.parametrize(("width", "config"), HEADS, ids=str)
def test_parity_pennylane_reads_the_same(width: int, config: dict[str, object]) -> None:
    head, kets = from_head(module(width, **config)), haar(4, 3, width=width)
    found = np.asarray(qnode(head)(kets))
    np.testing.assert_allclose(found, head.shares(head.amplitudes(head.kets(kets))), atol=1e-10)


def test_law_gradients_flow_to_the_ket() -> None:
    module_ = module(8)
    ket = torch.from_numpy(haar(3, 2)).requires_grad_()
    weights = torch.arange(8.0, dtype=torch.float64)
    (qnode(from_head(module_))(ket) @ weights).sum().backward()
    found, ket.grad = ket.grad, None
    (module_.turn(ket).abs().square() @ weights).sum().backward()
    torch.testing.assert_close(found, ket.grad, rtol=0, atol=1e-9)


def test_law_a_script_needs_no_psitext(tmp_path: Path) -> None:
    head = from_head(module(6, 3, groups=4), ["a", "b", "c"])
    ket = head.kets(haar(3, 1, width=6))
    write_script(head, ket[0], "a text", tmp_path / "head.py")
    assert "psitext import" not in (tmp_path / "head.py").read_text(encoding="utf-8")
    with np.load(tmp_path / "head.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"weight", "bias", "starts", "unitary", "ket"}
    done = subprocess.run(
        [sys.executable, "head.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    said = np.array(done.stdout.strip(" []\n").split(), dtype=float)
    np.testing.assert_allclose(said, head.logits(head.probabilities(ket))[0], atol=1e-6)


def test_known_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.py, not 'head.txt'"):
        write_script(from_head(module(4)), None, None, tmp_path / "head.txt")
    assert list(tmp_path.iterdir()) == []
