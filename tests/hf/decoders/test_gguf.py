"""GGUF files, written here value by value as the format says."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import pre_tokenizers
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from psitext.errors import UserError
from psitext.hf.decoders import CausalDecoder
from psitext.hf.decoders.gguf import read_gguf
from psitext.train.checkpoint import load_tensors

WIDTH, HIDDEN, HEADS, KV = 32, 64, 4, 2
TOKENS = ["<|end|>", "<|start|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "th", "the", "Ġa"]
KINDS = {int: (4, "I"), float: (6, "f"), bool: (7, "?")}
SETTINGS: dict[str, Any] = {
    "general.architecture": "llama",
    "general.alignment": 64,
    "llama.context_length": 48,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": HIDDEN,
    "llama.block_count": 2,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV,
    "llama.attention.layer_norm_rms_epsilon": 0.001,
    "llama.rope.freq_base": 500.0,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.add_space_prefix": False,
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3] + [1] * (len(TOKENS) - 2),
    "tokenizer.ggml.merges": ["t h", "th e", "Ġ a"],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 0,
}
PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def setting(value: Any) -> bytes:
    """Type and value."""
    if isinstance(value, str):
        return struct.pack("<I", 8) + string(value)
    if isinstance(value, list):
        inner = setting(value[0])[:4]
        return (
            struct.pack("<I", 9) + inner + struct.pack("<Q", len(value)) + b"".join(setting(one)[4:] for one in value)
        )
    kind, letter = KINDS[type(value)]
    return struct.pack(f"<I{letter}", kind, value)


def stored(kind: int, values: list[float]) -> tuple[bytes, list[float]]:
    """The bytes of one block or number, and what they stand for."""
    if kind in (0, 1):
        letter = "<f" if kind == 0 else "<e"
        raw = b"".join(struct.pack(letter, one) for one in values)
        return raw, [one[0] for one in struct.iter_unpack(letter, raw)]
    if kind == 30:  # a float without its lower half
        raw = b"".join(struct.pack("<f", one)[2:] for one in values)
        return raw, [struct.unpack("<f", b"\0\0" + raw[at : at + 2])[0] for at in range(0, len(raw), 2)]
    low, high = min(values), max(values)
    levels = {2: 7.5, 3: 15.0, 8: 127.0}[kind]
    top = max(abs(low), abs(high)) if kind != 3 else high - low
    scale = struct.unpack("<e", struct.pack("<e", top / levels))[0]
    offset = struct.unpack("<e", struct.pack("<e", low))[0] if kind == 3 else 0.0
    head = struct.pack("<e", scale) + (struct.pack("<e", offset) if kind == 3 else b"")
    whole = [round((one - offset) / scale) for one in values]
    if kind == 8:
        whole = [max(-127, min(127, one)) for one in whole]
        return head + struct.pack("<32b", *whole), [scale * one for one in whole]
    shift = 8 if kind == 2 else 0
    whole = [max(0, min(15, one + shift)) for one in whole]
    packed = bytes(whole[at] | whole[at + 16] << 4 for at in range(16))
    return head + packed, [scale * (one - shift) + offset for one in whole]


def interleaved(rows: Tensor, heads: int) -> Tensor:
    """As llama.cpp keeps queries and keys: row i of a head's first half, then row i of its second."""
    size = len(rows) // heads
    order = [head * size + half * size // 2 + at for head in range(heads) for at in range(size // 2) for half in (0, 1)]
    return rows[order]


def write(path: Path, settings: dict[str, Any], tensors: dict[str, tuple[int, Tensor]]) -> dict[str, Tensor]:
    """Write the file; the values that it then holds."""
    head = b"".join(string(name) + setting(value) for name, value in settings.items())
    table, data, kept = b"", b"", {}
    for name, (kind, value) in tensors.items():
        table += string(name) + struct.pack("<I", value.ndim)
        table += struct.pack(f"<{value.ndim}Q", *reversed(value.shape)) + struct.pack("<IQ", kind, len(data))
        group = 32 if kind in (2, 3, 8) else 1
        numbers: list[float] = value.flatten().tolist()
        blocks = [stored(kind, numbers[at : at + group]) for at in range(0, len(numbers), group)]
        data += b"".join(block for block, _ in blocks)
        data += b"\0" * (-len(data) % 64)
        kept[name] = torch.tensor([one for _, block in blocks for one in block]).view(value.shape)
    begin = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(settings)) + head + table
    path.write_bytes(begin + b"\0" * (-len(begin) % 64) + data)
    return kept


def tensors_of(model: LlamaForCausalLM, kind: int, tied: bool) -> dict[str, tuple[int, Tensor]]:
    state = {name: value.detach() for name, value in model.state_dict().items()}
    found = {
        "token_embd.weight": (kind, state["model.embed_tokens.weight"]),
        "output_norm.weight": (0, state["model.norm.weight"]),
    }
    if not tied:
        found["output.weight"] = (kind, state["lm_head.weight"])
    for layer in range(2):
        for theirs, part in PARTS.items():
            value = state[f"model.layers.{layer}.{part}.weight"]
            heads = {"attn_q": HEADS, "attn_k": KV}.get(theirs)
            value = value if heads is None else interleaved(value, heads)
            found[f"blk.{layer}.{theirs}.weight"] = (kind if value.ndim == 2 else 0, value)
    return found


