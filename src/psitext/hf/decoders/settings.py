"""``config.json`` of a Hugging Face GPT-2 or Llama, both ways; what ours cannot express is refused, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psitext.config import build
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig

GELUS = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")  # three ways to write the tanh approximation
# Our name -> theirs, of settings that are one number on both sides.
NAMES: dict[str, dict[str, str]] = {
    "gpt2": {
        "vocab_size": "vocab_size",
        "max_len": "n_positions",
        "width": "n_embd",
        "layers": "n_layer",
        "heads": "n_head",
        "hidden": "n_inner",
        "norm_eps": "layer_norm_epsilon",
        "dropout": "resid_pdrop",
        "init_std": "initializer_range",
        "tied": "tie_word_embeddings",
    },
    "llama": {
        "vocab_size": "vocab_size",
        "max_len": "max_position_embeddings",
        "width": "hidden_size",
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "kv_heads": "num_key_value_heads",
        "hidden": "intermediate_size",
        "norm_eps": "rms_norm_eps",
        "dropout": "attention_dropout",
        "init_std": "initializer_range",
        "tied": "tie_word_embeddings",
    },
}
# What they take where a setting is absent and ours differs.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "gpt2": {"n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "resid_pdrop": 0.1},
    "llama": {
        "max_position_embeddings": 2048,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
    },
}
# What a setting has to be, where it is there at all.
_ONLY: dict[str, dict[str, tuple[Any, ...]]] = {
    "gpt2": {
        "activation_function": GELUS,
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
    },
    "llama": {
        "hidden_act": ("silu",),
        "attention_bias": (False,),
        "mlp_bias": (False,),
        "pretraining_tp": (1,),
    },
}


def from_theirs(settings: Mapping[str, Any], path: Path, **changes: Any) -> CausalConfig:
    """The config of the language model (P = 0) that ``settings``, read from ``path``, describe; ``changes`` are laid
    over it. Errors: another kind of model; a setting that ours does not have.
    """
    kind = str(settings.get("model_type"))
    if kind not in NAMES:
        raise UserError(
            f"{path.parent} holds a model of type {kind!r}; a causal decoder is read from one whose "
            "model_type is 'gpt2' or 'llama'"
        )
    for name, known in _ONLY[kind].items():
        if settings.get(name) is not None and settings[name] not in known:
            said = " or ".join(repr(one) for one in known)
            raise UserError(f"{path} sets {name} to {settings[name]!r}; psitext's decoders have {said} only")
    given = _DEFAULTS[kind] | {name: value for name, value in settings.items() if value is not None}
    found = {name: given[their] for name, their in NAMES[kind].items() if their in given}
    found |= _gpt2(found) if kind == "gpt2" else _llama(given, found, path)
    return build(CausalConfig, {"model": kind, "latent": 0, **found, **changes}, str(path))


def to_theirs(config: CausalConfig) -> dict[str, Any]:
    """The settings of transformers' own config that ours stand for."""
    names = NAMES[config.model]
    settings = {their: getattr(config, name) for name, their in names.items()}
    settings |= {"bos_token_id": config.bos, "eos_token_id": config.eos}
    if config.model == "gpt2":
        drops = dict.fromkeys(("embd_pdrop", "attn_pdrop"), config.dropout)
        return settings | drops | {"activation_function": GELUS[0]}
    return settings | {
        "num_key_value_heads": config.kv_heads or config.heads,
        "head_dim": config.width // config.heads,
        "hidden_act": "silu",
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_theta},
    }


def _gpt2(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"hidden": found.get("hidden", 4 * found["width"])}


def _llama(given: Mapping[str, Any], found: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """RoPE's base, which has had two places; and refusals of heads and rotations that ours do not have."""
    head, width = given.get("head_dim"), found["width"] // found["heads"]
    if head not in (None, width):
        raise UserError(f"{path} sets head_dim to {head}; psitext's decoders have heads of width / heads, here {width}")
    rope = dict(given.get("rope_scaling") or {}) | dict(given.get("rope_parameters") or {})
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise UserError(f"{path} scales its positions by {kind!r}; psitext's decoders have plain RoPE ('default') only")
    theta = rope.get("rope_theta", given.get("rope_theta", CausalConfig.model_fields["rope_theta"].default))
    return {"rope_theta": theta}
