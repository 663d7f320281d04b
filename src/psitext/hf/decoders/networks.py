"""transformers' own decoders, made from our config.

Letters: P latent numbers, G heads of keys and values, E width of a head.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig
from psitext.hf.decoders.injection import register
from psitext.hf.decoders.settings import to_theirs
from psitext.nn.dropout import Dropout

GELU = "gelu_pytorch_tanh"  # GPT-2's "gelu_new" in one operation instead of eight; the same function


def kv_width(config: CausalConfig) -> int:
    """G * E, numbers in a key of all heads."""
    heads = config.kv_heads if config.model == "llama" and config.kv_heads else config.heads
    return heads * (config.width // config.heads)


def has_memory(config: CausalConfig) -> bool:
    """Whether layers attend to the latent."""
    return config.latent > 0 and config.injection != "embedding"


def has_embedding(config: CausalConfig) -> bool:
    """Whether the latent is added to the embedding of every token."""
    return config.latent > 0 and config.injection != "memory"


def first_position(config: CausalConfig) -> int:
    """Where positions begin: at 1 behind a memory of GPT-2, as in the original; RoPE sees differences alone."""
    return int(config.model == "gpt2" and config.position_shift and has_memory(config))


def build(config: CausalConfig) -> Any:
    """A freshly initialised ``GPT2LMHeadModel`` or ``LlamaForCausalLM`` of these sizes, by torch's generator.

    Its attention is ours, which takes ``latent_memory``. Errors: transformers is missing.
    """
    try:
        from transformers import GPT2LMHeadModel, LlamaForCausalLM
    except ImportError:
        raise UserError("a causal decoder is made of transformers' classes: pip install 'psitext[hf]'") from None
    their_class: Any = {"gpt2": GPT2LMHeadModel, "llama": LlamaForCausalLM}[config.model]
    settings = their_class.config_class(**to_theirs(config), use_cache=False)
    settings._attn_implementation = register()
    if config.model == "gpt2" and config.activation == "gelu_new":
        settings.activation_function = GELU
    network = their_class(settings)
    _with_our_dropout(network, config.dropout)
    return network


def _with_our_dropout(network: nn.Module, rate: float) -> None:
    """Put the cheaper dropout in the place of torch's, but where attention only asks a layer for its rate."""
    if not rate:
        return
    for module in list(network.modules()):
        for name, part in module.named_children():
            if isinstance(part, nn.Dropout) and name != "attn_dropout":
                setattr(module, name, Dropout(part.p))
