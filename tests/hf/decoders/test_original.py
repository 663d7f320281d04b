"""Checkpoints of the original code, as 2019's pytorch_transformers laid them out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from psitext.encoders.vae import Vae
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig
from psitext.hf.decoders import CausalDecoder
from psitext.hf.decoders.original import read_optimus
from psitext.text.batches import lay_out, padded
from psitext.train.checkpoint import load_tensors

H, HEADS, P, V, READ = 8, 2, 3, 14, 11
BERT = {
    "vocab_size": READ,
    "hidden_size": H,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "intermediate_size": 12,
    "max_position_embeddings": 10,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "initializer_range": 0.02,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "finetuning_task": None,
    "output_attentions": False,
}
GPT2 = {
    "vocab_size": V - 3,  # written before the three tokens came
    "n_positions": 12,
    "n_ctx": 12,
    "n_embd": H,
    "n_layer": 2,
    "n_head": HEADS,
    "resid_pdrop": 0.1,
    "embd_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "layer_norm_epsilon": 1e-5,
    "initializer_range": 0.02,
    "summary_type": "cls_index",
    "num_labels": 1,
}


def bert_names() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (READ, H),
        "embeddings.position_embeddings.weight": (10, H),
        "embeddings.token_type_embeddings.weight": (2, H),
        "embeddings.LayerNorm.weight": (H,),
        "embeddings.LayerNorm.bias": (H,),
        "pooler.dense.weight": (H, H),
        "pooler.dense.bias": (H,),
        "linear.weight": (2 * P, H),
    }
    for at in range(2):
        for part, shape in (
            ("attention.self.query", (H, H)),
            ("attention.self.key", (H, H)),
            ("attention.self.value", (H, H)),
            ("attention.output.dense", (H, H)),
            ("intermediate.dense", (12, H)),
            ("output.dense", (H, 12)),
        ):
            found[f"encoder.layer.{at}.{part}.weight"] = shape
            found[f"encoder.layer.{at}.{part}.bias"] = shape[:1]
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            found |= {f"encoder.layer.{at}.{part}.{kind}": (H,) for kind in ("weight", "bias")}
    return found


def gpt2_names() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (V, H),
        "transformer.wpe.weight": (12, H),
        "transformer.ln_f.weight": (H,),
        "transformer.ln_f.bias": (H,),
        "transformer.linear.weight": (2 * H, P),
        "transformer.linear_emb.weight": (H, P),
    }
    for at in range(2):
        for part, shape in (
            ("attn.c_attn", (H, 3 * H)),  # Conv1D: (in, out)
            ("attn.c_proj", (H, H)),
            ("mlp.c_fc", (H, 4 * H)),
            ("mlp.c_proj", (4 * H, H)),
        ):
            found[f"transformer.h.{at}.{part}.weight"] = shape
            found[f"transformer.h.{at}.{part}.bias"] = shape[1:]
        for part in ("ln_1", "ln_2"):
            found |= {f"transformer.h.{at}.{part}.{kind}": (H,) for kind in ("weight", "bias")}
    return found


Halves = dict[str, dict[str, Tensor]]


def halves() -> Halves:
    draw = torch.Generator().manual_seed(0)
    made = {
        half: {name: 0.5 * torch.randn(shape, generator=draw) for name, shape in names.items()}
        for half, names in (("encoder", bert_names()), ("decoder", gpt2_names()))
    }
    for at in range(2):
        made["decoder"][f"transformer.h.{at}.attn.bias"] = torch.ones(1, 1, 12, 12).tril()
    made["decoder"]["lm_head.weight"] = made["decoder"]["transformer.wte.weight"]
    return made


def save(folder: Path, made: Halves, step: int = 508_523, *, full: bool = True, **more: Any) -> Path:
    for half, settings in (("encoder", BERT), ("decoder", GPT2)):
        place = folder / f"checkpoint-{half}-{step}"
        place.mkdir(parents=True)
        (place / "config.json").write_text(json.dumps(settings))
        # Beside a full checkpoint the halves are not read: what they say would show.
        tensors = made[half] if not full else {name: value * 0 for name, value in made[half].items()}
        torch.save(tensors, place / "pytorch_model.bin")
    if full:
        place = folder / f"checkpoint-full-{step}"
        place.mkdir()
        state = {f"{half}.{name}": value for half, part in made.items() for name, value in part.items()}
        record = argparse.Namespace(latent_size=P, device=torch.device("cpu"), beta=1.0, output_dir="../output")
        tree = {
            "iter": step,
            "model_state_dict": state,
            "beta": 1.0,
            "args": record,
            "optimizer_state_dict": {"state": {}},
        }
        torch.save(tree | more, place / "training.bin")
    return folder


def posterior(weights: dict[str, Tensor], ids: Tensor) -> Tensor:
    """BertForLatentConnector on one row, as torch's own layers compute it: (2 P,)."""

    def dense(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Tensor, name: str) -> Tensor:
        return nn.functional.layer_norm(x, (H,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    words, places, kinds = (
        weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
    )
    x = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    for at in range(2):
        layer = f"encoder.layer.{at}"
        q, k, v = (
            dense(x, f"{layer}.attention.self.{part}").view(-1, HEADS, H // HEADS).transpose(0, 1)
            for part in ("query", "key", "value")
        )
        mixed = ((q @ k.transpose(1, 2) / (H // HEADS) ** 0.5).softmax(-1) @ v).transpose(0, 1).reshape(-1, H)
        x = norm(x + dense(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = nn.functional.gelu(dense(x, f"{layer}.intermediate.dense"))
        x = norm(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return torch.tanh(dense(x[0], "pooler.dense")) @ weights["linear.weight"].T


@pytest.mark.parametrize("full", [True, False])
def test_parity_of_both_halves(tmp_path: Path, original: Callable[..., Tensor], full: bool) -> None:
    made = halves()
    save(tmp_path, halves(), step=100, full=False)
    found = read_optimus(save(tmp_path, made, step=2_000, full=full))
    encoder, decoder = Vae(found.encoder_config).eval(), CausalDecoder(found.decoder_config).eval()
    load_tensors(encoder, found.encoder, "the encoder")
    load_tensors(decoder, found.decoder, "the decoder")
    assert (found.encoder_config.latent, found.encoder_config.pool) == (P, "pooled")
    config = found.decoder_config
    assert (config.latent, config.injection, config.position_shift, config.hidden) == (P, "both", True, 4 * H)
    assert (config.vocab_size, config.pad, config.bos, config.eos) == (V, V - 3, V - 2, V - 1)
    texts = [torch.tensor([4, 2, 9, 5]), torch.tensor([4, 7, 5])]
    layout = padded(torch.tensor([4, 3]).numpy())
    ids = torch.cat(texts).numpy()
    batch = lay_out(ids, ids * 0, layout, torch.arange(2).numpy(), pad=0, targets={})
    written = torch.tensor([[12, 3, 1, 7, 5, 6]])
    weights = {name.removeprefix("transformer."): value for name, value in made["decoder"].items()}
    with torch.no_grad():
        state = encoder(batch)
        assert state.vector.abs().min() > 1e-3
        for row, text in enumerate(texts):
            mean, log_var = posterior(made["encoder"], text).chunk(2)
            assert (state.vector[row] - mean).abs().max() < 1e-5
            assert (state.log_var[row] - log_var).abs().max() < 1e-5
            memory = torch.stack((weights["linear.weight"] @ mean).split(H))
            expected = original(weights, HEADS, written[0], memory, weights["linear_emb.weight"] @ mean)
            logits = decoder.logits(decoder.states(written, state.vector[row : row + 1]))[0]
            assert (logits - expected @ weights["wte.weight"].T).abs().max() < 1e-4
            assert logits.std() > 0.5


@pytest.mark.parametrize("kept", ["memory", "embedding"])
def test_known_one_scheme_alone(tmp_path: Path, kept: str) -> None:
    made = halves()
    del made["decoder"]["transformer.linear_emb.weight" if kept == "memory" else "transformer.linear.weight"]
    found = read_optimus(save(tmp_path, made))
    assert found.decoder_config.injection == kept
    load_tensors(CausalDecoder(found.decoder_config), found.decoder, "the decoder")


def test_known_names_of_several_processors(tmp_path: Path) -> None:
    made = halves()
    state = {f"module.{half}.{name}": value for half, part in made.items() for name, value in part.items()}
    found = read_optimus(save(tmp_path, made, model_state_dict=state))
    assert torch.equal(found.decoder["memory.weight"], made["decoder"]["transformer.linear.weight"])
    assert torch.equal(found.encoder["posterior.weight"], made["encoder"]["linear.weight"])
    assert isinstance(found.decoder_config, CausalConfig)


class Trap:
    """What a pickle runs where pickles are trusted."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("trap"),)


def test_law_nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"training.bin is damaged or holds more than tensors and arguments"):
        read_optimus(save(tmp_path / "run", halves(), args=Trap()))
    assert not (tmp_path / "trap").exists()


def broken(made: Halves, half: str, name: str, value: Tensor | None) -> Halves:
    del made[half][name]
    return made if value is None else made | {half: made[half] | {name: value}}


@pytest.mark.parametrize(
    "half,name,value,said",
    [
        ("encoder", "linear.weight", None, "lacks 'linear.weight', without which it is no part of Optimus"),
        ("encoder", "pooler.dense.bias", None, "no whole BERT: it lacks 'pooler.dense.bias'"),
        ("encoder", "linear.weight", torch.zeros(8, H), "4 latent numbers and a decoder with 3"),
        (
            "encoder",
            "pooler.dense.weight",
            torch.zeros(4, H),
            r"'trunk.pooler.weight' does not fit config.json: it is \(4, 8\)",
        ),
        ("decoder", "transformer.wte.weight", None, "lacks 'transformer.wte.weight'"),
        ("decoder", "transformer.ln_f.bias", None, "no whole decoder: it lacks 'transformer.ln_f.bias'"),
        ("decoder", "transformer.linear.weight", torch.zeros(3 * H, P), r"memory is \(24, 3\), not \(16, 3\)"),
        ("decoder", "transformer.linear.weight", torch.zeros(4), "is no matrix"),
    ],
)
def test_smoke_what_is_missing_is_named(tmp_path: Path, half: str, name: str, value: Tensor | None, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_optimus(save(tmp_path, broken(halves(), half, name, value)))


def test_smoke_no_such_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        read_optimus(tmp_path / "none")
    with pytest.raises(UserError, match="holds no checkpoint-encoder-N beside a checkpoint-decoder-N"):
        read_optimus(tmp_path)
    with pytest.raises(UserError, match="holds no encoder"):
        read_optimus(save(tmp_path / "a", halves(), model_state_dict={"decoder.x": torch.ones(1)}))
    with pytest.raises(UserError, match="no 'model_state_dict' of tensors"):
        read_optimus(save(tmp_path / "b", halves(), model_state_dict=3))
    made = halves()
    del made["decoder"]["transformer.linear.weight"], made["decoder"]["transformer.linear_emb.weight"]
    with pytest.raises(UserError, match="so its GPT-2 reads no latent"):
        read_optimus(save(tmp_path / "c", made))
