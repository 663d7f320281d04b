"""The latent inside the attention of transformers' own decoders: one slot more, key and value at once, in each layer.

Two functions are registered under one name: how attention is computed, and how 2-D masks of padding become 4-D ones. A
model that is built with ``attn_implementation=NAME`` calls them in all of its layers, and hands them every keyword that
its ``forward`` does not know: so ``latent_memory`` arrives without a change of the model's code. Letters: B sentences,
T queries, S keys, L layers, E width of a head, G heads of keys and values.

Source: Li et al. 2020 (Optimus), section 3.2. In their code the slot is a cached token of length 1, which leaves no
cache for the words; here it is no part of the cache, so words are cached, searched by beams and recomputed in the
backward pass as usual. It goes past the projections and norms of a layer, and past the rotation of RoPE models: there
the key of the slot has no position.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from psitext.nn.transformer import dot_product

NAME = "psitext-latent"


@cache
def register() -> str:
    """Make the functions known to transformers, once in a process; the name under which they are."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, mask_of_padding)
    return NAME


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    latent_memory: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """What transformers asks of an attention function: query (B, A, T, E), key and value (B, G, S, E) ->
    (B, T, A, E) and no weights.

    ``attention_mask`` (B or 1, 1, T, S) bool, True = may attend, speaks of words alone; without it every query sees the
    words up to its own. ``latent_memory`` (B, L, G * E) is seen by every query. Errors: ValueError for a mask of
    another length, or a memory that does not fit.
    """
    if attention_mask is not None and attention_mask.shape[-1] != key.shape[-2]:
        raise ValueError(f"a mask over {attention_mask.shape[-1]} words does not fit {key.shape[-2]} of them")
    mask = causal(query.shape[-2], key.shape[-2], key.device) if attention_mask is None else attention_mask
    if latent_memory is not None:
        slot = latent_memory[:, int(module.layer_idx)].to(key.dtype)  # type: ignore[arg-type]
        if slot.shape != (key.shape[0], key.shape[1] * key.shape[3]):
            raise ValueError(f"a memory of {tuple(slot.shape)} does not fit keys of {tuple(key.shape)}")
        slot = slot.unflatten(-1, (key.shape[1], 1, -1))  # (B, G, 1, E)
        key, value = torch.cat([slot, key], dim=-2), torch.cat([slot, value], dim=-2)
        mask = None if mask is None else nn.functional.pad(mask, (1, 0), value=True)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    return dot_product(query, key, value, mask, dropout, scaling).transpose(1, 2), None


def causal(queries: int, keys: int, device: torch.device) -> Tensor | None:
    """(1, 1, T, S) bool: the last T of S words see those up to themselves; None where there is one, which sees all."""
    if queries == 1:
        return None
    rows: Tensor = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
    return rows[None, None]


def mask_of_padding(*args: Any, **kwargs: Any) -> Tensor | None:
    """transformers' own 4-D mask; a query that would see nothing, which is padding, sees everything instead.

    An empty row of a softmax is not a number, and what is not a number does not stay in its place.
    """
    from transformers.masking_utils import sdpa_mask

    mask: Tensor | None = sdpa_mask(*args, **kwargs)
    return None if mask is None else mask | ~mask.any(-1, keepdim=True)
