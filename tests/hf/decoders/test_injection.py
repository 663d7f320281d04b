"""The attention function by itself, and in models that transformers runs: masks, caches, beams, several samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, DynamicCache, GPT2LMHeadModel, LlamaForCausalLM, Qwen2Config, Qwen2Model

from psitext.hf.decoders import CausalDecoder
from psitext.hf.decoders.injection import NAME, attention, causal, register
from psitext.hf.decoders.settings import to_theirs

Make = Callable[..., CausalDecoder]


class Layer(nn.Module):
    layer_idx = 1


class Named:
    """A user's own class: ``generate`` hands on what ``forward`` names."""

    def forward(self, input_ids: Tensor, latent_memory: Tensor | None = None, **rest: Any) -> Any:
        return super().forward(input_ids=input_ids, latent_memory=latent_memory, **rest)  # type: ignore[misc]


class NamedGPT2(Named, GPT2LMHeadModel):  # type: ignore[misc]
    pass


class NamedLlama(Named, LlamaForCausalLM):  # type: ignore[misc]
    pass


def user(decoder: CausalDecoder) -> Any:
    """transformers' class around the same weights, without psitext's decoder."""
    named = {"gpt2": NamedGPT2, "llama": NamedLlama}[decoder.config.model]
    config = named.config_class(**to_theirs(decoder.config))
    config._attn_implementation = register()
    model = named(config).eval()
    model.load_state_dict(decoder.network.state_dict())
    return model


def ended(rows: Tensor) -> list[list[int]]:
    """Rows up to their first eos."""
    return [row[: row.index(2) + 1] if 2 in row else row for row in rows.tolist()]


@pytest.mark.parametrize("queries,heads,kv_heads", [(4, 4, 4), (4, 4, 2), (2, 4, 1), (1, 2, 2)])
@pytest.mark.parametrize("slot", [True, False])
def test_parity_of_attention(queries: int, heads: int, kv_heads: int, slot: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, *shape, 6, generator=draw, dtype=torch.double)
        for shape in ((heads, queries), (kv_heads, 4), (kv_heads, 4))
    )
    memory = torch.randn(2, 3, kv_heads * 6, generator=draw, dtype=torch.double) if slot else None
    found, weights = attention(Layer(), q, k, v, None, scaling=0.3, latent_memory=memory)
    assert found.shape == (2, queries, heads, 6) and weights is None
    for row in range(2):
        for head in range(heads):
            kept = head * kv_heads // heads
            for query in range(queries):
                seen = slice(0, 4 - queries + query + 1)
                keys, values = k[row, kept, seen], v[row, kept, seen]
                if memory is not None:
                    one = memory[row, 1].view(kv_heads, 6)[kept][None]
                    keys, values = torch.cat([one, keys]), torch.cat([one, values])
                expected = (keys @ q[row, head, query] * 0.3).softmax(0) @ values
                assert torch.allclose(found[row, query, head], expected, atol=1e-14)


def test_known_causal_masks() -> None:
    cpu = torch.device("cpu")
    assert causal(1, 9, cpu) is None
    found = causal(2, 3, cpu)
    assert found is not None and found.tolist() == [[[[True, True, False], [True, True, True]]]]


def test_smoke_what_does_not_fit_is_refused() -> None:
    q = k = torch.randn(2, 2, 3, 4)
    mask = torch.ones(1, 1, 3, 4, dtype=torch.bool)  # one that counts the memory
    with pytest.raises(ValueError, match="a mask over 4 words does not fit 3"):
        attention(Layer(), q, k, k, mask)
    for shape in ((2, 2, 4), (1, 2, 8)):
        with pytest.raises(ValueError, match="does not fit keys"):
            attention(Layer(), q, k, k, None, latent_memory=torch.zeros(shape))


def test_smoke_registered_once() -> None:
    assert register() == register() == NAME
    assert AttentionInterface()[NAME] is attention