def llama(tied: bool = True) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=KV,
        max_position_embeddings=48,
        rms_norm_eps=0.001,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=tied,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("tied", [True, False])
def test_parity_with_the_model_in_the_file(tmp_path: Path, tied: bool) -> None:
    model = llama(tied)
    write(tmp_path / "a.gguf", SETTINGS, tensors_of(model, 0, tied))
    found = read_gguf(tmp_path / "a.gguf")
    config = found.config
    assert (config.tied, config.max_len, config.kv_heads, config.rope_theta) == (tied, 48, KV, 500.0)
    assert (config.bos, config.eos, config.pad, config.latent) == (1, 0, 0, 0)
    decoder = CausalDecoder(config).eval()
    load_tensors(decoder, found.tensors, "the file")
    ids = torch.randint(2, len(TOKENS), (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = model(input_ids=ids, use_cache=False).logits
        assert (decoder.logits(decoder.states(ids, torch.empty(2, 0))) - expected).abs().max() < 1e-5


@pytest.mark.parametrize("kind,gap", [(1, 0.001), (2, 0.2), (3, 0.1), (8, 0.01), (30, 0.01)])
def test_known_numbers_of_every_kind(tmp_path: Path, kind: int, gap: float) -> None:
    model = llama()
    kept = write(tmp_path / "a.gguf", SETTINGS, tensors_of(model, kind, tied=True))
    found = read_gguf(tmp_path / "a.gguf").tensors
    for theirs in ("attn_v", "ffn_down"):
        name = f"model.layers.1.{PARTS[theirs]}.weight"
        value, exact = found[f"network.{name}"], model.state_dict()[name]
        assert torch.allclose(value, kept[f"blk.1.{theirs}.weight"], rtol=1e-6, atol=1e-7)
        assert 0 < (value - exact).norm() / exact.norm() < gap


def test_known_text_is_cut_as_the_file_says(tmp_path: Path) -> None:
    write(tmp_path / "a.gguf", SETTINGS, tensors_of(llama(), 0, tied=True))
    tokenizer = read_gguf(tmp_path / "a.gguf").tokenizer
    (ids,) = tokenizer.encode(["the a12<|end|>"])
    assert tokenizer.tokens(ids.tolist()) == ["the", "Ġa", "1", "2", *"<|end|>"]
    assert tokenizer.decode([1, *ids.tolist(), 0]) == "the a12<|end|>"


@pytest.mark.parametrize(
    "changes,said",
    [
        ({"general.architecture": "gemma"}, "a model of type 'gemma'; a GGUF file of a 'llama'"),
        ({"tokenizer.ggml.model": "llama"}, "a tokenizer of type 'llama'"),
        ({"tokenizer.ggml.pre": "qwen2"}, "'gpt2', 'qwen2'; byte-level BPE"),
        ({"llama.block_count": 3}, "lacks 'model.layers.2.input_layernorm.weight'"),
        ({"llama.block_count": 1}, "for which a llama of 1 layers has no place"),
        ({"llama.rope.scaling.type": "yarn"}, "scales its positions by 'yarn'"),
    ],
)
def test_smoke_what_cannot_be_read_says_why(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    write(tmp_path / "a.gguf", SETTINGS | changes, tensors_of(llama(), 0, tied=True))
    with pytest.raises(UserError, match=said):
        read_gguf(tmp_path / "a.gguf")


def test_smoke_other_tensors(tmp_path: Path) -> None:
    tensors = tensors_of(llama(), 0, tied=True)
    write(tmp_path / "a.gguf", SETTINGS, tensors | {"rope_freqs.weight": (0, torch.ones(4))})
    with pytest.raises(UserError, match=r"holds 'model\.rope_freqs\.weight', for which"):
        read_gguf(tmp_path / "a.gguf")
    path = tmp_path / "b.gguf"
    write(path, SETTINGS, tensors)
    raw = path.read_bytes()
    at = raw.index(b"blk.0.ffn_up.weight") + len(b"blk.0.ffn_up.weight") + 4 + 16
    path.write_bytes(raw[:at] + struct.pack("<I", 14) + raw[at + 4 :])
    with pytest.raises(UserError, match=r"'blk.0.ffn_up.weight' is quantised in a way \(number 14\)"):
        read_gguf(path)


def test_law_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    write(path, SETTINGS, tensors_of(llama(), 0, tied=True))
    raw = path.read_bytes()
    draw = random.Random(0)
    for size in (0, 3, 20, *(draw.randrange(len(raw)) for _ in range(12))):
        path.write_bytes(raw[:size])
        with pytest.raises(UserError, match=r"cut short|cannot be read|no GGUF file"):
            read_gguf(path)
    for _ in range(25):  # a few wrong bytes anywhere in what comes before the data: a sentence, or a model
        spoilt = bytearray(raw)
        for _ in range(3):
            spoilt[draw.randrange(8_000)] ^= 1 << draw.randrange(8)
        path.write_bytes(spoilt)
        with suppress(UserError):
            read_gguf(path)
    with pytest.raises(UserError, match="cannot be read"):
        read_gguf(tmp_path / "none.gguf")
