"""One block for every family: against a literal loop in float64, and with complex parts on planar tensors."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.nn.transformer import Asked, Attention, Block, Parts, dot_product

WIDTH, HEADS, HIDDEN = 12, 3, 20
REAL = Parts(linear=nn.Linear, norm=nn.LayerNorm, activation=F.gelu, score=dot_product, dropout=nn.Dropout)


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


class ComplexLinear(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, outer, inner) / inner**0.5)
        self.bias = nn.Parameter(torch.randn(2, outer))

    def forward(self, x: Tensor) -> Tensor:
        (w, v), (a, b) = self.weight, self.bias
        return torch.stack([x[0] @ w.T - x[1] @ v.T + a, x[0] @ v.T + x[1] @ w.T + b])


class ComplexNorm(nn.Module):
    """Every token over its root mean square, real and imaginary parts together."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x: Tensor) -> Tensor:
        return x / x.square().sum(0).mean(-1, keepdim=True).sqrt() * self.scale


def magnitude(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """softmax(|q k^H| / sqrt(E)) v on planar tensors (2, R, H, T, E)."""
    real = q[0] @ k[0].mT + q[1] @ k[1].mT
    imaginary = q[1] @ k[0].mT - q[0] @ k[1].mT
    scores = (real.square() + imaginary.square()).sqrt() / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v


def split_relu(x: Tensor) -> Tensor:
    return x.relu()


COMPLEX = Parts(ComplexLinear, ComplexNorm, split_relu, magnitude, nn.Dropout)


def as_complex(x: Tensor) -> Tensor:
    return torch.complex(x[0], x[1])


def literal_complex(made: Block, x: Tensor, mask: Tensor) -> Tensor:
    """The same layer in complex128, without the block: x (R, T, D), mask (R, 1, T, T)."""

    def apply(layer: nn.Module, z: Tensor) -> Tensor:
        return z @ as_complex(layer.weight).T + as_complex(layer.bias)

    def norm(layer: nn.Module, z: Tensor) -> Tensor:
        return z / z.abs().square().mean(-1, keepdim=True).sqrt() * layer.scale

    q, k, v = apply(made.attention.qkv, x).split(WIDTH, -1)
    size, heads = WIDTH // HEADS, []
    for h in range(HEADS):
        part = slice(h * size, (h + 1) * size)
        scores = (q[..., part] @ k[..., part].mH).abs() / math.sqrt(size)
        weights = scores.masked_fill(~mask[:, 0], -math.inf).softmax(-1)
        heads.append(weights.to(v.dtype) @ v[..., part])
    y = norm(made.attention_norm, x + apply(made.attention.out, torch.cat(heads, -1)))
    up = apply(made.up, y)
    hidden = torch.complex(up.real.relu(), up.imag.relu())
    return norm(made.feed_norm, y + apply(made.down, hidden))


def test_parity_one_block_serves_planar_complex_tensors() -> None:
    made = block(COMPLEX)
    x = torch.randn(2, 3, 5, WIDTH, dtype=torch.float64)
    mask = (torch.rand(3, 1, 5, 5) < 0.6) | torch.eye(5, dtype=torch.bool)
    with torch.no_grad():
        out = made(x, mask)
        expected = literal_complex(made, as_complex(x), mask)
    assert out.shape == x.shape
    torch.testing.assert_close(as_complex(out), expected, rtol=0, atol=1e-12)
    asked = Asked.of(torch.tensor([1, 3, 12]), 3, 5)
    torch.testing.assert_close(made(x, mask, asked), out.flatten(1, 2)[:, asked.at], rtol=0, atol=1e-12)
