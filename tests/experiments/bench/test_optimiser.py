"""That all sides of the optimiser's benchmark do the same work. No time is judged."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from psitext.experiments.bench import optimiser, suite
from psitext.experiments.bench.optimiser import SETTINGS, Typeset, cadamw_speed, start
from psitext.train.optim import CAdamW

TINY = optimiser.SHAPE.model_copy(update={"vocab_size": 20, "width": 8, "heads": 2, "hidden": 12, "layers": 1})


def test_parity_the_opponents_compute_what_cadamw_does() -> None:
    shapes = [torch.Size((3, 4)), torch.Size((5,))]
    halves = optimiser._halves(shapes, 0)
    opponents = [Typeset(*start(shapes, 0), real_square) for real_square in (False, True)]
    ours = CAdamW([{"params": halves, "pairs": 2}], **SETTINGS)
    for _ in range(5):
        ours.step()
        for opponent in opponents:
            opponent.step()
    for opponent in opponents:
        for number, theta in enumerate(opponent.theta):
            moved = torch.complex(*halves[2 * number : 2 * number + 2]).detach()
            assert_close(moved, theta, rtol=0, atol=1e-7)
            assert (moved - start(shapes, 0)[0][number]).abs().min() > 4e-4, "five steps of 1e-4"


def test_smoke_a_line_for_each_opponent() -> None:
    found = list(cadamw_speed(1, 0, TINY))
    assert len({one.name for one in found}) == 4 and all(one.ours > 0 and one.theirs > 0 for one in found)
    assert all("step of 0M real numbers against" in one.name for one in found)


def test_known_it_needs_torch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "find_spec", lambda name: None)
    monkeypatch.setattr(optimiser, "cadamw_speed", lambda rounds, seed: cadamw_speed(rounds, seed, TINY))
    told: list[str] = []
    assert len(list(suite.run(suite.Settings(rounds=1, only=("startup", "cadamw")), told.append))) == 4
    assert told == ["skipped, because transformers is not installed (pip install 'psitext[hf]'): startup", "cadamw ..."]
