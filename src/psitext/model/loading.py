"""Where models come from: psitext's own folders, and checkpoints in Hugging Face's layout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from psitext.assemble import (
    Encoder,
    EncoderConfig,
    HeadConfig,
    SpaceConfig,
    SpaceEncoder,
    build_decoder,
    build_encoder,
    build_head,
    build_pretraining_head,
    build_space,
    decoder_config,
    encoder_config,
    head_config,
    space_config,
)
from psitext.baselines.lstm import LstmPosteriorConfig
from psitext.config import build
from psitext.encoders.vae import Nothing, NothingConfig, Vae, VaeConfig
from psitext.errors import UserError
from psitext.explain.law import WordLaw
from psitext.heads.decoding import DecoderConfig, DecodingHead, WritingConfig
from psitext.heads.pretraining import PretrainingConfig
from psitext.model import folder
from psitext.model.model import TEXT, WRITTEN, Model, Sentences
from psitext.model.shipped import located
from psitext.text.examples import Task
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.train import checkpoint
from psitext.train.network import Network

HF = "hf:"
GGUF = ".gguf"  # a Llama in one file
AnyHead = HeadConfig | PretrainingConfig | DecoderConfig


@dataclass(frozen=True, slots=True)
class Described:
    """What a model's folder says of it, each part checked by the one that it configures; no weights."""

    encoder: EncoderConfig | SpaceConfig
    head: AnyHead | None
    task: Task | None
    text: TextConfig
    temperature: float
    facts: Mapping[str, Any]


def described(path: Path) -> Described:
    """The settings in a model's folder (or a run's). Errors: as ``load``, but for weights and tokenizers."""
    path = folder.find(path)
    tree, origin = folder.read_config(path), str(path)
    task = build(Task, tree["task"], origin) if tree["task"] is not None else None
    of = space_config if tree["head"]["for"] == "writing" else encoder_config
    head = _head_config(tree["head"], origin)
    text = build(TextConfig, tree["text"], origin)
    return Described(of(tree["encoder"], origin), head, task, text, tree["temperature"], tree["facts"])


def load(source: str | Path, *, pool: str | None = None) -> Model:
    """Load a model: a folder that psitext saved, a run's folder, ``hf:<folder or hub id>``, or by its name one that
    comes with psitext (``psitext models`` lists them), where no folder here has that name.

    ``pool`` says what the sentence vector is ("pooled", "cls", "mean"); None keeps what the model was made with.
    Another one leaves the model without its head, which was made to read the old vector.

    Errors: no such folder, one that is not a model, one whose files are damaged or of another format or family.
    """
    if not isinstance(source, str | os.PathLike):
        raise UserError(f"load takes the name or path of a model, not a {type(source).__name__}")
    if str(source).startswith(HF):
        return from_hf(str(source).removeprefix(HF), pool)
    path = folder.find(located(source))
    found = described(path)
    encoder, module = _built(found)
    network = Network(encoder, module)
    checkpoint.load_tensors(network, checkpoint.read_tensors(path / checkpoint.MODEL), str(path))
    tokenizers = {file.stem: _tokenizer(file) for file in folder.tokenizer_files(path)}
    law = WordLaw(**checkpoint.read_tensors(path / folder.LAW)) if (path / folder.LAW).is_file() else None
    model = Model(
        network.eval(), tokenizers, found.text, found.head, found.task, found.temperature, dict(found.facts), law
    )
    same = pool is None or (pool == encoder.config.pool and not isinstance(encoder, Vae))
    return model if same else with_pool(model, str(pool))


