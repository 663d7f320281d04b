"""Steps whose weights follow a schedule, and steps of one part of the network alone; a loop that goes on in the middle
of both.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

import bigrams
from fits import Bench, same, weights
from psitext.errors import UserError
from psitext.score.elbo import ObjectiveConfig, elbo
from psitext.score.losses import Objective, Score, classification
from psitext.train import checkpoint
from psitext.train.loop import Validation
from psitext.train.optim import OptimConfig, turn

OBJECTIVE = ObjectiveConfig(beta=0.5, schedule="cyclical-zero", cycles=2, free_bits="dimension", free_nats=0.1)


@pytest.fixture
def space(tmp_path: Path) -> Bench:
    return Bench(tmp_path, bigrams.sentences())  # type: ignore[arg-type]


def settings(bench: Bench, **changes: Any) -> Any:
    optim = {"weight_decay": 0.1} | changes.pop("optim", {})
    return bench.config(steps=24, evaluate_every=5, checkpoint_every=7, optim=optim, **changes)


def watched(score: Score, seen: list[tuple[float, ...]]) -> Score:
    """A score that notes the sums that it gives."""

    def total(name: str, term: Objective) -> Any:
        def summed(predicted: Any, batch: Any, state: Any) -> torch.Tensor:
            value = term.total(predicted, batch, state)
            seen.append((name, float(value.detach()) / float(term.count(batch))))  # type: ignore[arg-type]
            return value

        return summed

    return {name: replace(term, total=total(name, term)) for name, term in score.items()}


def test_law_lines_show_the_weights_in_force_and_the_loss_they_make(space: Bench) -> None:
    seen: list[Any] = []
    space.run(bigrams.network(), settings(space, log_every=5), score=watched(elbo(OBJECTIVE, 4), seen))
    rec, kl = ([value for name, value in seen if name == wanted] for wanted in ("rec", "kl"))
    betas = [OBJECTIVE.beta_at(step, 24) for step in range(24)]
    assert betas.count(0.0) == 12 and betas.count(0.5) == 6
    losses = [one + beta * other for one, other, beta in zip(rec, kl, betas, strict=True)]
    ends = space.curve("step")
    assert ends == [5, 7, 10, 14, 15, 20, 21, 24]
    parts = [slice(first, last) for first, last in zip([0, *ends], ends, strict=False)]
    assert space.curve("weight_kl") == [betas[end - 1] for end in ends]
    for name, values in (("loss", losses), ("loss_rec", rec), ("loss_kl", kl)):
        means = [sum(values[part]) / len(values[part]) for part in parts]
        assert space.curve(name) == pytest.approx(means, rel=1e-5)
    assert "weight_rec" not in space.events[0]  # it is no news


def test_law_at_beta_zero_the_kl_term_moves_nothing(space: Bench) -> None:
    """So free bits act only while beta > 0."""
    ends = []
    for number, nats in enumerate((0.0, 5.0)):
        network = bigrams.network()
        config = ObjectiveConfig(beta=0.0, free_nats=nats)
        space.run(network, settings(space, optim={"clip": 0}), score=elbo(config, 4), out=str(number))
        ends.append(weights(network))
    assert same(*ends)


def test_law_an_objective_that_counts_nothing_moves_nothing(space: Bench) -> None:
    """Its sum is 0, and the gradient of that times any weight is 0, too."""
    nothing = Objective(
        total=lambda predicted, batch, state: 0 * predicted["written"].sum(),
        count=lambda batch: torch.tensor(0),
        weight=30.0,
    )
    ends = []
    for number, more in enumerate(({}, {"nothing": nothing})):
        network = bigrams.network()
        space.run(network, settings(space), score={**elbo(ObjectiveConfig(), 4), **more}, out=str(number))
        ends.append(weights(network))
    assert same(*ends)


def test_law_a_constant_function_is_a_constant(space: Bench) -> None:
    ends, lines = [], []
    plain = elbo(ObjectiveConfig(beta=0.3), 4)
    for number, weight in enumerate((0.3, lambda step, total: 0.3)):
        network = bigrams.network()
        space.run(network, settings(space), score={**plain, "kl": replace(plain["kl"], weight=weight)}, out=str(number))
        ends.append(weights(network))
        lines.append(space.curve())
    assert same(*ends)
    assert lines[0] == pytest.approx(lines[1], rel=1e-6)


@pytest.mark.parametrize("kind", ["adamw", "cadamw"])
@pytest.mark.parametrize("at", [3, 4, 9, 10, 16])
def test_law_a_stop_and_a_resume_change_nothing(space: Bench, at: int, kind: str) -> None:
    """In the middle of a cycle of beta, and of a turn of the encoder, whose rival has no moments yet."""
    config = settings(space, log_every=4, accumulation=2, optim={"aggressive": 0.7, "encoder_steps": 4, "kind": kind})
    whole, first, second = (bigrams.network() for _ in range(3))

    def judged() -> Validation:
        return Validation(lambda network: {"value": next(network.parameters()).sum().item()}, "value")

    score = elbo(OBJECTIVE, 4)
    reference = space.run(whole, config, out="whole", score=score, validation=judged())
    events = space.events
    seen = count(1)
    batches = space.source.build

    def interrupting(samples: Any, epoch: int) -> object:
        if next(seen) == 2 * at:
            os.kill(os.getpid(), signal.SIGINT)
        return batches(samples, epoch)

    object.__setattr__(space.source, "build", interrupting)
    try:
        stopped = space.run(first, config, score=score, validation=judged())
    finally:
        object.__delattr__(space.source, "build")
    assert (stopped.finished, stopped.counters.step) == (False, at)
    before = space.events
    torch.manual_seed(99)
    resumed = space.run(second, config, score=score, validation=judged())
    assert same(weights(second), weights(whole))
    assert replace(resumed.counters, seconds=0) == replace(reference.counters, seconds=0)
    without_clock = [[{**event, "seconds": 0} for event in found] for found in (before + space.events, events)]
    assert without_clock[0] == without_clock[1]


@pytest.mark.parametrize("kind", ["adamw", "cadamw", "cadamw-paper"])
def test_law_the_part_that_rests_does_not_move(space: Bench, kind: str) -> None:
    """Weights, moments and their step counts, under a decay and with a norm that is clipped."""
    optim = {"aggressive": 0.5, "encoder_steps": 3, "clip": 0.1, "kind": kind}
    config = settings(space, keep=99, optim=optim).model_copy(update={"checkpoint_every": 1})
    network = bigrams.network()
    begin = {
        f"{part}.{name}": value
        for part in ("encoder", "head")
        for name, value in weights(getattr(network, part)).items()
    }
    space.run(network, config, score=elbo(OBJECTIVE, 4))
    folder = space.folder / "run" / "checkpoints"
    before, counts = begin, Counter[str]()
    moments: dict[str, torch.Tensor] = {}
    for step in range(24):
        path = folder / f"step-{step + 1:08d}"
        now, found = (checkpoint.read_tensors(path / name) for name in (checkpoint.MODEL, checkpoint.OPTIMIZER))
        moved = {name.split(".")[0] for name in now if not torch.equal(now[name], before[name])}
        whose = turn(step, 24, config.optim)
        assert moved == ({"encoder", "head"} if whose == "both" else {whose})
        stirred = {
            name.partition("/")[2].split(".")[0]
            for name in found
            if name not in moments or not torch.equal(found[name], moments[name])
        }
        assert stirred == moved
        counts[whose] += 1
        before, moments = now, found
    assert counts == {"encoder": 9, "head": 3, "both": 12}
    assert {int(moments[f"step/encoder.{name}"]) for name in ("token.weight", "posterior.weight")} == {21}
    assert int(moments["step/head.decoder.out.weight"]) == 15


def test_law_the_norm_is_of_the_part_that_moves(space: Bench) -> None:
    """A step of the encoder alone is clipped as if there were nothing else to train."""
    ends = []
    for share, trained in ((1.0, True), (0.0, False), (0.0, True)):
        network = bigrams.network()
        network.head.requires_grad_(trained)
        optim = {"aggressive": share, "encoder_steps": 2, "clip": 1e-3, "eps": 1e-3}  # a step's size is the clip's
        config = space.config(steps=3, keep=9, checkpoint_every=1, optim=optim)
        out = f"{share} {trained}"
        space.run(network, config, score=elbo(OBJECTIVE, 4), out=out)
        found = checkpoint.read_tensors(space.folder / out / "checkpoints" / "step-00000002" / checkpoint.MODEL)
        ends.append({name: value for name, value in found.items() if name.startswith("encoder.")})
    assert same(*ends[:2])
    assert not same(ends[0], ends[2])


def test_known_whose_turn_it_is() -> None:
    def turns(steps: int, share: float, encoder_steps: int) -> str:
        config = OptimConfig(aggressive=share, encoder_steps=encoder_steps)
        return "".join(turn(step, steps, config)[0] for step in range(steps))

    assert turns(10, 0.0, 2) == "b" * 10
    assert turns(12, 0.5, 2) == "eeheeh" + "b" * 6
    assert turns(12, 0.6, 2) == "eeheeh" + "b" * 6  # whole cycles only
    assert turns(12, 0.75, 2) == "eeheeheeh" + "bbb"
    assert turns(10, 1.0, 1) == "eh" * 5
    assert turns(5, 1.0, 10) == "b" * 5


@pytest.mark.parametrize("share, encoder_steps, steps", [(0.3, 10, 1_000), (0.123, 4, 777), (1.0, 7, 100)])
def test_law_counts_of_turns(share: float, encoder_steps: int, steps: int) -> None:
    config = OptimConfig(aggressive=share, encoder_steps=encoder_steps)
    found = Counter(turn(step, steps, config) for step in range(steps))
    assert found["encoder"] == encoder_steps * found["head"]
    asked = share * steps
    assert asked - encoder_steps - 1.5 <= found["encoder"] + found["head"] <= asked + 0.5


def test_known_turns_need_two_parts_that_learn(space: Bench, bench: Bench) -> None:
    config = settings(space, optim={"aggressive": 0.5, "encoder_steps": 1})
    wrong = r"train.optim.aggressive = 0.5 updates encoder and decoder in turns, but no weight of the {} is trained"
    with pytest.raises(UserError, match=wrong.format("encoder")):
        space.run(bigrams.network(latent=0), config, score=elbo(ObjectiveConfig(), 0))
    frozen = bench.network()
    frozen.encoder.requires_grad_(False)
    with pytest.raises(UserError, match=wrong.format("encoder")):
        bench.run(frozen, config, score=classification(), out="frozen")
    network = bigrams.network()
    network.head.requires_grad_(False)
    with pytest.raises(UserError, match=wrong.format("decoder")):
        space.run(network, config, score=elbo(OBJECTIVE, 4), out="head")


def test_law_without_noise_the_mean_is_decoded(space: Bench) -> None:
    """A plain autoencoder draws nothing: what its variances are, it never learns and does not feel."""
    ends = []
    for number, noise in enumerate((False, False, True)):
        network = bigrams.network(noise=noise)
        if number == 1:
            with torch.no_grad():
                network.encoder.posterior.weight[4:] = 3.0
        objective = ObjectiveConfig(beta=0.0, noise=noise)
        space.run(network, settings(space, optim={"weight_decay": 0.0}), score=elbo(objective, 4), out=str(number))
        ends.append(weights(network.head))
    assert same(*ends[:2])
    assert not same(ends[0], ends[2])
