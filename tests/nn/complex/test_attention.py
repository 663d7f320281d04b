"""Complex attention: each score against its formula in complex128, with every kind of mask, and by its symmetries."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import oracle
from psitext.nn.complex.attention import KeyValue, modulus_score, real_score, split_score
from psitext.nn.complex.layout import planar, to_complex
from psitext.nn.complex.linear import ComplexLinear
from psitext.nn.transformer import Score

ROWS, HEADS, TOKENS, SIZE = 2, 3, 5, 4
SCORES: dict[str, Score] = {"modulus": modulus_score, "split": split_score, "real": real_score}
PACKED = torch.block_diag(torch.ones(2, 2), torch.ones(2, 2), torch.ones(1, 1)).bool()
MASKS = {
    "none": None,
    "padded": torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None, None, :],
    "packed": torch.stack([PACKED, torch.ones(5, 5, dtype=torch.bool)])[:, None],
}
scores = pytest.mark.parametrize("score", SCORES)


def values(tokens: int = TOKENS) -> list[Tensor]:
    return [oracle.random(ROWS, HEADS, count, SIZE, seed=i) for i, count in enumerate((tokens, TOKENS, TOKENS))]


@scores
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("queries", [TOKENS, 2])
def test_parity_with_the_formula(score: str, mask: str, queries: int) -> None:
    seen = MASKS[mask]
    if seen is not None and seen.shape[-2] > 1:
        seen = seen[..., :queries, :]

    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return SCORES[score](q, k, v, seen, 0.0)

    def literal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return oracle.attention(q, k, v, seen, score)

    oracle.assert_same(ours, literal, *values(queries))


@scores
def test_law_what_is_masked_has_no_influence_and_no_gradient(score: str) -> None:
    q, k, v = (planar(value).requires_grad_() for value in values())
    out = SCORES[score](q, k, v, MASKS["padded"], 0.0)
    grads = torch.autograd.grad(out.square().sum(), [k, v])
    for grad in grads:
        assert not grad[:, 1, :, 3:].any() and grad[:, 1, :, :3].all() and grad[:, 0].all()
    louder = [torch.where(MASKS["padded"].mT, value, 1e3 * value) for value in (k, v)]
    torch.testing.assert_close(SCORES[score](q, *louder, MASKS["padded"], 0.0), out, rtol=0, atol=1e-12)


@scores
def test_law_a_packed_sentence_attends_as_if_alone(score: str) -> None:
    q, k, v = (planar(value)[:, :1] for value in values())
    packed = SCORES[score](q, k, v, MASKS["packed"][:1], 0.0)
    for part in (slice(0, 2), slice(2, 4), slice(4, 5)):
        alone = SCORES[score](q[..., part, :], k[..., part, :], v[..., part, :], None, 0.0)
        torch.testing.assert_close(packed[..., part, :], alone, rtol=0, atol=1e-12)


def turned(x: Tensor, angle: Tensor) -> Tensor:
    return planar(to_complex(x) * torch.polar(torch.ones_like(angle), angle))


@given(seed=st.integers(0, 2**31 - 1))
def test_law_moduli_do_not_see_phases(seed: int) -> None:
    q, k, v = (planar(value) for value in values())
    generator = torch.Generator().manual_seed(seed)
    angles = [6.3 * torch.rand(ROWS, HEADS, TOKENS, 1, generator=generator, dtype=torch.float64) for _ in range(2)]
    out = modulus_score(turned(q, angles[0]), turned(k, angles[1]), v, MASKS["padded"], 0.0)
    torch.testing.assert_close(out, modulus_score(q, k, v, MASKS["padded"], 0.0), rtol=0, atol=1e-12)


@scores
@given(angle=st.floats(-3, 3))
def test_law_a_common_phase_cancels_and_values_carry_theirs(score: str, angle: float) -> None:
    q, k, v = (planar(value) for value in values())
    turn = torch.tensor(angle).double()
    out = SCORES[score](turned(q, turn), turned(k, turn), turned(v, turn), None, 0.0)
    torch.testing.assert_close(out, turned(SCORES[score](q, k, v, None, 0.0), turn), rtol=0, atol=1e-12)


def test_known_modulus_and_real_weights_are_convex_and_split_ones_sum_to_one_plus_i() -> None:
    q, k, _ = (planar(value) for value in values())
    ones = planar(torch.ones(ROWS, HEADS, TOKENS, SIZE, dtype=torch.complex128))
    for score, expected in (("modulus", 1), ("real", 1), ("split", 1 + 1j)):
        out = to_complex(SCORES[score](q, k, ones, MASKS["padded"], 0.0))
        torch.testing.assert_close(out, torch.full_like(out, expected), rtol=0, atol=1e-12)


def test_known_queries_of_zero_attend_evenly_with_finite_gradients() -> None:
    _, k, v = (planar(value) for value in values())
    for score in SCORES.values():
        q = torch.zeros(2, ROWS, HEADS, TOKENS, SIZE, dtype=torch.float64, requires_grad=True)
        out = score(q, k, v, None, 0.0)
        out.square().sum().backward()
        assert q.grad is not None and q.grad.isfinite().all()
    mean = v.mean(-2, keepdim=True).expand_as(v)
    torch.testing.assert_close(modulus_score(q, k, v, None, 0.0), mean, rtol=0, atol=1e-12)


@scores
def test_law_dropout_takes_whole_complex_weights_and_keeps_the_mean(score: str) -> None:
    torch.manual_seed(0)
    q, k, v = (planar(torch.randn(1, 1, count, 4, dtype=torch.complex64)) for count in (400, 4, 4))
    v = torch.stack([torch.eye(4), torch.zeros(4, 4)])[:, None, None]  # values that show the weights
    whole, dropped = SCORES[score](q, k, v, None, 0.0), SCORES[score](q, k, v, None, 0.25)
    kept = dropped != 0
    assert abs(float(kept[0].double().mean()) - 0.75) < 0.05
    if score == "split":
        assert torch.equal(kept[0], kept[1])
    torch.testing.assert_close(dropped, torch.where(kept, whole / 0.75, 0))


@scores
def test_parity_bfloat16_under_autocast(score: str) -> None:
    torch.manual_seed(0)
    q, k, v = (planar(torch.randn(2, 2, 8, 16, dtype=torch.complex64)) for _ in range(3))
    exact = SCORES[score](q, k, v, None, 0.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = SCORES[score](q.bfloat16(), k.bfloat16(), v.bfloat16(), None, 0.0)
    assert rounded.dtype == torch.bfloat16
    assert (rounded.float() - exact).norm() < 0.03 * exact.norm()


def test_known_states_are_their_own_queries() -> None:
    layer, x = KeyValue(ComplexLinear(4, 8)), torch.randn(2, 3, 5, 4)
    q, k, v = layer(x).chunk(3, -1)
    assert torch.equal(q, x)
    assert torch.equal(torch.cat([k, v], -1), layer.kv(x))
    assert [name for name, _ in layer.named_parameters()] == [
        "kv.weight_re",
        "kv.weight_im",
        "kv.bias_re",
        "kv.bias_im",
    ]
    assert KeyValue(nn.Linear(4, 8))(x).shape == (2, 3, 5, 12)
