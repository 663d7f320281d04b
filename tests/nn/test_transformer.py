"""One block for every family: against a literal loop in float64, and with complex parts on planar tensors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

import oracle
from psitext.nn.complex.attention import KeyValue, modulus_score, real_score, split_score
from psitext.nn.complex.layout import PlanarDropout, planar
from psitext.nn.complex.linear import ComplexLinear
from psitext.nn.complex.norm import ComplexLayerNorm, FirstNorm
from psitext.nn.transformer import Asked, Attention, Block, Parts, dot_product

WIDTH, HEADS, HIDDEN = 12, 3, 20
REAL = Parts(
    qkv=lambda width: nn.Linear(width, 3 * width),
    out=lambda width: nn.Linear(width, width),
    linear=nn.Linear,
    norm=nn.LayerNorm,
    activation=F.gelu,
    score=dot_product,
    dropout=nn.Dropout,
)


def block(parts: Parts = REAL, dropout: float = 0.0, attention_dropout: float = 0.0) -> Block:
    torch.manual_seed(0)
    made = Block(WIDTH, HEADS, HIDDEN, parts, dropout=dropout, attention_dropout=attention_dropout).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return made.eval()


def layer_norm(vector: list[float], norm: nn.LayerNorm) -> list[float]:
    mean = sum(vector) / len(vector)
    variance = sum((x - mean) ** 2 for x in vector) / len(vector)
    return [
        (x - mean) / math.sqrt(variance + norm.eps) * w + b
        for x, w, b in zip(vector, norm.weight.tolist(), norm.bias.tolist(), strict=True)
    ]


def linear(vector: list[float], layer: nn.Linear, first: int = 0, last: int | None = None) -> list[float]:
    rows = zip(layer.weight.tolist()[first:last], layer.bias.tolist()[first:last], strict=True)
    return [sum(w * x for w, x in zip(row, vector, strict=True)) + bias for row, bias in rows]


def literal(made: Block, row: list[list[float]], mask: list[list[bool]]) -> list[list[float]]:
    """The block on one row of tokens, as its formulas stand on paper; one number at a time."""
    attention, size = made.attention, WIDTH // HEADS
    q, k, v = ([linear(x, attention.qkv, i * WIDTH, (i + 1) * WIDTH) for x in row] for i in range(3))
    result = []
    for t, x in enumerate(row):
        attended: list[float] = []
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            scores = [
                sum(a * b for a, b in zip(q[t][part], key[part], strict=True)) / math.sqrt(size)
                if mask[t][s]
                else -math.inf
                for s, key in enumerate(k)
            ]
            total = sum(math.exp(score) for score in scores)
            attended += [
                sum(math.exp(score) / total * value[h * size + e] for score, value in zip(scores, v, strict=True))
                for e in range(size)
            ]
        y = [a + b for a, b in zip(x, linear(attended, attention.out), strict=True)]
        y = layer_norm(y, made.attention_norm)
        hidden = [0.5 * u * (1 + math.erf(u / math.sqrt(2))) for u in linear(y, made.up)]
        z = [a + b for a, b in zip(y, linear(hidden, made.down), strict=True)]
        result.append(layer_norm(z, made.feed_norm))
    return result


def test_parity_the_block_is_its_formulas() -> None:
    made = block()
    x = torch.randn(2, 5, WIDTH, dtype=torch.float64)
    mask = torch.rand(2, 5, 5) < 0.6
    mask |= torch.eye(5, dtype=torch.bool)
    with torch.no_grad():
        out = made(x, mask[:, None])
    rows = [literal(made, row.tolist(), see.tolist()) for row, see in zip(x, mask, strict=True)]
    expected = torch.tensor(rows, dtype=torch.float64)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


def test_known_another_scale_takes_the_place_of_the_usual_one() -> None:
    q, k, v = torch.randn(3, 2, 3, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(
        dot_product(q, k, v, None, 0.0, scale=0.7), (0.7 * q @ k.mT).softmax(-1) @ v, rtol=0, atol=1e-12
    )
    torch.manual_seed(0)
    usual = dot_product(q, k, v, None, 0.5)
    torch.manual_seed(0)
    assert torch.equal(dot_product(2 * q, k, v, None, 0.5, scale=0.25), usual)


def test_law_without_a_mask_every_token_is_seen() -> None:
    made = block()
    x = torch.randn(2, 5, WIDTH, dtype=torch.float64)
    everything = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    torch.testing.assert_close(made(x, None), made(x, everything), rtol=0, atol=1e-12)


def test_law_what_is_masked_has_no_influence_and_no_gradient() -> None:
    made = block()
    x = torch.randn(1, 6, WIDTH, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(1, 1, 1, 6, dtype=torch.bool)
    mask[..., 4:] = False
    made(x, mask)[0, :4].sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad[0, 4:], torch.zeros(2, WIDTH, dtype=torch.float64))
    assert (x.grad[0, :4] != 0).all()


def test_law_attention_does_not_know_the_order_of_tokens() -> None:
    made = block()
    x = torch.randn(1, 6, WIDTH, dtype=torch.float64)
    order = torch.tensor([3, 1, 5, 0, 4, 2])
    torch.testing.assert_close(made(x[:, order], None), made(x, None)[:, order], rtol=0, atol=1e-12)


MASKS = {
    "none": None,
    "keys": torch.tensor([True, True, True, True, False]).expand(3, 1, 1, 5),
    "pairs": (torch.arange(25).reshape(5, 5) % 3 == 0).expand(3, 1, 5, 5) | torch.eye(5, dtype=torch.bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("places", [[0, 5, 10], [13, 0, 1, 11, 11], [7], list(range(15))])
def test_law_what_is_asked_for_is_what_the_whole_block_has_there(mask: str, places: list[int]) -> None:
    made, x = block(), torch.randn(3, 5, WIDTH, dtype=torch.float64, requires_grad=True)
    asked = Asked.of(torch.tensor(places), 3, 5)
    assert asked.at.tolist() == sorted(set(places))
    some, whole = made(x, MASKS[mask], asked), made(x, MASKS[mask]).flatten(0, 1)[asked.at]
    torch.testing.assert_close(some, whole, rtol=0, atol=1e-12)
    weights = torch.randn_like(whole)
    inputs = [x, *made.parameters()]
    for one, other in zip(
        torch.autograd.grad(some, inputs, weights), torch.autograd.grad(whole, inputs, weights), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_known_dropout_is_active_in_training_only() -> None:
    x = torch.randn(1, 6, WIDTH, dtype=torch.float64)
    for settings in ({"dropout": 0.5}, {"attention_dropout": 0.5}):
        made = block(**settings)
        assert torch.equal(made(x, None), made(x, None))
        made.train()
        assert not torch.equal(made(x, None), made(x, None))


def test_known_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="width 12 is not a multiple of 5 heads"):
        Attention(12, 5, REAL, 0.0)


# Complex parts: real and imaginary part stand on a leading axis of 2, which the block never looks at.

EPS = 1e-12
SCORES = {"modulus": modulus_score, "split": split_score, "real": real_score}
FIRST = torch.tensor([[True, False, False, False, False], [True, False, True, False, False], [False] * 5])


def complex_parts(score: str, projections: bool, how: Literal["unit", "rms"] | None) -> Parts:
    def norm(width: int) -> nn.Module:
        inner = ComplexLayerNorm(width, EPS)
        return inner if how is None else FirstNorm(inner, how)

    def qkv(width: int) -> nn.Module:
        return ComplexLinear(width, 3 * width) if projections else KeyValue(ComplexLinear(width, 2 * width))

    def out(width: int) -> nn.Module:
        return ComplexLinear(width, width) if projections else nn.Identity()

    return Parts(qkv, out, ComplexLinear, norm, F.gelu, SCORES[score], PlanarDropout)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("projections", [True, False])
@pytest.mark.parametrize("how", [None, "unit", "rms"])
def test_parity_one_block_serves_planar_complex_tensors(
    score: str, projections: bool, how: Literal["unit", "rms"] | None
) -> None:
    made = block(complex_parts(score, projections, how))
    weights = oracle.paired(made)
    mask = (torch.rand(3, 1, 5, 5) < 0.6) | torch.eye(5, dtype=torch.bool)
    first = None if how is None else FIRST
    length = WIDTH**0.5 if how == "rms" else 1.0

    def ours(x: Tensor, *parameters: Tensor) -> Tensor:
        given = oracle.split(dict(zip(weights, parameters, strict=True)))
        return functional_call(made, given, (x, mask, None, first))

    def literal(z: Tensor, *parameters: Tensor) -> Tensor:
        given = dict(zip(weights, parameters, strict=True))
        return oracle.block(z, given, mask, heads=HEADS, score=score, eps=EPS, first=first, length=length)

    oracle.assert_same(ours, literal, oracle.random(3, 5, WIDTH), *weights.values())


@pytest.mark.parametrize("places", [[1, 3, 12], [0, 5, 7, 7]])
def test_law_first_tokens_are_found_among_the_asked(places: list[int]) -> None:
    made = block(complex_parts("modulus", False, "rms"))
    x, mask = planar(oracle.random(3, 5, WIDTH)), torch.ones(3, 1, 1, 5, dtype=torch.bool)
    asked = Asked.of(torch.tensor(places), 3, 5)
    whole = made(x, mask, None, FIRST).flatten(1, 2)
    torch.testing.assert_close(made(x, mask, asked, FIRST), whole[:, asked.at], rtol=0, atol=1e-12)


def test_known_norms_hear_of_first_tokens_only_where_there_are_some() -> None:
    heard: list[tuple[int, ...] | None] = []

    class Listening(nn.Module):
        def forward(self, x: Tensor, first: Tensor | None = None) -> Tensor:
            heard.append(None if first is None else tuple(first.shape))
            return x

    made = block(replace(REAL, norm=lambda width: Listening()))
    x = torch.randn(3, 5, WIDTH, dtype=torch.float64)
    made(x, None)
    made(x, None, None, FIRST)
    made(x, None, Asked.of(torch.tensor([0, 1]), 3, 5), FIRST)
    assert heard == [None, None, (3, 5), (3, 5), (2,), (2,)]


def test_law_no_sentence_changes_another() -> None:
    made = block(complex_parts("modulus", True, "rms"))
    x = planar(oracle.random(3, 5, WIDTH))
    whole = made(x, None, None, FIRST)
    torch.testing.assert_close(made(x[:, :1], None, None, FIRST[:1]), whole[:, :1], rtol=0, atol=1e-12)
    x[:, 0] = 1e3
    assert torch.equal(made(x, None, None, FIRST)[:, 1:], whole[:, 1:])
