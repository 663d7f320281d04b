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
        "activation_function": (*GELUS, "gelu"),
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
    if kind == "llama":
        found["rope_theta"] = _rope(given, path)
    elif given.get("activation_function") == "gelu":
        found["activation"] = "gelu"
    config = build(CausalConfig, {"model": kind, "latent": 0, **found, **changes}, str(path))
    if kind == "gpt2" and "hidden" not in found:
        return config.model_copy(update={"hidden": 4 * config.width})
    size = config.width // config.heads
    if given.get("head_dim", size) != size:
        raise UserError(
            f"{path} sets head_dim to {given['head_dim']}; psitext's decoders have heads of width / heads, here {size}"
        )
    return config


def to_theirs(config: CausalConfig) -> dict[str, Any]:
    """The settings of transformers' own config that ours stand for."""
    names = NAMES[config.model]
    settings = {their: getattr(config, name) for name, their in names.items()}
    settings |= {"bos_token_id": config.bos, "eos_token_id": config.eos}
    if config.model == "gpt2":
        drops = dict.fromkeys(("embd_pdrop", "attn_pdrop"), config.dropout)
        return settings | drops | {"activation_function": config.activation}
    return settings | {
        "num_key_value_heads": config.kv_heads or config.heads,
        "head_dim": config.width // config.heads,
        "hidden_act": "silu",
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_theta},
    }


def _rope(given: Mapping[str, Any], path: Path) -> Any:
    """RoPE's base, which has had two places. Errors: a rotation that ours does not have."""
    rope: dict[str, Any] = {"rope_theta": given.get("rope_theta", CausalConfig.model_fields["rope_theta"].default)}
    for name in ("rope_scaling", "rope_parameters"):
        stated = given.get(name, {})
        if not isinstance(stated, Mapping):
            raise UserError(f"{path} sets {name} to {stated!r}, which is no table")
        rope |= stated
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise UserError(f"{path} scales its positions by {kind!r}; psitext's decoders have plain RoPE ('default') only")
    return rope["rope_theta"]
