"""GPT-2 and Llama in and out: the same numbers as transformers, and nothing lost on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import pre_tokenizers
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from psitext.errors import UserError
from psitext.hf.decoders import CausalDecoder
from psitext.hf.decoders.folder import LanguageModel, read_decoder, write_decoder
from psitext.text.tokenizer.causal import CausalTokenizer, learn
from psitext.train.checkpoint import load_tensors

Make = Callable[..., CausalDecoder]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
TEXTS = ["a cat sat on the mat", "the cat ate"]


def gpt2(**changes: Any) -> GPT2LMHeadModel:
    settings = {"vocab_size": 258, "n_positions": 16, "n_embd": 8, "n_layer": 2, "n_head": 2, "initializer_range": 0.3}
    return stirred(GPT2LMHeadModel(GPT2Config(**settings | changes)))


def llama(**changes: Any) -> LlamaForCausalLM:
    settings = {
        "vocab_size": 300,
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 16,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
        "initializer_range": 0.3,
    }
    return stirred(LlamaForCausalLM(LlamaConfig(**settings | changes)))


def stirred(model: Any) -> Any:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def with_gpt2_files(folder: Path, merges: int = 2) -> Path:
    pairs = [("t", "h"), ("th", "e"), ("a", "t")][:merges]
    vocabulary = [*BYTES, *("".join(pair) for pair in pairs)]
    (folder / "vocab.json").write_text(json.dumps({token: at for at, token in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in pairs))
    return folder


def with_tokenizer(folder: Path, size: int = 290) -> CausalTokenizer:
    tokenizer = learn("bpe", TEXTS * 3, size)
    tokenizer.save(folder)
    return tokenizer


def change(folder: Path, **settings: object) -> None:
    path = folder / "config.json"
    tree = json.loads(path.read_text()) | settings
    path.write_text(json.dumps({key: value for key, value in tree.items() if value is not ...}))


def loaded(found: LanguageModel, **changes: Any) -> CausalDecoder:
    decoder = CausalDecoder(found.config.model_copy(update=changes)).eval()
    fresh = {name: value for name, value in decoder.state_dict().items() if not name.startswith("network.")}
    load_tensors(decoder, found.tensors | fresh, "the checkpoint")
    return decoder


def logits(decoder: CausalDecoder, ids: Tensor) -> Tensor:
    with torch.no_grad():
        return decoder.logits(decoder.states(ids, torch.zeros(len(ids), decoder.config.latent)))


def theirs_of(model: Any, ids: Tensor) -> Tensor:
    with torch.no_grad():
        return model(input_ids=ids, use_cache=False).logits


def test_parity_of_a_gpt2_with_its_own_files(tmp_path: Path) -> None:
    model = gpt2()
    model.save_pretrained(tmp_path)
    found = read_decoder(str(with_gpt2_files(tmp_path)))
    config = found.config
    assert (config.model, config.latent, config.max_len, config.hidden, config.dropout) == ("gpt2", 0, 16, 32, 0.1)
    assert (config.vocab_size, config.pad, config.bos, config.eos) == (261, 258, 259, 260)
    ids = torch.randint(0, 258, (2, 9), generator=torch.Generator().manual_seed(0))
    expected = theirs_of(model, ids)
    assert (logits(loaded(found), ids)[..., :258] - expected).abs().max() < 1e-5
    assert expected.std() > 0.3


def test_known_rows_of_new_tokens(tmp_path: Path) -> None:
    model = gpt2()
    model.save_pretrained(tmp_path)
    with_gpt2_files(tmp_path)
    rows = read_decoder(str(tmp_path)).tensors["network.transformer.wte.weight"]
    old, new = rows[:258], rows[258:]
    assert torch.equal(old, model.transformer.wte.weight)
    assert new.shape == (3, 8)
    distance = (new - old.mean(0)) / old.std(0)
    assert 0.03 < distance.abs().mean() < 0.2 and len({float(one) for one in distance.flatten()}) == 24
    again = read_decoder(str(tmp_path)).tensors["network.transformer.wte.weight"]
    assert torch.equal(rows, again)


def test_known_rows_of_no_token_are_left_out(tmp_path: Path) -> None:
    model = llama(tie_word_embeddings=False)
    model.save_pretrained(tmp_path)
    tokenizer = with_tokenizer(tmp_path)
    found = read_decoder(str(tmp_path))
    assert tokenizer.vocab_size < 300 == model.config.vocab_size
    assert found.config.vocab_size == tokenizer.vocab_size and found.tokenizer == tokenizer
    assert found.tensors["network.lm_head.weight"].shape == (tokenizer.vocab_size, 8)
    ids = torch.randint(0, tokenizer.vocab_size, (2, 9), generator=torch.Generator().manual_seed(0))
    assert (logits(loaded(found), ids) - theirs_of(model, ids)[..., : tokenizer.vocab_size]).abs().max() < 1e-5


@pytest.mark.parametrize("tied", [True, False])
def test_parity_of_a_llama(tmp_path: Path, tied: bool) -> None:
    model = llama(tie_word_embeddings=tied, rms_norm_eps=1e-3)
    model.save_pretrained(tmp_path)
    tokenizer = with_tokenizer(tmp_path)
    found = read_decoder(str(tmp_path))
    assert (found.config.tied, found.config.kv_heads, found.config.rope_theta) == (tied, 2, 500.0)
    assert ("network.lm_head.weight" in found.tensors) == (not tied)
    ids = torch.randint(0, tokenizer.vocab_size, (2, 16), generator=torch.Generator().manual_seed(0))
    assert (logits(loaded(found), ids) - theirs_of(model, ids)[..., : tokenizer.vocab_size]).abs().max() < 1e-5


def test_known_old_files(tmp_path: Path) -> None:
    """Bare names, the triangles that GPT-2 kept as buffers, half precision, RoPE's base in its first place."""
    model = gpt2(n_inner=20)
    model.save_pretrained(tmp_path)
    tensors = {name.removeprefix("transformer."): value for name, value in model.half().state_dict().items()}
    del tensors["lm_head.weight"]
    tensors |= {f"h.{at}.attn.bias": torch.ones(1, 1, 16, 16).tril() for at in range(2)}
    tensors["h.0.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, tmp_path / "model.safetensors")
    found = read_decoder(str(with_gpt2_files(tmp_path)))
    assert {value.dtype for value in found.tensors.values()} == {torch.float32} and found.config.hidden == 20
    ids = torch.arange(9)[None]
    assert (logits(loaded(found), ids)[..., :258] - theirs_of(model.float(), ids)).abs().max() < 1e-5
    old = tmp_path / "llama"
    llama().save_pretrained(old)
    with_tokenizer(old)
    change(old, rope_parameters=..., rope_theta=123.0)
    assert read_decoder(str(old)).config.rope_theta == 123.0


@pytest.mark.parametrize("model", ["gpt2", "llama"])
@pytest.mark.parametrize("tied", [True, False])
def test_parity_written_and_read_by_transformers(make: Make, tmp_path: Path, model: str, tied: bool) -> None:
    tokenizer = learn("bpe", TEXTS * 3, 290)
    decoder = make(model=model, latent=0, tied=tied, vocab_size=tokenizer.vocab_size)
    write_decoder(tmp_path / "out", decoder, tokenizer)
    there = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert type(there).__name__ == {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}[model]
    ids = torch.randint(3, tokenizer.vocab_size, (2, 9), generator=torch.Generator().manual_seed(0))
    assert (logits(decoder, ids) - theirs_of(there, ids)).abs().max() < 1e-5
    again = read_decoder(str(tmp_path / "out"))
    assert again.config == decoder.config.model_copy(update={"kv_heads": again.config.kv_heads})
    assert all(torch.equal(value, again.tensors[name]) for name, value in decoder.named_parameters())
    cut = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert (cut.bos_token_id, cut.eos_token_id, cut.pad_token_id) == (1, 2, 0)
    expected = [tokenizer.bos, *tokenizer.encode(TEXTS[:1])[0], tokenizer.eos]
    assert cut(TEXTS[0])["input_ids"] == expected


def test_law_a_dropped_latent_is_one_of_zeros_without_a_slot(make: Make, tmp_path: Path) -> None:
    tokenizer = learn("bpe", TEXTS * 3, 290)
    decoder = make(vocab_size=tokenizer.vocab_size)
    with pytest.raises(UserError, match="no place for a latent of 5 numbers"):
        write_decoder(tmp_path / "out", decoder, tokenizer)
    write_decoder(tmp_path / "out", decoder, tokenizer, drop_latent=True)
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    assert torch.equal(tensors["transformer.wpe.weight"], decoder.network.transformer.wpe.weight[1:])
    ids = torch.randint(3, tokenizer.vocab_size, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():  # what is left: the network at positions 1 to 9, with nothing injected
        states = decoder.run(
            ids, torch.arange(1, 10)[None], torch.ones(9, 9, dtype=torch.bool).tril()[None, None], None, None
        )
        expected = decoder.logits(states)
    there = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert (theirs_of(there, ids) - expected).abs().max() < 1e-5


def test_smoke_a_latent_is_added_to_what_was_read(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path)
    found = read_decoder(str(with_gpt2_files(tmp_path)))
    ids = torch.arange(9)[None]
    plain, with_latent = loaded(found), loaded(found, latent=4, injection="embedding")
    assert torch.equal(logits(plain, ids), logits(with_latent, ids)), "a latent of zeros adds nothing"
    with_memory = loaded(found, latent=4)
    assert with_memory.first_position == 1 and not torch.equal(logits(plain, ids), logits(with_memory, ids))


@pytest.mark.parametrize(
    "settings,said",
    [
        ({"model_type": "gpt3"}, "a model of type 'gpt3'; a causal decoder is read from"),
        ({"model_type": ...}, "a model of type 'None'"),
        ({"activation_function": "relu"}, "sets activation_function to 'relu'; psitext's decoders have 'gelu_new'"),
        ({"scale_attn_by_inverse_layer_idx": True}, "have False only"),
        ({"n_layer": 3}, r"lacks 'transformer.h.2.attn.c_attn.bias' \(12 of its tensors"),
        ({"n_layer": 10**9}, "says that it has 1,000,000,000 layers, but holds 28 tensors in all"),
        ({"n_inner": 2**62}, "states sizes that no model can have"),
        ({"n_layer": 1}, "holds 'transformer.h.1.attn.c_attn.bias', for which a gpt2 of 1 layers has no place"),
        ({"n_head": 3}, "a width of 8 cannot be shared over 3 heads"),
        ({"n_positions": 20}, r"'transformer.wpe.weight' does not fit config.json: it is \(16, 8\), not \(20, 8\)"),
    ],
)
def test_smoke_what_cannot_be_read_says_why(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    gpt2().save_pretrained(tmp_path)
    with_gpt2_files(tmp_path)
    change(tmp_path, **settings)
    with pytest.raises(UserError, match=said):
        read_decoder(str(tmp_path))


@pytest.mark.parametrize(
    "settings,said",
    [
        ({"hidden_act": "gelu"}, "sets hidden_act to 'gelu'; psitext's decoders have 'silu' only"),
        ({"head_dim": 4}, "sets head_dim to 4; psitext's decoders have heads of width / heads, here 2"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "scales its positions by 'llama3'"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": ...}, "positions by 'linear'"),
        ({"attention_bias": True}, "sets attention_bias to True"),
    ],
)
def test_smoke_what_a_llama_of_ours_lacks(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    llama().save_pretrained(tmp_path)
    with_tokenizer(tmp_path)
    change(tmp_path, **settings)
    with pytest.raises(UserError, match=said):
        read_decoder(str(tmp_path))


def test_smoke_parts_that_do_not_belong_together(make: Make, tmp_path: Path) -> None:
    gpt2(vocab_size=257).save_pretrained(tmp_path)
    with_gpt2_files(tmp_path, merges=3)
    with pytest.raises(UserError, match="has 262 tokens, the embedding only 257 rows"):
        read_decoder(str(tmp_path))
    tokenizer = learn("bpe", TEXTS * 3, 290)
    with pytest.raises(UserError, match="the decoder 23"):
        write_decoder(tmp_path / "out", make(latent=0), tokenizer)
    with pytest.raises(UserError, match="is not empty"):
        write_decoder(tmp_path, make(latent=0, vocab_size=tokenizer.vocab_size), tokenizer)
    weights = load_file(tmp_path / "model.safetensors")
    weights["transformer.ln_f.bias"] = weights["transformer.ln_f.bias"].to(torch.int8)
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="is quantised"):
        read_decoder(str(tmp_path))
