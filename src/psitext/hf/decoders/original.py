"""Checkpoints of the original Optimus code (2019's pytorch_transformers): its layout, its names, its pickles.

A folder holds ``checkpoint-encoder-N`` and ``checkpoint-decoder-N``, each with ``config.json`` and
``pytorch_model.bin``, and mostly ``checkpoint-full-N/training.bin``, a pickle with both parts under ``encoder.`` and
``decoder.``, which counts where it is there. Of a pickle only tensors and the plain record of arguments are built, and
nothing is executed. Letters: P latent numbers, H width, L layers, V vocabulary.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from psitext.encoders.bert import Bert
from psitext.encoders.vae import VaeConfig
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig
from psitext.hf import names
from psitext.hf import settings as bert_settings
from psitext.hf.checkpoints import SETTINGS, read_json, read_tensors
from psitext.hf.decoders.folder import WORDS, canonical, fitting, is_tied
from psitext.hf.decoders.settings import from_theirs

FULL = "training.bin"
POSTERIOR = "linear.weight"  # W_E (2 P, H): means, then log-variances
MEMORY = "transformer.linear.weight"  # W_M (L * H, P)
EMBEDDING = "transformer.linear_emb.weight"  # W_D (H, P)


class Space(NamedTuple):
    """Both parts in psitext's terms; tensors are float32, on the CPU, by the names of a ``Vae`` and a
    ``CausalDecoder``.
    """

    encoder_config: VaeConfig
    encoder: dict[str, Tensor]
    decoder_config: CausalConfig
    decoder: dict[str, Tensor]


def read_optimus(folder: Path) -> Space:
    """Read the checkpoint of the last step in a folder of the original code.

    The three tokens that it adds to GPT-2 are the last of the vocabulary: ``<PAD>``, ``<BOS>``, ``<EOS>``. Its
    posterior is made from the pooled [CLS], and its positions count from 1 behind the memory. Errors: parts or tensors
    that are missing or do not fit; a pickle that holds more than it should.
    """
    step = _last_step(folder)
    halves = {half: folder / f"checkpoint-{half}-{step}" for half in ("encoder", "decoder")}
    full = folder / f"checkpoint-full-{step}" / FULL
    parts = _split(read_full(full), full) if full.is_file() else {k: read_tensors(v) for k, v in halves.items()}
    width, encoder_config, encoder = _encoder(parts["encoder"], halves["encoder"])
    decoder_config, decoder = _decoder(parts["decoder"], halves["decoder"])
    if width != decoder_config.latent:
        raise UserError(
            f"{folder} holds an encoder with {width} latent numbers and a decoder with {decoder_config.latent}; give "
            "the checkpoints of one run"
        )
    return Space(encoder_config, encoder, decoder_config, decoder)


def read_full(path: Path) -> dict[str, Tensor]:
    """The tensors of the whole model in a ``training.bin``; its optimiser and arguments are left where they are."""
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):  # a record of plain values
            tree = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle can fail in any way
        raise UserError(
            f"{path} is damaged or holds more than tensors and arguments ({type(error).__name__}); a fresh copy is "
            "needed"
        ) from None
    found = tree.get("model_state_dict") if isinstance(tree, dict) else None
    if not isinstance(found, dict) or not all(torch.is_tensor(value) for value in found.values()):
        raise UserError(f"{path} holds no 'model_state_dict' of tensors, so it is no checkpoint of Optimus")
    return {name.removeprefix("module."): value for name, value in found.items()}


def _last_step(folder: Path) -> int:
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; give the one that holds checkpoint-encoder-N and its siblings")
    found = [re.fullmatch(r"checkpoint-encoder-(\d+)", path.name) for path in folder.iterdir()]
    steps = [int(match[1]) for match in found if match]
    whole = [step for step in steps if (folder / f"checkpoint-decoder-{step}").is_dir()]
    if not whole:
        raise UserError(f"{folder} holds no checkpoint-encoder-N beside a checkpoint-decoder-N of one step N")
    return max(whole)


def _split(tensors: Mapping[str, Tensor], path: Path) -> dict[str, dict[str, Tensor]]:
    parts = {
        half: {name.removeprefix(f"{half}."): value for name, value in tensors.items() if name.startswith(f"{half}.")}
        for half in ("encoder", "decoder")
    }
    empty = [half for half, part in parts.items() if not part]
    if empty:
        raise UserError(f"{path} holds no {empty[0]}: none of its tensors begins with '{empty[0]}.'")
    return parts


def _encoder(tensors: Mapping[str, Tensor], folder: Path) -> tuple[int, VaeConfig, dict[str, Tensor]]:
    """P, settings and tensors of the BERT and its posterior."""
    path = folder / SETTINGS
    settings = read_json(path)
    bert_settings.check_architecture(settings, path)
    theirs = names.canonical(tensors)
    posterior = _matrix(theirs.pop(POSTERIOR, None), POSTERIOR, folder)
    trunk = bert_settings.from_theirs(settings, "pooled", "pooler.dense.weight" in theirs, path)
    table = names.encoder_table(trunk)
    lost = names.missing(table, theirs)
    if lost:
        raise UserError(f"{folder} holds no whole BERT: it lacks {lost[0]!r} ({len(lost)} of its tensors are missing)")
    left = theirs.keys() - {their for several in table.values() for their in several}
    left = {name for name in left if name.startswith(names.ENCODER_PARTS)}
    if left:
        raise UserError(f"{folder} holds {min(left)!r}, for which a BERT of {trunk.layers} layers has no place")
    found = {name: names.join([theirs[their] for their in several]) for name, several in table.items()}
    found = {f"trunk.{name}": value for name, value in found.items()} | {"posterior.weight": posterior}
    with torch.device("meta"):  # shapes only
        shapes = {f"trunk.{name}": tuple(value.shape) for name, value in Bert(trunk).state_dict().items()}
    shapes["posterior.weight"] = (len(posterior) // 2 * 2, trunk.width)
    wrong = [name for name, shape in shapes.items() if tuple(found[name].shape) != shape]
    if wrong:
        have, want = tuple(found[wrong[0]].shape), shapes[wrong[0]]
        raise UserError(f"{folder}: what becomes {wrong[0]!r} does not fit {SETTINGS}: it is {have}, not {want}")
    return len(posterior) // 2, VaeConfig(trunk=trunk, latent=len(posterior) // 2), found


def _decoder(tensors: Mapping[str, Tensor], folder: Path) -> tuple[CausalConfig, dict[str, Tensor]]:
    """Settings and tensors of the GPT-2 and what carries the latent into it."""
    theirs = canonical(tensors, "gpt2")
    injected = {ours: theirs.pop(name, None) for ours, name in (("memory", MEMORY), ("embedding", EMBEDDING))}
    there = {ours: _matrix(value, ours, folder) for ours, value in injected.items() if value is not None}
    if not there:
        raise UserError(f"{folder} holds neither {MEMORY!r} nor {EMBEDDING!r}, so its GPT-2 reads no latent")
    words = _matrix(theirs.get(WORDS["gpt2"]), WORDS["gpt2"], folder)
    config = _decoder_config(folder, there, len(words))
    config = config.model_copy(update={"tied": is_tied(config, theirs)})
    found = fitting(config, theirs, folder)
    shapes = {"memory": config.layers * config.width, "embedding": config.width}
    for ours, value in there.items():
        want = (shapes[ours], config.latent)
        if tuple(value.shape) != want:
            raise UserError(f"{folder}: the matrix of the {ours} is {tuple(value.shape)}, not {want}")
    network = {f"network.{name}": value for name, value in found.items()}
    return config, network | {f"{ours}.weight": value for ours, value in there.items()}


def _decoder_config(folder: Path, there: Mapping[str, Tensor], size: int) -> CausalConfig:
    path = folder / SETTINGS
    stated: dict[str, Any] = {"model_type": "gpt2", **read_json(path)}
    stated["vocab_size"] = size  # the three tokens were added after the settings were written
    injection = "both" if len(there) == 2 else next(iter(there))
    roles = {"pad": size - 3, "bos": size - 2, "eos": size - 1}
    latent = next(iter(there.values())).shape[1]
    return from_theirs(stated, path, latent=latent, injection=injection, position_shift=True, **roles)


def _matrix(value: Tensor | None, name: str, folder: Path) -> Tensor:
    """(rows, columns) float32."""
    if value is None:
        raise UserError(f"{folder} lacks {name!r}, without which it is no part of Optimus")
    if value.ndim != 2 or not value.is_floating_point():
        raise UserError(f"{folder}: {name!r} is no matrix of numbers ({value.dtype}, {tuple(value.shape)})")
    return value.float().clone()