def from_hf(source: str, pool: str | None = None) -> Model:
    """A checkpoint in Hugging Face's layout, by folder or hub id, as a model without a task: a BERT, which reads, with
    the heads it was pre-trained under where they are there and ``pool`` names no other vector; or a GPT-2 or Llama
    (also one .gguf file), a language model, which writes.
    """
    from psitext.hf.bert import read_bert
    from psitext.hf.checkpoints import SETTINGS, locate, read_json
    from psitext.hf.decoders.settings import NAMES

    facts = {"from": f"hf:{source}"}
    if source.endswith(GGUF) and Path(source).is_file():
        return _language_model(source, facts)
    settings = locate(source) / SETTINGS
    if settings.is_file() and read_json(settings).get("model_type") in NAMES:
        return _language_model(source, facts)
    found = read_bert(source, pool=pool)
    heads = found.pretraining if pool is None else None
    head = None if heads is None else found.pretraining_config
    text = TextConfig(max_len=min(found.config.max_len, 512))
    network = Network(*_built(Described(found.config, head, None, text, 1.0, facts)))
    tensors = {f"encoder.{name}": value for name, value in found.encoder.items()}
    tensors |= {f"head.{name}": value for name, value in (heads or {}).items()}
    checkpoint.load_tensors(network, tensors, source)
    return Model(network.eval(), {TEXT: found.tokenizer}, text, head, facts=facts)


def _language_model(source: str, facts: Mapping[str, Any]) -> Model:
    from psitext.hf.decoders import read_decoder, read_gguf

    found = read_gguf(Path(source)) if source.endswith(GGUF) else read_decoder(source)
    decoder = build_decoder(found.config)
    checkpoint.load_tensors(decoder, found.tensors, source)
    network = Network(Nothing(NothingConfig()), DecodingHead(decoder)).eval()
    return Model(network, {WRITTEN: found.tokenizer}, TextConfig(), found.config, facts=facts)


def with_pool(model: Model, pool: str) -> Model:
    """The encoder of a model under another sentence vector, without a head: what read the old vector cannot read
    the new one. Of an encoder with a posterior it is the trunk's: the state that the posterior is made from.
    """
    if isinstance(model.network.encoder, Nothing):
        raise UserError("a language model reads no text into a state, so there is none to pool")
    old: Any = model.encoder.trunk if isinstance(model.encoder, Vae) else model.encoder
    config = build(type(old.config), {**old.config.tree(), "pool": pool}, "the sentence vector")
    encoder = build_encoder(config)
    new = checkpoint.tensors_of(encoder)  # with another pool there may be one part, BERT's pooler, more or less
    kept = {name: value for name, value in checkpoint.tensors_of(old).items() if name in new}
    checkpoint.load_tensors(encoder, new | kept, "the encoder")
    reads = {TEXT: model.tokenizer}
    return Model(Network(encoder, Sentences()).eval(), reads, model.text, facts=model.facts)


def _tokenizer(file: Path) -> Tokenizer | CausalTokenizer:
    return CausalTokenizer.load(file) if file.stem == WRITTEN else Tokenizer.load(file)


def _head_config(tree: Mapping[str, Any], origin: str) -> AnyHead | None:
    match tree["for"]:
        case "none":
            return None
        case "writing":
            return decoder_config(tree["settings"], origin)
        case "pretraining":
            return build(PretrainingConfig, tree["settings"], origin)
        case "task":
            return head_config(tree["settings"], origin)
    raise UserError(f"{origin} has a head for {tree['for']!r}, which this psitext does not know")


def _built(found: Described) -> tuple[SpaceEncoder | Encoder, nn.Module]:
    """The parts of a model with fresh weights."""
    if isinstance(found.head, WritingConfig):
        assert isinstance(found.encoder, VaeConfig | LstmPosteriorConfig | NothingConfig)
        return build_space(found.encoder), DecodingHead(build_decoder(found.head))
    assert not isinstance(found.encoder, NothingConfig)
    encoder = build_encoder(found.encoder)
    if found.head is None:
        return encoder, Sentences()
    if isinstance(found.head, PretrainingConfig):
        return encoder, build_pretraining_head(encoder, found.head)
    assert found.task is not None
    return encoder, build_head(found.task, encoder, found.head)
