"""AdamW by hand, which parameters decay, and the schedules' values."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import tiny
from psitext.config import build
from psitext.errors import UserError
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.train.optim import OptimConfig, adamw, factor, set_rate


def test_parity_adamw_by_the_paper() -> None:
    """Algorithm 2 of Loshchilov and Hutter 2019, step by step, with decay on matrices only."""
    config = OptimConfig(lr=0.1, weight_decay=0.2, beta1=0.8, beta2=0.9, eps=1e-3)
    torch.manual_seed(0)
    encoder, head = nn.Linear(3, 2).double(), nn.Linear(2, 1).double()
    parameters = [*encoder.parameters(), *head.parameters()]
    ours = [value.detach().clone() for value in parameters]
    first, second = [torch.zeros_like(value) for value in ours], [torch.zeros_like(value) for value in ours]
    optimizer = adamw(encoder, head, config)
    for step in range(1, 4):
        set_rate(optimizer, 1 / step)
        for index, parameter in enumerate(parameters):
            slope = torch.randn_like(parameter)
            parameter.grad = slope.clone()
            rate = config.lr / step
            if ours[index].ndim > 1:
                ours[index] *= 1 - rate * config.weight_decay
            first[index] = config.beta1 * first[index] + (1 - config.beta1) * slope
            second[index] = config.beta2 * second[index] + (1 - config.beta2) * slope**2
            mean, spread = first[index] / (1 - config.beta1**step), second[index] / (1 - config.beta2**step)
            ours[index] -= rate * mean / (spread.sqrt() + config.eps)
        optimizer.step()
    for parameter, expected in zip(parameters, ours, strict=True):
        assert_close(parameter.detach(), expected, rtol=0, atol=1e-12)


def test_law_every_trainable_parameter_is_in_one_group() -> None:
    encoder = tiny.bert()
    head = PretrainingHead(encoder, PretrainingConfig())
    encoder.blocks[0].requires_grad_(False)
    optimizer = adamw(encoder, head, OptimConfig(lr=1.0, head_lr=10.0, weight_decay=0.5))
    found: dict[int, tuple[float, float]] = {}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            assert id(parameter) not in found
            found[id(parameter)] = (group["lr"], group["weight_decay"])
    named = dict([*encoder.named_parameters(), *((f"head.{n}", p) for n, p in head.named_parameters())])
    assert {id(p) for p in named.values() if p.requires_grad} == found.keys()
    assert found[id(named["token.weight"])] == (1.0, 0.5), "a shared parameter counts as the encoder's"
    assert found[id(named["norm.bias"])] == (1.0, 0.0)
    assert found[id(named["head.words.transform.weight"])] == (10.0, 0.5)
    assert found[id(named["head.words.norm.weight"])] == (10.0, 0.0)


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


@pytest.mark.parametrize("settings", [{"lr": 0}, {"warmup": 1}, {"beta2": 1.0}, {"clip": -1}, {"schedule": "step"}])
def test_known_settings_that_make_no_sense(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"a recipe sets {next(iter(settings))} to"):
        build(OptimConfig, settings, "a recipe")
