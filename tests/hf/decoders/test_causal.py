"""The causal decoder: the original's mathematics, and nothing else where there is no latent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2LMHeadModel, LlamaForCausalLM

from psitext.assemble import build_decoder
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig, Decoder, DecodingHead
from psitext.hf.decoders import CausalDecoder
from psitext.hf.decoders.networks import GELU
from psitext.hf.decoders.settings import to_theirs
from psitext.nn.dropout import Dropout
from psitext.nn.numerics import autocast

Make = Callable[..., CausalDecoder]
CLASSES = {"gpt2": GPT2LMHeadModel, "llama": LlamaForCausalLM}
INJECTIONS = ("memory", "embedding", "both")


def some(decoder: CausalDecoder, rows: int = 3, tokens: int = 7, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Tokens and latents of the decoder's own precision."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, decoder.config.vocab_size, (rows, tokens), generator=draw)
    latent = torch.randn(rows, decoder.config.latent, generator=draw)
    return ids, latent.to(decoder.token.weight.dtype)


def weights_of(decoder: CausalDecoder) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in decoder.network.base_model.state_dict().items()}


@pytest.mark.parametrize("dtype,gap", [(torch.float32, 2e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("injection", INJECTIONS)
def test_parity_with_the_original(
    make: Make, original: Callable[..., Tensor], injection: str, dtype: torch.dtype, gap: float
) -> None:
    decoder = make(injection=injection).to(dtype)
    ids, latent = some(decoder)
    with torch.no_grad():
        states = decoder.states(ids, latent)
        logits = decoder.logits(states)
        for row in range(len(ids)):
            memory = added = None
            if decoder.memory is not None:
                memory = torch.stack((decoder.memory.weight @ latent[row]).split(16))  # L chunks of H
            if decoder.embedding is not None:
                added = decoder.embedding.weight @ latent[row]
            expected = original(weights_of(decoder), 4, ids[row], memory, added)
            assert (states[row] - expected).abs().max() < gap
            assert (logits[row] - expected @ decoder.token.weight.T).abs().max() < 4 * gap
    assert states.std() > 0.5


def llama_states(decoder: CausalDecoder, ids: Tensor, memory: Tensor | None, added: Tensor | None) -> Tensor:
    """Llama as its mathematics stand, for one row; the memory's key is not rotated. ids (T,), memory (L, G * E)."""
    w, c = weights_of(decoder), decoder.config
    size, groups = c.width // c.heads, c.heads // (c.kv_heads or c.heads)

    def norm(x: Tensor, name: str) -> Tensor:
        return x / ((x**2).mean(-1, keepdim=True) + c.norm_eps).sqrt() * w[f"{name}.weight"]

    def rotated(x: Tensor) -> Tensor:  # (T, E): numbers i and i + E / 2 turn together
        half = size // 2
        angle = torch.arange(len(x))[:, None] * c.rope_theta ** (-torch.arange(half) / half)[None]
        one, two = x[:, :half], x[:, half:]
        return torch.cat([one * angle.cos() - two * angle.sin(), two * angle.cos() + one * angle.sin()], dim=1)

    x = w["embed_tokens.weight"][ids]
    x = x if added is None else x + added
    for layer in range(c.layers):
        h = f"layers.{layer}"
        y = norm(x, f"{h}.input_layernorm")
        query, key, value = (y @ w[f"{h}.self_attn.{part}_proj.weight"].T for part in "qkv")
        several = []
        for head in range(c.heads):
            mine, kept = (
                slice(head * size, (head + 1) * size),
                slice(head // groups * size, (head // groups + 1) * size),
            )
            keys, values = rotated(key[:, kept]), value[:, kept]
            seen = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
            if memory is not None:
                slot = memory[layer, kept][None]
                keys, values = torch.cat([slot, keys]), torch.cat([slot, values])
                seen = torch.cat([torch.ones(len(ids), 1, dtype=torch.bool), seen], dim=1)
            scores = rotated(query[:, mine]) @ keys.T / math.sqrt(size)
            several.append(scores.masked_fill(~seen, -torch.inf).softmax(-1) @ values)
        x = x + torch.cat(several, dim=1) @ w[f"{h}.self_attn.o_proj.weight"].T
        y = norm(x, f"{h}.post_attention_layernorm")
        gate, up = (y @ w[f"{h}.mlp.{part}_proj.weight"].T for part in ("gate", "up"))
        x = x + (gate * gate.sigmoid() * up) @ w[f"{h}.mlp.down_proj.weight"].T
    return norm(x, "norm")


@pytest.mark.parametrize("kv_heads", [None, 2, 1])
@pytest.mark.parametrize("injection", INJECTIONS)
def test_parity_of_llama(make: Make, injection: str, kv_heads: int | None) -> None:
    decoder = make(model="llama", injection=injection, kv_heads=kv_heads)
    ids, latent = some(decoder)
    with torch.no_grad():
        states = decoder.states(ids, latent)
        for row in range(len(ids)):
            memory, added = decoder.injected(latent[row : row + 1])
            memory, added = (None if part is None else part[0] for part in (memory, added))
            assert (states[row] - llama_states(decoder, ids[row], memory, added)).abs().max() < 2e-5


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("model,kv_heads", [("gpt2", None), ("llama", None), ("llama", 2)])
def test_parity_without_a_latent_it_is_their_model(make: Make, model: str, kv_heads: int | None, tied: bool) -> None:
    decoder = make(model=model, kv_heads=kv_heads, latent=0, tied=tied)
    assert all(name.startswith("network.") for name, _ in decoder.named_parameters())
    ids, latent = some(decoder)
    with torch.no_grad():
        logits = decoder.logits(decoder.states(ids, latent))
        for changes, gap in (({"activation_function": GELU} if model == "gpt2" else {}, 0.0), ({}, 5e-6)):
            theirs = CLASSES[model](CLASSES[model].config_class(**to_theirs(decoder.config) | changes)).eval()
            theirs.load_state_dict(decoder.network.state_dict())
            expected = theirs(input_ids=ids, use_cache=False).logits
            assert (logits - expected).abs().max() <= gap, "to the last bit, but for another way to write GELU"
    assert logits.std() > 0.5


@pytest.mark.parametrize("model", ["gpt2", "llama"])
@pytest.mark.parametrize("injection", INJECTIONS)
def test_law_only_what_is_used_exists_and_learns(make: Make, model: str, injection: str) -> None:
    decoder = make(model=model, injection=injection, kv_heads=2 if model == "llama" else None).train()
    names = {name for name, _ in decoder.named_parameters()}
    assert ("memory.weight" in names) == (injection != "embedding")
    assert ("embedding.weight" in names) == (injection != "memory")
    ids, latent = some(decoder)
    decoder.logits(decoder.states(ids, latent.requires_grad_())).logsumexp(-1).sum().backward()
    silent = [name for name, one in decoder.named_parameters() if one.grad is None or not one.grad.abs().max() > 0]
    assert silent == []
    assert latent.grad is not None and latent.grad.abs().min() > 0


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("model", ["gpt2", "llama"])
@pytest.mark.parametrize("layers", [0, 1, 3])
def test_law_what_is_frozen_stays(make: Make, model: str, tied: bool, layers: int) -> None:
    decoder = make(model=model, tied=tied, kv_heads=2 if model == "llama" else None).train()
    decoder.freeze(3)
    decoder.freeze(layers)  # the last word counts
    before = {name: value.detach().clone() for name, value in decoder.named_parameters()}
    ids, latent = some(decoder)
    decoder.logits(decoder.states(ids, latent)).logsumexp(-1).sum().backward()
    torch.optim.SGD(decoder.parameters(), lr=0.1).step()
    moved = {name for name, value in decoder.named_parameters() if not torch.equal(value, before[name])}
    layer = "network.transformer.h." if model == "gpt2" else "network.model.layers."
    below = tuple(f"{layer}{number}." for number in range(layers))
    words = ("network.transformer.wte", "network.transformer.wpe", "network.model.embed_tokens")
    latents = {"memory.weight", "embedding.weight"}
    allowed = {
        0: before.keys(),
        1: {name for name in before if not name.startswith((*below, *words))},
        3: latents,
    }[layers]
    assert moved == allowed
    assert latents <= moved


def test_smoke_what_cannot_be_frozen_says_why(make: Make) -> None:
    with pytest.raises(UserError, match="has 3 layers, of which 4 cannot be frozen"):
        make().freeze(4)
    with pytest.raises(UserError, match="all of its 3 layers frozen has nothing to learn"):
        make(latent=0).freeze(3)
    make(latent=0).freeze(2)


def test_known_sizes_of_the_papers_matrices() -> None:
    with torch.device("meta"):
        decoder = CausalDecoder(
            CausalConfig(vocab_size=50_260, width=768, layers=12, heads=12, hidden=3_072, max_len=1024)
        )
    assert decoder.memory is not None and decoder.embedding is not None
    assert decoder.memory.weight.shape == (12 * 768, 32) and decoder.embedding.weight.shape == (768, 32)
    assert round((decoder.memory.weight.numel() + decoder.embedding.weight.numel()) / 1e6, 3) == 0.319


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_law_what_stands_on_the_right_has_no_influence(make: Make, model: str) -> None:
    decoder = make(model=model)
    ids, latent = some(decoder)
    other = ids.clone()
    other[:, 4:] = decoder.config.pad
    with torch.no_grad():
        one, two = decoder.states(ids, latent), decoder.states(other, latent)
        alone = torch.cat([decoder.states(ids[row : row + 1, :4], latent[row : row + 1]) for row in range(3)])
    assert torch.equal(one[:, :4], two[:, :4]) and not torch.allclose(one[:, 4:], two[:, 4:])
    assert (alone - one[:, :4]).abs().max() < 1e-5


@pytest.mark.parametrize("shift", [True, False])
def test_law_positions_count_from_one_behind_a_memory(make: Make, shift: bool) -> None:
    for injection in INJECTIONS:
        decoder = make(injection=injection, position_shift=shift)
        ids, latent = some(decoder)
        before = decoder.states(ids, latent).detach()
        with torch.no_grad():
            decoder.network.transformer.wpe.weight[0] += 1
        unused = torch.equal(decoder.states(ids, latent), before)
        assert unused == (shift and injection != "embedding")


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_law_activation_checkpointing_changes_no_gradient(make: Make, model: str) -> None:
    gradients: list[dict[str, Tensor]] = []
    for recompute in (False, True):
        decoder = make(model=model).train()
        if recompute:
            decoder.network.activation_checkpointing_enable()
        ids, latent = some(decoder)
        decoder.logits(decoder.states(ids, latent)).square().mean().backward()
        gradients.append({name: one.grad for name, one in decoder.named_parameters() if one.grad is not None})
    plain, recomputed = gradients
    assert plain.keys() == recomputed.keys() and {"memory.weight", "embedding.weight"} <= plain.keys()
    assert all(torch.allclose(value, recomputed[name], atol=1e-7) for name, value in plain.items())


def test_law_bfloat16_is_near(make: Make) -> None:
    decoder = make(width=32, hidden=64, init_std=0.1).train()
    ids, latent = some(decoder, tokens=12)
    exact = decoder.states(ids, latent)
    with autocast(ids.device, "bf16"):
        rounded = decoder.states(ids, latent)
    assert rounded.dtype == torch.float32  # the stream of a layer; products alone are rounded
    gap = (rounded - exact).norm() / exact.norm()
    assert 1e-6 < gap < 0.03


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_law_dropout_is_of_training_alone(make: Make, model: str) -> None:
    decoder = make(model=model, dropout=0.3)
    ids, latent = some(decoder)
    assert torch.equal(decoder.states(ids, latent), decoder.states(ids, latent))
    decoder.train()
    assert not torch.equal(decoder.states(ids, latent), decoder.states(ids, latent))
    kinds = [type(one) for name, one in decoder.named_modules() if "drop" in name and not name.endswith("attn_dropout")]
    assert set(kinds) <= {Dropout}


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_law_the_seed_alone_decides_the_weights(model: Any) -> None:
    config = CausalConfig(model=model, vocab_size=19, width=8, layers=1, heads=2, hidden=8, max_len=8, latent=3)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, same, other = (build_decoder(config, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert not torch.equal(one["memory.weight"], other["memory.weight"])


def test_smoke_wrong_sizes_are_refused(make: Make) -> None:
    decoder = make()
    ids, latent = some(decoder, tokens=24)
    with pytest.raises(ValueError, match="24 tokens do not fit 24 positions from 1"):
        decoder.states(ids, latent)
    with pytest.raises(ValueError, match="4 numbers"):
        decoder.states(ids[:, :5], latent[:, :4])
    assert isinstance(decoder, Decoder) and DecodingHead(decoder).decoder is decoder
