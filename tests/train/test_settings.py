"""One budget, one batch size; what is laid over takes the place of what was there."""

from __future__ import annotations

import pytest

from psitext.config import build
from psitext.errors import UserError
from psitext.train.settings import TrainConfig


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"batch_tokens": 9}, "steps, epochs, minutes, tokens must be set, not none"),
        ({"steps": 9, "epochs": 1, "batch_tokens": 9}, "must be set, not steps, epochs"),
        ({"steps": 9}, "batch_tokens, batch_sequences must be set, not none"),
        ({"steps": 9, "batch_tokens": 9, "batch_sequences": 9}, "must be set, not batch_tokens, batch_sequences"),
    ],
)
def test_known_one_of_each(settings: dict[str, int], wrong: str) -> None:
    with pytest.raises(UserError, match=f"exactly one of .*{wrong}"):
        build(TrainConfig, settings, "a recipe")


def test_law_a_budget_takes_the_place_of_another() -> None:
    config = TrainConfig(epochs=3, batch_sequences=8, patience=2, optim={"lr": 0.5})
    changed = config.with_budget(minutes=2)
    assert (changed.epochs, changed.minutes, changed.patience, changed.optim.lr) == (None, 2, 2, 0.5)


def test_known_precision_has_to_be_settled() -> None:
    assert TrainConfig(steps=1, batch_tokens=1, precision="bf16").settled == "bf16"
    with pytest.raises(ValueError, match="not settled yet"):
        _ = TrainConfig(steps=1, batch_tokens=1).settled
