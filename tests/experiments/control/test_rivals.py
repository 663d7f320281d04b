"""Rivals: what each player moves, that a run repeats, that they learn their labels."""

from __future__ import annotations

import pytest
import torch

import tellers
from psitext.baselines.control import AraeConfig, CtrlGenConfig, RivalConfig
from psitext.errors import UserError
from psitext.experiments.control.rivals import train_rival
from psitext.experiments.control.rivals.rows import rows_of
from psitext.experiments.control.rivals.training import _built, _steps
from psitext.text.examples import Example
from psitext.train.adversarial import Turn

WHAT = tuple(what.split()[0] for what in tellers.WHAT)  # sits, is, sleeps: a label that other words do not tell
EXAMPLES = [Example(text, label=what) for text in tellers.SENTENCES for what in WHAT if what in text.split()]
SIZES = {"code": 4, "features": 16, "width": 32, "dropout": 0.0, "lr": 1e-2, "batch": 24, "max_tokens": 10}
CTRL_GEN = CtrlGenConfig(**SIZES, written=8, filters=8, attribute=1.0, steps=120, wake=0.6)
ARAE = AraeConfig(**SIZES, noise=4, hidden=16, critic=2, steps=200)
PLAYERS = {
    "discriminator": "discriminator", "generator": "decoder reader to_code", "autoencoder": "decoder reader to_code",
    "classifier": "classifier", "critic": "critic", "encoder": "reader to_code",
}  # fmt: skip


@pytest.mark.parametrize("config", [CTRL_GEN, ARAE], ids=["ctrl-gen", "arae"])
def test_law_each_player_moves_its_own_part(config: RivalConfig) -> None:
    rows, left_out = rows_of(EXAMPLES, WHAT, tellers.writer(), 10)
    network, players = _built(config, 3, tellers.writer(), rows, 1)
    assert left_out == 0 and len(rows) == 12
    for player in players:
        own = {id(parameter) for parameter in player.parameters}
        named = {name.split(".")[0] for name, parameter in network.named_parameters() if id(parameter) in own}
        generator_of_arae = config is ARAE and player.name == "generator"
        assert named == ({"generator"} if generator_of_arae else set(PLAYERS[player.name].split()))
        loss = player.loss(Turn(9, 10, 0, torch.Generator().manual_seed(1)))
        gradients = torch.autograd.grad(loss, list(player.parameters), allow_unused=True)
        assert sum(gradient is not None for gradient in gradients) >= len(gradients) - 1


def test_law_what_labels_ask_for_moves_the_decoder_alone() -> None:
    rows, _ = rows_of(EXAMPLES, WHAT, tellers.writer(), 10)
    network, players = _built(CTRL_GEN, 3, tellers.writer(), rows, 1)
    loss = players[1].loss.__self__._attributes(Turn(9, 10, 0, torch.Generator().manual_seed(1)))  # type: ignore[attr-defined]
    loss.backward()
    moved = {name.split(".")[0] for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert moved == {"decoder"} and all(parameter.requires_grad for parameter in network.parameters())


@pytest.mark.parametrize("config", [CTRL_GEN, ARAE], ids=["ctrl-gen", "arae"])
def test_known_rivals_write_the_label_and_runs_repeat(config: RivalConfig) -> None:
    rival = train_rival(config, EXAMPLES, WHAT, tellers.writer(), seed=2)
    for what in WHAT:
        written = rival.write(what, 12)
        assert sum(what in text.split() for text in written) >= 10, (what, written)
    assert rival.facts["steps"] == config.steps and rival.facts["decoder"] < rival.facts["parameters"]
    short = config.model_copy(update={"steps": 2, **({"wake": 0.5} if config is CTRL_GEN else {})})
    torch.manual_seed(1)
    first = train_rival(short, EXAMPLES, WHAT, tellers.writer(), seed=2)
    torch.manual_seed(7)
    second = train_rival(short, EXAMPLES, WHAT, tellers.writer(), seed=2)
    assert first.losses == second.losses and first.write("sits", 2) == second.write("sits", 2)
    assert train_rival(short, EXAMPLES, WHAT, tellers.writer(), seed=3).losses != first.losses


def test_known_minutes_become_steps() -> None:
    rows, _ = rows_of(EXAMPLES, WHAT, tellers.writer(), 10)
    few, many = (_steps(_built(CTRL_GEN, 3, tellers.writer(), rows, 1)[1], minutes, 1) for minutes in (1e-9, 60.0))
    assert few == 1 < many


def test_known_bad_input() -> None:
    for wrong in ({"steps": None}, {"minutes": 1.0}):
        with pytest.raises(UserError, match="a number of steps or of minutes"):
            train_rival(CTRL_GEN.model_copy(update=wrong), EXAMPLES, WHAT, tellers.writer())
    with pytest.raises(UserError, match="no sentence of the label 'sits' has at most 2 tokens"):
        rows_of(EXAMPLES, WHAT, tellers.writer(), 2)
