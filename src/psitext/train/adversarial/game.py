"""A game: players with losses of their own move one after another, each its own weights.

Every move is a function of (seed, player, step, number of the move) and of what earlier moves left: noise comes from a
generator that is keyed by them, and torch's own, which dropout reads, is seeded by them and put back afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim import Adam

from psitext.errors import UserError
from psitext.nn.numerics import ADAM_EPS
from psitext.randomness import torch_seed

SHOWN = 0.1  # share of the game, at its end, whose mean losses are told


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose move it is, and what it may draw from."""

    step: int  # from 0
    steps: int
    move: int  # of the player within the step, from 0
    random: torch.Generator  # keyed by all of these, the seed and the player

    @property
    def done(self) -> float:
        """Share of the game that is played, from 0 to below 1."""
        return self.step / self.steps


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a player moves at a time: Adam's settings."""

    lr: float = 2e-4
    beta1: float = 0.9
    beta2: float = 0.999
    clip: float = 0.0  # largest norm of the gradient; 0 = never cut


@dataclass(frozen=True, slots=True)
class Player:
    """What one player can change, what it wants to be low, and how it moves."""

    name: str
    parameters: Sequence[nn.Parameter]
    loss: Callable[[Turn], Tensor]
    pace: Pace = Pace()
    moves: int = 1  # a step
    begins: float = 0.0  # share of the game after which it joins
    after: Callable[[], None] = field(default=lambda: None)  # once it has moved


def play(
    players: Sequence[Player],
    steps: int,
    seed: int = 0,
    tell: Callable[[int, Mapping[str, float]], None] = lambda step, losses: None,
) -> dict[str, float]:
    """Play ``steps`` rounds; returns every player's mean loss over the last tenth of its moves.

    ``tell`` hears the losses of every step. Errors: UserError for a loss that is not finite, naming player and step.
    """
    if steps < 1:
        raise UserError(f"a game has at least one step, not {steps}")
    optimizers = {one.name: _adam(one) for one in players}
    told: dict[str, list[float]] = {one.name: [] for one in players}
    with torch.random.fork_rng(devices=[]):
        for step in range(steps):
            losses = {}
            for player in players:
                if step < player.begins * steps:
                    continue
                for move in range(player.moves):
                    losses[player.name] = _move(player, optimizers[player.name], step, steps, move, seed)
                told[player.name].append(losses[player.name])
            tell(step + 1, losses)
    return {name: _end(values) for name, values in told.items() if values}


def _adam(player: Player) -> Adam:
    pace = player.pace
    return Adam(player.parameters, lr=pace.lr, betas=(pace.beta1, pace.beta2), eps=ADAM_EPS, fused=True)


def _move(player: Player, optimizer: Adam, step: int, steps: int, move: int, seed: int) -> float:
    """One update of a player's weights. Other players' weights get no gradient."""
    key = torch_seed(seed, player.name, step, move)
    device = player.parameters[0].device
    torch.default_generator.manual_seed(key)
    if device.type != "cpu":
        torch.get_device_module(device).manual_seed(key)
    loss = player.loss(Turn(step, steps, move, torch.Generator().manual_seed(key)))
    value = loss.item()
    if not math.isfinite(value):
        raise UserError(
            f"the loss of the {player.name} is {value} at step {step + 1} of {steps}; a lower learning rate often helps"
        )
    gradients = torch.autograd.grad(loss, list(player.parameters), allow_unused=True)
    for parameter, gradient in zip(player.parameters, gradients, strict=True):
        parameter.grad = gradient
    if player.pace.clip:
        nn.utils.clip_grad_norm_(player.parameters, player.pace.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    player.after()
    return value


def _end(values: Sequence[float]) -> float:
    last = values[-max(round(SHOWN * len(values)), 1) :]
    return math.fsum(last) / len(last)
