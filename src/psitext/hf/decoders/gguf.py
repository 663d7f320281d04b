"""A Llama in one quantised file: GGUF, llama.cpp's format, read into float32.

Layout, little-endian: ``GGUF``, version (uint32, 2 or 3), numbers of tensors and of settings (uint64); the settings,
each a name, a type (uint32) and a value; of each tensor its name, shape (fastest axis first), type and offset; padding
to ``general.alignment`` (32); the data. A string is its length (uint64) and UTF-8. Quantised tensors are blocks of 32
numbers: a scale in float16, in Q4_1 an offset too, then integers of 8 bits, or of 4, the low halves of 16 bytes before
the high ones. Queries and keys are stored with the two halves of each head interleaved, and are put back here.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers
from torch import Tensor

from psitext.errors import UserError
from psitext.hf.decoders.folder import OUTPUT, WORDS, LanguageModel, fitting
from psitext.hf.decoders.settings import from_theirs
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.text.tokenizer.roles import Roles, frame

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.float32]

MAGIC, BLOCK, CONTROL = b"GGUF", 32, 3  # CONTROL: the type of tokens that no text has
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TOKENS = "tokenizer.ggml."
# Their setting -> Hugging Face's.
_SETTINGS = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.key_length": "head_dim",
    "rope.freq_base": "rope_theta",
}
# Their part of a layer -> transformers'.
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OTHERS = {"token_embd.weight": WORDS["llama"], "output_norm.weight": "model.norm.weight", "output.weight": OUTPUT}


def read_gguf(path: Path) -> LanguageModel:
    """Read a Llama with byte-level BPE, as the language model that it is (P = 0); Q4_0, Q4_1, Q8_0, F16, BF16, F32.

    Errors: no such file, or one that is damaged; another architecture, tokenizer or quantisation; tensors that do not
    fit the settings.
    """
    settings, tensors = _read(path)
    kind = settings.get("general.architecture")
    if kind != "llama":
        raise UserError(f"{path} holds a model of type {kind!r}; a GGUF file of a 'llama' can be read")
    given = {their: settings.get(f"llama.{name}") for name, their in _SETTINGS.items()}
    given |= {"model_type": "llama", "vocab_size": len(settings.get(f"{_TOKENS}tokens", ()))}
    given |= {"rope_scaling": {"type": settings.get("llama.rope.scaling.type", "default")}}
    tokenizer = _tokenizer(settings, path)
    roles = {role: getattr(tokenizer, role) for role in ("bos", "eos", "pad")}
    config = from_theirs(given, path, tied="output.weight" not in tensors, **roles)
    named = {}
    halves = {"attn_q": 2 * config.heads, "attn_k": 2 * (config.kv_heads or config.heads)}
    for name, value in tensors.items():
        count = next((many for part, many in halves.items() if f".{part}." in name), 1)
        if len(value) % count:
            raise UserError(f"{path}: the {len(value)} rows of {name!r} are not {count // 2} heads of two halves")
        named[_theirs(name)] = value if count == 1 else _halves_together(value, count // 2)
    found = fitting(config, named, path)
    return LanguageModel(config, {f"network.{name}": value for name, value in found.items()}, tokenizer)


def _theirs(name: str) -> str:
    """The name of a tensor in transformers; what has none becomes one that has no place."""
    start, _, rest = name.partition(".")
    number, _, part = rest.partition(".")
    part, _, end = part.partition(".")
    if start == "blk" and part in _LAYER:
        return f"model.layers.{number}.{_LAYER[part]}.{end}"
    return _OTHERS.get(name, f"model.{name}")


def _halves_together(value: Tensor, heads: int) -> Tensor:
    """Rows 0, E/2, 1, E/2 + 1 ... of each head, in their order again."""
    rows: Tensor = value.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)
    return rows


def _tokenizer(settings: Mapping[str, Any], path: Path) -> CausalTokenizer:
    kind, cut = settings.get(f"{_TOKENS}model"), settings.get(f"{_TOKENS}pre", "default")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=bool(settings.get(f"{_TOKENS}add_space_prefix", False)))
    before = {
        "gpt-2": bytes_,
        "default": bytes_,
        "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_]),
    }
    if kind != "gpt2" or cut not in before:
        raise UserError(
            f"{path} has a tokenizer of type {kind!r}, {cut!r}; byte-level BPE ('gpt2') cut as in {', '.join(before)} "
            "can be read"
        )
    eos = settings.get(f"{_TOKENS}eos_token_id")
    if eos is None:
        raise UserError(f"{path} names no token that ends a text, which a decoder needs")
    bos, pad = (settings.get(f"{_TOKENS}{role}_token_id", eos) for role in ("bos", "padding"))
    try:
        backend = _backend(settings)
        backend.pre_tokenizer, backend.decoder = before[cut], decoders.ByteLevel()
        frame(backend, Roles(bos, eos, pad, None))
    except Exception as error:  # the Rust library raises nothing narrower
        raise UserError(f"{path} holds a vocabulary that is damaged: {error}; a fresh copy is needed") from None
    return CausalTokenizer.from_json(backend.to_str(), str(path))


def _backend(settings: Mapping[str, Any]) -> Backend:
    """The vocabulary and its merges; tokens of a chat's frame are special."""
    tokens, merges = settings[f"{_TOKENS}tokens"], settings[f"{_TOKENS}merges"]
    pairs = [(first, second) for first, _, second in (merge.partition(" ") for merge in merges)]
    backend = Backend(models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=pairs))
    types = settings.get(f"{_TOKENS}token_type", [])
    backend.add_special_tokens([token for token, type_ in zip(tokens, types, strict=False) if type_ == CONTROL])
    return backend


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Settings and float32 tensors by their names."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Cursor(data, path).whole()
    except (OSError, ValueError) as error:  # ValueError: an empty file
        raise UserError(f"{path} cannot be read: {error}") from None
    except (struct.error, UnicodeDecodeError, KeyError, MemoryError, OverflowError):
        raise UserError(f"{path} is cut short or damaged; a fresh copy is needed") from None


