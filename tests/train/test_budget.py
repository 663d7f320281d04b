"""From a budget to steps, and the measured step that a time budget is divided by."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator

from fits import Bench, same, weights
from psitext.errors import UserError
from psitext.score.losses import classification
from psitext.train import budget
from psitext.train.optim import build_optimizer


def test_known_budgets_become_steps(bench: Bench) -> None:
    """64 samples in batches of 8."""

    def steps(**given: float) -> int:
        config = bench.config(**{"steps": None} | given)
        found = budget.resolve(config, bench.source, seconds_a_step=0.5).steps
        assert found is not None
        return found

    assert steps(steps=5) == 5
    assert steps(epochs=3) == 24
    assert steps(epochs=0.5) == 4
    assert steps(epochs=1.25) == 10
    assert steps(epochs=0.01) == 1
    assert steps(minutes=1) == math.floor(60 * 0.96 / 0.5)
    assert steps(minutes=0.001) == 1
    total = int(bench.source.lengths().sum())
    assert steps(tokens=total) == 8
    assert steps(tokens=total + 1) == 9
    assert steps(tokens=1) == 1
    assert steps(epochs=2, accumulation=4) == 16


def test_known_what_is_left_open_is_once_an_epoch(bench: Bench) -> None:
    open_ended = {"evaluate_every": 0, "checkpoint_every": 0}
    long = budget.resolve(bench.config(steps=30, **open_ended), bench.source)
    assert (long.evaluate_every, long.checkpoint_every) == (8, 8)
    short = budget.resolve(bench.config(steps=3, **open_ended), bench.source)
    assert (short.evaluate_every, short.checkpoint_every) == (3, 3)
    given = budget.resolve(bench.config(steps=30), bench.source)
    assert (given.evaluate_every, given.checkpoint_every) == (4, 3)


def test_known_a_budget_that_cannot_be_counted(bench: Bench) -> None:
    config = bench.config(steps=None, tokens=10**18)
    with pytest.raises(UserError, match=r"train.tokens = 1,000,000,000,000,000,000 is more than 1,000,000 times the"):
        budget.resolve(config, bench.source)


def test_law_a_settled_budget_stays_as_it_is(bench: Bench) -> None:
    once = budget.resolve(bench.config(steps=None, epochs=2, evaluate_every=0), bench.source)
    assert budget.resolve(once, bench.source) == once
    assert (once.epochs, once.minutes, once.tokens) == (None, None, None)


def test_known_too_few_samples_for_all_parts(bench: Bench) -> None:
    with pytest.raises(UserError, match="64 samples cannot be cut into 66 parts, 33 micro-steps for each process"):
        budget.resolve(bench.config(accumulation=33), bench.source, ranks=2)


def test_law_measuring_a_step_changes_nothing(bench: Bench) -> None:
    network, accelerator = bench.network(dropout=0.1), Accelerator()
    config = bench.config(steps=None, minutes=1, accumulation=2)
    optimizer = build_optimizer(network.encoder, network.head, config.optim)
    before, random = weights(network), torch.get_rng_state()
    began = time.monotonic()
    seconds = budget.seconds_a_step(network, optimizer, classification(), bench.source, config, accelerator)
    assert 0 < seconds * budget.TIMED_STEPS < time.monotonic() - began
    assert same(weights(network), before)
    assert torch.equal(torch.get_rng_state(), random)
    assert not optimizer.state
    assert all(parameter.grad is None for parameter in network.parameters())
    assert accelerator._models == []


def test_law_a_slow_step_is_measured_as_slow(bench: Bench) -> None:
    network = bench.network()
    term = classification()["label"]

    def slow(predicted, batch, state):  # type: ignore[no-untyped-def]
        time.sleep(0.02)
        return term.total(predicted, batch, state)

    config = bench.config(steps=None, minutes=1)
    optimizer = build_optimizer(network.encoder, network.head, config.optim)
    score = {"label": replace(term, total=slow)}
    assert budget.seconds_a_step(network, optimizer, score, bench.source, config, Accelerator()) > 0.02
