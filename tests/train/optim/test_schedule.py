"""The schedules' values, and settings that make no sense."""

from __future__ import annotations

import pytest

from psitext.config import build
from psitext.errors import UserError
from psitext.train.optim import OptimConfig, factor


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("linear", [1 / 4, 2 / 4, 3 / 4, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
        ("constant", [1 / 4, 2 / 4, 3 / 4] + [1.0] * 7),
        ("cosine", [1 / 4, 2 / 4, 3 / 4, 1, 1, 0.933013, 0.75, 0.5, 0.25, 0.066987]),
    ],
)
def test_known_schedules(schedule: str, expected: list[float]) -> None:
    config = build(OptimConfig, {"warmup": 0.4, "schedule": schedule}, "test")
    assert [factor(step, 10, config) for step in range(10)] == pytest.approx(expected, abs=1e-6)


def test_known_no_warm_up_and_a_run_of_one_step() -> None:
    assert [factor(step, 4, OptimConfig(warmup=0)) for step in range(4)] == [1, 0.75, 0.5, 0.25]
    assert factor(0, 1, OptimConfig()) == 1


@pytest.mark.parametrize(
    "settings",
    [{"lr": 0}, {"warmup": 1}, {"beta2": 1.0}, {"beta2": 0.0}, {"clip": -1}, {"schedule": "step"}, {"kind": "adam"}],
)
def test_known_settings_that_make_no_sense(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"a recipe sets {next(iter(settings))} to"):
        build(OptimConfig, settings, "a recipe")
