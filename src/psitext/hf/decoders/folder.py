"""GPT-2 and Llama checkpoints in Hugging Face's layout: read as language models, written back.

Tensors have the names of transformers' models with a head, below ``network.`` in a ``CausalDecoder``; so there is no
table of names. Letters: V vocabulary, H width.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from psitext.errors import UserError
from psitext.files import folder_atomic, os_error, usual_mode, write_atomic
from psitext.heads.decoding import CausalConfig
from psitext.hf.checkpoints import SETTINGS, check_new, locate, read_json, read_tensors
from psitext.hf.decoders.causal import CausalDecoder
from psitext.hf.decoders.settings import from_theirs, to_theirs
from psitext.randomness import generator
from psitext.text.tokenizer.causal import CausalTokenizer

BASES = {"gpt2": "transformer.", "llama": "model."}  # what stands before the names of a model without its head
WORDS = {"gpt2": "transformer.wte.weight", "llama": "model.embed_tokens.weight"}
POSITIONS = "transformer.wpe.weight"
OUTPUT = "lm_head.weight"
ARCHITECTURES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}
BUFFERS = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq")  # triangles and angles: nothing learned
NEW_ROWS = 0.1  # deviation of the noise on a new token's embedding, in deviations of the embedding


class LanguageModel(NamedTuple):
    """A checkpoint in psitext's terms; tensors are float32, on the CPU, by the names of a ``CausalDecoder``."""

    config: CausalConfig
    tensors: dict[str, Tensor]
    tokenizer: CausalTokenizer


def read_decoder(source: str) -> LanguageModel:
    """Read a GPT-2 or a Llama, as the language model that it is (P = 0), from a local folder or from the hub.

    A vocabulary that ends in three tokens more than the embedding has rows (GPT-2's own files, to which ``<PAD>``,
    ``<BOS>`` and ``<EOS>`` are added) gets rows for them: the mean row and a little noise, the same in every reading.
    Rows that no token has are left out. Errors: another architecture or activation; damaged or missing files; tensors
    that do not fit ``config.json``; a vocabulary that does not fit the embedding.
    """
    folder = locate(source)
    settings = read_json(folder / SETTINGS)
    config = from_theirs(settings, folder / SETTINGS)
    tensors = canonical(read_tensors(folder), config.model)
    config = config.model_copy(update={"tied": is_tied(config, tensors)})
    found = fitting(config, tensors, folder)
    tokenizer = CausalTokenizer.load(folder)
    roles = {role: getattr(tokenizer, role) for role in ("bos", "eos", "pad")}
    for name in {WORDS[config.model], OUTPUT} & found.keys():
        found[name] = _rows_for(tokenizer, found[name], folder)
    config = config.model_copy(update={"vocab_size": tokenizer.vocab_size, **roles})
    return LanguageModel(config, {f"network.{name}": value for name, value in found.items()}, tokenizer)


def write_decoder(
    folder: Path, decoder: CausalDecoder, tokenizer: CausalTokenizer, *, drop_latent: bool = False
) -> None:
    """Write a folder that transformers loads as a plain GPT2LMHeadModel or LlamaForCausalLM, float32.

    With ``drop_latent`` what a latent would add is left out: memory and embedding are gone, and the positions that
    their memory had shifted count from 0 again. Errors: a latent that nobody said to drop; a tokenizer of another
    vocabulary; a folder that is in use.
    """
    config = decoder.config
    check_new(folder)
    if config.latent and not drop_latent:
        raise UserError(
            f"transformers' {ARCHITECTURES[config.model]} has no place for a latent of {config.latent} numbers; drop "
            "it, or keep the model in psitext's own layout"
        )
    if tokenizer.vocab_size != config.vocab_size:
        raise UserError(
            f"the tokenizer has {tokenizer.vocab_size:,} tokens, the decoder {config.vocab_size:,}; give the tokenizer "
            "that it was trained with"
        )
    named = decoder.network.named_parameters()
    tensors = {name: value.detach().cpu().float().clone() for name, value in named}
    settings = to_theirs(config) | {
        "architectures": [ARCHITECTURES[config.model]],
        "model_type": config.model,
        "pad_token_id": config.pad,
        "dtype": "float32",
    }
    if decoder.first_position:
        tensors[POSITIONS] = tensors[POSITIONS][decoder.first_position :].clone()
        settings["n_positions"] = len(tensors[POSITIONS])
    with folder_atomic(folder) as part:
        write_atomic(part / SETTINGS, json.dumps(settings, indent=2) + "\n")
        try:
            with usual_mode(part / "model.safetensors"):
                save_file(tensors, part / "model.safetensors", metadata={"format": "pt"})
        except SafetensorError as error:
            raise os_error(error, folder) from None
        _write_tokenizer(part, tokenizer, int(settings.get("n_positions", config.max_len)))


