"""Which parameters are updated together, at which rate, by which optimiser."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import AdamW
from torch.testing import assert_close

import tiny
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.nn.complex.linear import ComplexEmbedding, ComplexLinear
from psitext.train.optim import CAdamW, OptimConfig, build_optimizer, set_rate
from psitext.train.optim.groups import pair


def test_parity_adamw_by_the_paper() -> None:
    """Algorithm 2 of Loshchilov and Hutter 2019, step by step, with decay on matrices only."""
    config = OptimConfig(lr=0.1, weight_decay=0.2, beta1=0.8, beta2=0.9, eps=1e-3)
    torch.manual_seed(0)
    encoder, head = nn.Linear(3, 2).double(), nn.Linear(2, 1).double()
    parameters = [*encoder.parameters(), *head.parameters()]
    ours = [value.detach().clone() for value in parameters]
    first, second = [torch.zeros_like(value) for value in ours], [torch.zeros_like(value) for value in ours]
    optimizer = build_optimizer(encoder, head, config)
    assert type(optimizer) is AdamW
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
    optimizer = build_optimizer(encoder, head, OptimConfig(lr=1.0, head_lr=10.0, weight_decay=0.5))
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


class Encoder(nn.Module):
    """Two complex layers and a real one, the second tied to the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.real = ComplexLinear(3, 3), ComplexLinear(3, 3), nn.Linear(2, 2)
        self.second.weight_re, self.second.weight_im = self.first.weight_re, self.first.weight_im


def test_law_complex_parameters_are_updated_in_pairs() -> None:
    encoder, head = Encoder(), ComplexLinear(3, 2)
    head.token = ComplexEmbedding(4, 3)
    head.token.weight_re, head.token.weight_im = encoder.first.weight_re, encoder.first.weight_im
    optimizer = build_optimizer(encoder, head, OptimConfig(lr=1.0, head_lr=10.0, weight_decay=0.5))
    assert type(optimizer) is CAdamW
    names = {id(p): n for n, p in [*head.named_parameters(prefix="head"), *encoder.named_parameters()]}
    assert [
        (group["pairs"], group["lr"], group["weight_decay"], [names[id(p)] for p in group["params"]])
        for group in optimizer.param_groups
    ] == [
        (1, 1.0, 0.5, ["first.weight_re", "first.weight_im", "real.weight"]),
        (2, 1.0, 0.0, ["first.bias_re", "first.bias_im", "second.bias_re", "second.bias_im", "real.bias"]),
        (1, 10.0, 0.5, ["head.weight_re", "head.weight_im"]),
        (1, 10.0, 0.0, ["head.bias_re", "head.bias_im"]),
    ]


def test_known_kinds() -> None:
    real, complex_ = nn.Linear(2, 2), ComplexLinear(2, 2)
    for kind, encoder, made in [
        ("auto", real, AdamW),
        ("auto", complex_, CAdamW),
        ("adamw", complex_, AdamW),
        ("cadamw", real, CAdamW),
        ("cadamw-paper", complex_, CAdamW),
    ]:
        optimizer = build_optimizer(encoder, nn.Linear(2, 1), OptimConfig(kind=kind, beta1=0.5, beta2=0.6, eps=1e-3))
        group = optimizer.param_groups[0]
        assert type(optimizer) is made, kind
        assert (group["betas"], group["eps"], group.get("paper", False)) == ((0.5, 0.6), 1e-3, kind.endswith("paper"))


@pytest.mark.parametrize("kept", ["weight_re", "weight_im"])
def test_known_a_half_beside_a_frozen_one_is_a_real_parameter(kept: str) -> None:
    layer = ComplexLinear(2, 2)
    layer.requires_grad_(False)
    getattr(layer, kept).requires_grad_()
    found = pair(layer.named_parameters())
    assert not found.complex
    assert [id(p) for p in found.real] == [id(getattr(layer, kept))]


def test_known_halves_that_do_not_match() -> None:
    def shaped(**shapes: tuple[int, ...]) -> list[tuple[str, nn.Parameter]]:
        return [(name, nn.Parameter(torch.zeros(shape))) for name, shape in shapes.items()]

    for named, words in [
        (shaped(a_re=(2, 3)), r"a_re \(2, 3\) is half of a complex parameter and needs a_im of the same shape"),
        (shaped(a_im=(2,)), r"a_im \(2,\) is half .* needs a_re"),
        (shaped(a_re=(2, 3), a_im=(3, 2)), r"a_re \(2, 3\) is half .* needs a_im"),
        (shaped(a_re=(2,), b_im=(2,)), r"needs a_im"),
    ]:
        with pytest.raises(ValueError, match=words):
            pair(named)


def test_known_halves_that_are_tied_apart() -> None:
    encoder = Encoder()
    encoder.second.weight_im = nn.Parameter(torch.zeros(3, 3))
    with pytest.raises(ValueError, match=r"second.weight_re is tied to another parameter"):
        pair(encoder.named_parameters(remove_duplicate=False))
    encoder, head = Encoder(), ComplexLinear(3, 3)
    head.weight_re = encoder.first.weight_re
    with pytest.raises(ValueError, match=r"weight_im \(3, 3\) is half .* needs weight_re"):
        build_optimizer(encoder, head, OptimConfig())
