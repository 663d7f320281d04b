"""What the tests of causal decoders share: tiny ones whose every weight counts, and the original's mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from psitext.heads.decoding import CausalConfig
from psitext.hf.decoders import CausalDecoder

Make = Callable[..., CausalDecoder]
SIZES: dict[str, Any] = {
    "vocab_size": 23,
    "width": 16,
    "layers": 3,
    "heads": 4,
    "hidden": 24,
    "max_len": 24,
    "latent": 5,
    "init_std": 0.3,
}


def stirred(module: torch.nn.Module) -> None:
    """Move what starts at 0 or 1, which would hide a mix-up."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))


@pytest.fixture
def make() -> Make:
    """Makes a decoder in evaluation mode: settings over the tiny ones."""

    def made(**changes: Any) -> CausalDecoder:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            decoder = CausalDecoder(CausalConfig(**SIZES | changes))
            stirred(decoder)
        return decoder.eval()

    return made


def original_states(
    weights: dict[str, Tensor], heads: int, ids: Tensor, memory: Tensor | None, added: Tensor | None, eps: float = 1e-5
) -> Tensor:
    """The GPT-2 of the original code, written down as its mathematics stand, for one row: a cached token of length 1
    in every layer, whose key and value are the same; positions that go on behind it; the causal triangle cut to fit.

    ids (T,), memory (L, H), added (H,) -> (T, H).
    """

    def norm(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred**2).mean(-1, keepdim=True)
        return centred / (spread + eps).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def conv(x: Tensor, name: str) -> Tensor:  # weights are (in, out)
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    past = 0 if memory is None else 1
    x = weights["wte.weight"][ids] + weights["wpe.weight"][past : past + len(ids)]
    x = x if added is None else x + added
    width = x.shape[1]
    for layer in range(sum(name.endswith("ln_1.weight") for name in weights)):
        h = f"h.{layer}"
        query, key, value = conv(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn").split(width, dim=1)
        if memory is not None:
            key, value = torch.cat([memory[layer : layer + 1], key]), torch.cat([memory[layer : layer + 1], value])
        triangle = torch.ones(len(key), len(key), dtype=torch.bool).tril()[len(key) - len(query) : len(key), : len(key)]
        several = []
        for head in range(heads):
            part = slice(head * width // heads, (head + 1) * width // heads)
            scores = query[:, part] @ key[:, part].T / math.sqrt(width // heads)
            several.append(scores.masked_fill(~triangle, -torch.inf).softmax(-1) @ value[:, part])
        x = x + conv(torch.cat(several, dim=1), f"{h}.attn.c_proj")
        x = x + conv(gelu(conv(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")), f"{h}.mlp.c_proj")
    return norm(x, "ln_f")


@pytest.fixture
def original() -> Callable[..., Tensor]:
    """The mathematics of the original's GPT-2."""
    return original_states
