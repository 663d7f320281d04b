"""Whose turn it is, and whose weights move."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from psitext.errors import UserError
from psitext.train.adversarial import Pace, Player, Turn, play


def weight(value: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor([value]))


def test_law_each_player_moves_its_own_weights_in_its_turn() -> None:
    a, b = weight(1.0), weight(1.0)
    moves: list[tuple[str, int, int]] = []

    def loss(name: str, sign: float):  # type: ignore[no-untyped-def]
        def found(turn: Turn) -> Tensor:
            moves.append((name, turn.step, turn.move))
            return (sign * a * b).sum()

        return found

    after: list[float] = []
    players = [
        Player("a", [a], loss("a", 1.0), Pace(0.1), moves=2),
        Player("b", [b], loss("b", -1.0), Pace(0.1), begins=0.5, after=lambda: after.append(b.item())),
    ]
    told: list[int] = []
    losses = play(players, 2, tell=lambda step, found: told.append(step))
    assert moves == [("a", 0, 0), ("a", 0, 1), ("a", 1, 0), ("a", 1, 1), ("b", 1, 0)]
    assert a.item() < 1 < b.item() and after == [b.item()] and told == [1, 2]
    assert a.grad is None and b.grad is None and set(losses) == {"a", "b"}


def test_law_what_is_drawn_depends_on_seed_step_move_and_player_alone() -> None:
    def game(seed: int, names: tuple[str, ...], state: int) -> dict[tuple[str, int], tuple[float, float]]:
        torch.manual_seed(state)
        drawn = {}

        def loss(name: str):  # type: ignore[no-untyped-def]
            def found(turn: Turn) -> Tensor:
                drawn[name, turn.step] = (float(torch.rand((), generator=turn.random)), float(torch.rand(())))
                return own.sum()

            return found

        own = weight(0.0)
        play([Player(name, [own], loss(name)) for name in names], 2, seed)
        return drawn

    first = game(1, ("a", "b"), 3)
    assert len(set(first.values())) == 4
    assert game(1, ("b",), 4) == {key: value for key, value in first.items() if key[0] == "b"}
    assert game(2, ("a", "b"), 3) != first


def test_known_a_step_is_adams_and_a_gradient_can_be_cut() -> None:
    free, cut = weight(0.0), weight(0.0)
    play([Player("free", [free], lambda turn: (100 * free).sum(), Pace(0.5))], 1)
    assert free.item() == pytest.approx(-0.5)
    seen: list[float] = []
    play([Player("cut", [cut], lambda turn: (100 * cut).sum(), Pace(0.5, clip=1e-9), after=lambda: seen.append(1))], 1)
    assert abs(cut.item()) < 0.06 and seen == [1]  # a gradient of 1e-9 is small beside Adam's epsilon


def test_known_bad_input() -> None:
    own = weight(1.0)
    with pytest.raises(UserError, match="loss of the poet is nan at step 1 of 3"):
        play([Player("poet", [own], lambda turn: (own * float("nan")).sum())], 3)
    with pytest.raises(UserError, match="at least one step"):
        play([], 0)