@pytest.mark.parametrize("model,kv_heads", [("gpt2", None), ("llama", 2)])
@pytest.mark.parametrize("latent", [0, 5])
def test_law_padding_on_either_side_has_no_influence(make: Make, model: str, kv_heads: int | None, latent: int) -> None:
    decoder = make(model=model, kv_heads=kv_heads, latent=latent, injection="memory")
    theirs, draw = user(decoder), torch.Generator().manual_seed(0)
    ids = torch.randint(3, 23, (2, 5), generator=draw)
    memory, _ = decoder.injected(torch.randn(2, latent, generator=draw))
    pad = torch.zeros(2, 3, dtype=torch.long)
    real = torch.ones_like(ids)
    with torch.no_grad():
        plain = theirs(ids, memory, use_cache=False).logits
        left = theirs(
            torch.cat([pad, ids], 1),
            memory,
            attention_mask=torch.cat([pad, real], 1),
            position_ids=torch.tensor([[0, 0, 0, 0, 1, 2, 3, 4]]),
            use_cache=False,
        ).logits
        right = theirs(
            torch.cat([ids, pad], 1), memory, attention_mask=torch.cat([real, pad], 1), use_cache=False
        ).logits
    assert (plain - left[:, 3:]).abs().max() < 1e-5 and (plain - right[:, :5]).abs().max() < 1e-5
    assert left.isfinite().all() and right.isfinite().all()


@pytest.mark.parametrize("model,kv_heads", [("gpt2", None), ("llama", 1)])
def test_law_a_cache_changes_nothing(make: Make, model: str, kv_heads: int | None) -> None:
    decoder = make(model=model, kv_heads=kv_heads, injection="memory")
    theirs, draw = user(decoder), torch.Generator().manual_seed(0)
    ids = torch.randint(3, 23, (2, 6), generator=draw)
    memory, _ = decoder.injected(torch.randn(2, 5, generator=draw))
    cache, logits = DynamicCache(), []
    with torch.no_grad():
        whole = theirs(ids, memory, use_cache=False).logits
        for part in ids.split([3, 1, 2], dim=1):
            logits.append(theirs(part, memory, use_cache=True, cache=cache).logits)
    assert (torch.cat(logits, 1) - whole).abs().max() < 1e-5
    assert cache.get_seq_length() == 6, "the memory is no part of the cache"


@pytest.mark.parametrize("model,kv_heads", [("gpt2", None), ("llama", 2)])
def test_law_generate_repeats_the_latent(make: Make, model: str, kv_heads: int | None) -> None:
    decoder = make(model=model, kv_heads=kv_heads, injection="memory", position_shift=False, tied=False)
    theirs, draw = user(decoder), torch.Generator().manual_seed(0)
    memory, _ = decoder.injected(3 * torch.randn(4, 5, generator=draw))
    assert memory is not None
    ways: list[dict[str, Any]] = [{}, {"num_beams": 4}, {"num_beams": 4, "num_return_sequences": 3}]
    for way in ways:
        settings = {"do_sample": False, "max_new_tokens": 8, "pad_token_id": 0, "eos_token_id": 2, **way}
        ids = torch.ones(4, 1, dtype=torch.long)
        mask = torch.ones_like(ids)
        several = theirs.generate(ids, attention_mask=mask, latent_memory=memory, **settings)
        singles = [
            theirs.generate(ids[:1], attention_mask=mask[:1], latent_memory=memory[at : at + 1], **settings)
            for at in range(4)
        ]
        found = ended(several)
        assert found == [row for one in singles for row in ended(one)]
        assert len({tuple(row) for row in found}) > len(found) // 2


def test_smoke_other_models_of_theirs_take_it_too() -> None:
    config = Qwen2Config(
        vocab_size=20,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    config._attn_implementation = register()
    model = Qwen2Model(config)
    memory = torch.randn(3, 2, 8, requires_grad=True)
    states = model(
        input_ids=torch.ones(3, 4, dtype=torch.long), latent_memory=memory, use_cache=False
    ).last_hidden_state
    states.square().sum().backward()
    assert memory.grad is not None and bool((memory.grad.abs().amax((0, 2)) > 0).all())