class _Cursor:
    """Reads one value after another."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data, self._path, self._at = data, path, 0

    def whole(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything."""
        if self._take(4) != MAGIC or self.number("I") not in (2, 3):
            raise UserError(f"{self._path} is no GGUF file of version 2 or 3")
        tensors, settings = self.number("Q"), self.number("Q")
        known = {self.string(): self.value(self.number("I")) for _ in range(settings)}
        table = [self._entry() for _ in range(tensors)]
        step = int(known.get("general.alignment", 32))
        start = -(-self._at // step) * step
        return known, {name: self._tensor(name, shape, type_, start + at) for name, shape, type_, at in table}

    def number(self, kind: str) -> Any:
        """One scalar."""
        (value,) = struct.unpack(f"<{kind}", self._take(struct.calcsize(f"<{kind}")))
        return value

    def string(self) -> str:
        """One string."""
        return self._take(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        """One setting."""
        if kind == _ARRAY:
            inner, count = self.number("I"), self.number("Q")
            return [self.value(inner) for _ in range(count)]
        return self.string() if kind == _STRING else self.number(_SCALARS[kind])

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise struct.error
        self._at += size
        return self._data[self._at - size : self._at]

    def _entry(self) -> tuple[str, list[int], int, int]:
        name = self.string()
        shape = [self.number("Q") for _ in range(self.number("I"))][::-1]
        return name, shape, self.number("I"), self.number("Q")

    def _tensor(self, name: str, shape: list[int], kind: int, at: int) -> Tensor:
        if kind not in _TYPES:
            known = ", ".join(name for name, *_ in _TYPES.values())
            raise UserError(f"{self._path}: {name!r} is quantised in a way (number {kind}) that is not among {known}")
        _, group, size, numbers = _TYPES[kind]
        count = int(np.prod(shape, dtype=np.int64))
        self._at = at
        raw = np.frombuffer(self._take(count // group * size), np.uint8).reshape(-1, size)
        return torch.from_numpy(numbers(raw).reshape(shape))


def _half(raw: Bytes) -> Numbers:
    """Two bytes a row -> (rows, 1)."""
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)


def _brain(raw: Bytes) -> Numbers:
    return (np.ascontiguousarray(raw).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _nibbles(raw: Bytes) -> Numbers:
    """(rows, 16) bytes -> (rows, 32)."""
    return np.concatenate([raw & 15, raw >> 4], axis=1).astype(np.float32)


# Number of a type -> name, numbers in a block, bytes of a block, (blocks, bytes) -> numbers.
_TYPES: dict[int, tuple[str, int, int, Callable[[Bytes], Numbers]]] = {
    0: ("F32", 1, 4, lambda raw: np.ascontiguousarray(raw).view(np.float32).copy()),
    1: ("F16", 1, 2, _half),
    2: ("Q4_0", BLOCK, 18, lambda raw: _half(raw[:, :2]) * (_nibbles(raw[:, 2:]) - 8)),
    3: ("Q4_1", BLOCK, 20, lambda raw: _half(raw[:, :2]) * _nibbles(raw[:, 4:]) + _half(raw[:, 2:4])),
    8: ("Q8_0", BLOCK, 34, lambda raw: _half(raw[:, :2]) * raw[:, 2:].view(np.int8).astype(np.float32)),
    30: ("BF16", 1, 2, _brain),
}
