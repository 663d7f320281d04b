"""The complex layers as their formulas stand on paper, in complex128 on torch's own complex tensors.

Gradients follow torch's convention: z.grad = dL/dRe z + i dL/dIm z = 2 dL/d(conj z), so that -z.grad is the direction
of steepest descent and d|z|^2 gives 2 z. The planar gradient of a real loss is the two parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from psitext.nn.complex.layout import planar, to_complex


def linear(z: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Eq. 1: W z + b for every vector z."""
    out = torch.einsum("fd,...d->...f", weight, z)
    return out if bias is None else out + bias


def widely_linear(z: Tensor, weight: Tensor, conjugate: Tensor, bias: Tensor | None = None) -> Tensor:
    """U z + V conj(z) + b."""
    return linear(z, weight, bias) + linear(z.conj(), conjugate)


def embedding(ids: Tensor, weight: Tensor) -> Tensor:
    """Rows of the matrix, as a sum over all of them."""
    return (ids[..., None] == torch.arange(len(weight))).to(weight.dtype) @ weight


def layer_norm(z: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Eqs. 2 and 7."""
    centred = z - z.sum(-1, keepdim=True) / z.shape[-1]
    variance = (centred * centred.conj()).real.sum(-1, keepdim=True) / z.shape[-1]
    return centred / (variance + eps).sqrt() * weight + bias


def wide_layer_norm(z: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """The real norm of all real and imaginary parts together; the parts of ``weight`` multiply those of z."""
    mean = (z.real + z.imag).mean(-1, keepdim=True) / 2
    re, im = z.real - mean, z.imag - mean
    sigma = ((re**2 + im**2).mean(-1, keepdim=True) / 2 + eps).sqrt()
    return torch.complex(re / sigma * weight.real + bias.real, im / sigma * weight.imag + bias.imag)


def first_norm(z: Tensor, others: Tensor, first: Tensor, length: float) -> Tensor:
    """``others`` where ``first`` is False, else z / |z| * length."""
    ray = z / (z * z.conj()).real.sum(-1, keepdim=True).sqrt() * length
    return torch.where(first[..., None], ray, others)


def gelu(z: Tensor) -> Tensor:
    """Eq. 6."""
    return torch.complex(
        z.real / 2 * (1 + (z.real / 2**0.5).erf()),
        z.imag / 2 * (1 + (z.imag / 2**0.5).erf()),
    )


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Of real scores, over what the mask admits."""
    powers = scores.exp() if mask is None else scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, score: str) -> Tensor:
    """Eqs. 3 to 5, and the softmax of the real part; (R, H, T, E) complex."""
    scores = torch.einsum("rhqe,rhte->rhqt", q, k.conj()) / q.shape[-1] ** 0.5
    if score == "modulus":
        weights = softmax((scores * scores.conj()).real.sqrt(), mask).to(v.dtype)
    elif score == "split":
        weights = torch.complex(softmax(scores.real, mask), softmax(scores.imag, mask))
    else:
        weights = softmax(scores.real, mask).to(v.dtype)
    return torch.einsum("rhqt,rhte->rhqe", weights, v)


def block(
    z: Tensor,
    weights: Mapping[str, Tensor],
    mask: Tensor | None,
    *,
    heads: int,
    score: str = "modulus",
    eps: float,
    first: Tensor | None = None,
    length: float = 1.0,
) -> Tensor:
    """One layer on (R, T, D), with complex ``weights`` by the names of ``paired``; no query or output projection where
    they lack one.
    """

    def apply(name: str, value: Tensor) -> Tensor:
        return linear(value, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str, value: Tensor) -> Tensor:
        inner = name if first is None else f"{name}.inner"
        others = layer_norm(value, weights[f"{inner}.weight"], weights[f"{inner}.bias"], eps)
        return others if first is None else first_norm(value, others, first, length)

    if "attention.qkv.weight" in weights:
        q, k, v = apply("attention.qkv", z).chunk(3, -1)
    else:
        q, (k, v) = z, apply("attention.qkv.kv", z).chunk(2, -1)
    parts = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (q, k, v))
    attended = attention(*parts, mask, score).transpose(1, 2).flatten(-2)
    if "attention.out.weight" in weights:
        attended = apply("attention.out", attended)
    z = norm("attention_norm", z + attended)
    return norm("feed_norm", z + apply("down", gelu(apply("up", z))))


def paired(module: nn.Module) -> dict[str, Tensor]:
    """The parameters of a module by name, pairs ``name_re``, ``name_im`` as one complex128 ``name``."""
    named = {name: parameter.detach().double() for name, parameter in module.named_parameters()}
    pairs = {name.removesuffix("_re"): value for name, value in named.items() if name.endswith("_re")}
    single = {name: value for name, value in named.items() if not name.endswith(("_re", "_im"))}
    return single | {name: torch.complex(value, named[f"{name}_im"]) for name, value in pairs.items()}


def split(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The way back: planar (2, ...) values by pair names -> parts by parameter names."""
    return {f"{name}{part}": value[i] for name, value in weights.items() for i, part in enumerate(("_re", "_im"))}


def random(*shape: int, seed: int = 0) -> Tensor:
    """Complex normal numbers of power 1."""
    return torch.randn(*shape, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))


def assert_same(
    ours: Callable[..., Tensor], literal: Callable[..., Tensor], *values: Tensor, atol: float = 1e-10
) -> None:
    """Value and gradients: ``ours`` on planar values gives planar or real ones, ``literal`` complex or real ones."""
    mine = [planar(value).requires_grad_() for value in values]
    theirs = [value.clone().requires_grad_() for value in values]
    out, expected = ours(*mine), literal(*theirs)
    wide = to_complex(out) if expected.is_complex() else out
    torch.testing.assert_close(wide, expected, rtol=0, atol=atol)
    direction = torch.randn(expected.shape, dtype=expected.dtype, generator=torch.Generator().manual_seed(1))
    loss = (wide * direction.conj()).real.sum() if wide.is_complex() else (wide * direction).sum()
    got = torch.autograd.grad(loss, mine)
    want = torch.autograd.grad(expected, theirs, direction)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(to_complex(one), other, rtol=0, atol=atol)