def canonical(tensors: Mapping[str, Tensor], model: str) -> dict[str, Tensor]:
    """Tensors under the names of the model with a head, whether they come from one or not, without buffers."""
    base = BASES[model]
    bare = not any(name.startswith(base) for name in tensors)
    named = {name if not bare or name == OUTPUT else base + name: value for name, value in tensors.items()}
    return {name: value for name, value in named.items() if not name.endswith(BUFFERS)}


def is_tied(config: CausalConfig, tensors: Mapping[str, Tensor]) -> bool:
    """Whether the output matrix is the embedding; as in transformers, weights that differ outvote the config."""
    output, words = tensors.get(OUTPUT), tensors.get(WORDS[config.model])
    return config.tied and (output is None or words is None or torch.equal(output, words))


def fitting(config: CausalConfig, tensors: Mapping[str, Tensor], root: Path) -> dict[str, Tensor]:
    """The tensors of transformers' model of this config, float32; heads of other tasks are left out. Errors: a tensor
    that is missing, of another shape, quantised, or without a place.
    """
    shapes = _shapes(config, len(tensors), root)
    lost = sorted(shapes.keys() - tensors.keys())
    if lost:
        raise UserError(f"{root} holds no whole decoder: it lacks {lost[0]!r} ({len(lost)} of its tensors are missing)")
    left = sorted(name for name in tensors.keys() - shapes.keys() if name.startswith(BASES[config.model]))
    if left:
        raise UserError(
            f"{root} holds {left[0]!r}, for which a {config.model} of {config.layers} layers has no place "
            f"({len(left)} in all)"
        )
    for name, shape in shapes.items():
        if not tensors[name].is_floating_point():
            raise UserError(f"{root}: {name!r} is quantised ({tensors[name].dtype}); give the checkpoint it came from")
        if tuple(tensors[name].shape) != shape:
            raise UserError(
                f"{root}: {name!r} does not fit {SETTINGS}: it is {tuple(tensors[name].shape)}, not {shape}"
            )
    return {name: tensors[name].float() for name in shapes}


def _shapes(config: CausalConfig, count: int, root: Path) -> dict[str, tuple[int, ...]]:
    """Of the tensors of transformers' model; what cannot be is refused before anything is built from it."""
    if config.layers > count:
        raise UserError(f"{root} says that it has {config.layers:,} layers, but holds {count:,} tensors in all")
    try:
        with torch.device("meta"):  # shapes only
            network = CausalDecoder(config).network
    except (RuntimeError, OverflowError):
        raise UserError(f"{root} states sizes that no model can have; get a fresh copy") from None
    return {name: tuple(value.shape) for name, value in network.named_parameters()}


def _rows_for(tokenizer: CausalTokenizer, rows: Tensor, root: Path) -> Tensor:
    """(V, H) a row for every token, from the rows of a checkpoint."""
    size, wanted = len(rows), tokenizer.vocab_size
    new = range(size, wanted)
    if not set(new) <= {tokenizer.bos, tokenizer.eos, tokenizer.pad}:
        raise UserError(
            f"the tokenizer in {root} has {wanted:,} tokens, the embedding only {size:,} rows; give a folder whose "
            "parts belong together"
        )
    if not new:
        return rows[:wanted]
    noise = generator(0, "rows of new tokens").standard_normal((len(new), rows.shape[1]))
    added = rows.mean(0) + NEW_ROWS * rows.std(0) * torch.from_numpy(noise).float()
    return torch.cat([rows, added])


def _write_tokenizer(folder: Path, tokenizer: CausalTokenizer, max_len: int) -> None:
    """tokenizer.json and what transformers wants beside it."""
    tokenizer.save(folder)
    bos, eos, pad = tokenizer.tokens([tokenizer.bos, tokenizer.eos, tokenizer.pad])
    named = {"bos_token": bos, "eos_token": eos, "pad_token": pad}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",  # takes tokenizer.json as it is
        "model_max_length": max_len,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        **named,
    }
    write_atomic(folder / "tokenizer_config.json", json.dumps(settings, indent=2, ensure_ascii=False))
