"""BERT checkpoints in Hugging Face's layout: read any of them, write ours so that transformers loads them.

Label 0 of the next-sentence head means "B follows A" on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from psitext.encoders.bert import Bert, BertConfig
from psitext.errors import UserError
from psitext.files import folder_atomic, os_error, usual_mode, write_atomic
from psitext.heads.affine import SequenceHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.hf import names
from psitext.hf.checkpoints import SETTINGS, check_new, locate, read_json, read_tensors
from psitext.hf.pooling import read_pool, write_mean_pool
from psitext.hf.settings import check_architecture, from_theirs, to_theirs
from psitext.hf.tokenizer_files import write_tokenizer
from psitext.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """A checkpoint in psitext's terms. Tensors are float32, on the CPU, by the names of our modules.

    ``pretraining`` (for ``PretrainingHead``) is None where the checkpoint has no masked-words head. It lacks
    ``next.*`` where there is no next-sentence head, or where the sentence vector is not the pooled one that
    this head was trained on; and it lacks ``words.decoder.weight`` where ``tied``.
    """

    config: BertConfig
    encoder: dict[str, Tensor]  # for Bert
    pretraining: dict[str, Tensor] | None
    tied: bool  # the decoder of the masked-words head is the token embedding
    tokenizer: Tokenizer

    @property
    def pretraining_config(self) -> PretrainingConfig:
        """Settings of the head that ``pretraining`` fits."""
        return PretrainingConfig(tied=self.tied, next_sentence="next.weight" in (self.pretraining or {}))


def read_bert(source: str, *, pool: str | None = None) -> Imported:
    """Read a BERT from a local folder or, where there is none of that name, from the hub.

    The sentence vector is what ``pool`` says; else what a sentence-transformers folder says; else the pooled
    [CLS], or [CLS] itself where the checkpoint has no pooler. Heads of other tasks are left out. Errors:
    another architecture or activation; damaged or missing files; tensors that do not fit ``config.json``;
    more tokens than embeddings.
    """
    folder = locate(source)
    root, stated = read_pool(folder, wanted=pool is None)
    path = root / SETTINGS
    settings = read_json(path)
    check_architecture(settings, path)
    tensors = names.canonical(read_tensors(root))
    config = from_theirs(settings, pool or stated, "pooler.dense.weight" in tensors, path)
    tied = _is_tied(settings, tensors, root)
    with torch.device("meta"):  # shapes only
        like = Bert(config)
        head_like = PretrainingHead(like, PretrainingConfig(tied=False))
    encoder = _take(names.encoder_table(config), tensors, like, root)
    _check_nothing_left(config, tensors, root)
    tokenizer = Tokenizer.load(root)
    if tokenizer.vocab_size > config.vocab_size:
        raise UserError(
            f"the tokenizer in {root} has {tokenizer.vocab_size:,} tokens, the embedding only "
            f"{config.vocab_size:,} rows; give a folder whose parts belong together"
        )
    return Imported(config, encoder, _pretraining(config, tied, tensors, head_like, root), tied, tokenizer)


def write_bert(
    folder: Path,
    encoder: Bert,
    *,
    pretraining: PretrainingHead | None = None,
    classifier: SequenceHead | None = None,
    labels: Sequence[str] = (),
    tokenizer: Tokenizer,
) -> None:
    """Write a folder that transformers loads; its ``architectures`` names the class.

    ``labels`` name the classes in order (none for a regression). A mean pool is written the way
    sentence-transformers reads it; a [CLS] without pooler needs ``add_pooling_layer=False`` at their side.
    Errors: what their BERT cannot express; more tokens than embeddings; a folder that is in use.
    """
    check_new(folder)
    config = encoder.config
    if tokenizer.vocab_size > config.vocab_size:
        raise UserError(
            f"the tokenizer has {tokenizer.vocab_size:,} tokens, the model only {config.vocab_size:,} "
            "embeddings; give the tokenizer that it was trained with"
        )
    settings = to_theirs(encoder, pretraining, classifier, labels) | {"pad_token_id": tokenizer.pad}
    tensors = _their_tensors(encoder, pretraining, classifier, tied=settings["tie_word_embeddings"])
    with folder_atomic(folder) as part:
        write_atomic(part / SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
        try:
            with usual_mode(part / "model.safetensors"):
                save_file(tensors, part / "model.safetensors", metadata={"format": "pt"})
        except SafetensorError as error:
            raise os_error(error, folder) from None
        write_tokenizer(part, tokenizer, config.max_len)
        if config.pool == "mean":
            write_mean_pool(part, config.width)


def _is_tied(settings: dict[str, Any], tensors: dict[str, Tensor], root: Path) -> bool:
    """Whether the decoder is the embedding; as in transformers, weights that differ outvote the config."""
    decoder, words = tensors.get(names.DECODER), tensors.get(names.WORDS)
    if settings.get("tie_word_embeddings", True):
        return decoder is None or words is None or torch.equal(decoder, words)
    if decoder is None and names.DECODER_BIAS in tensors:
        raise UserError(f"{root} says that its decoder is not tied, but lacks {names.DECODER!r}; get a fresh copy")
    return False


def _take(table: names.Table, tensors: dict[str, Tensor], like: nn.Module, root: Path) -> dict[str, Tensor]:
    """The tensors of a table under our names, once they are all there and of the shapes of ``like``."""
    lost = names.missing(table, tensors)
    if lost:
        raise UserError(f"{root} holds no whole BERT: it lacks {lost[0]!r} ({len(lost)} of its tensors are missing)")
    shapes = {name: tuple(value.shape) for name, value in like.state_dict().items()}
    found = {}
    for name, theirs in table.items():
        parts = [tensors[their] for their in theirs]
        if not all(part.is_floating_point() for part in parts):
            raise UserError(f"{root}: {theirs[0]!r} is quantised ({parts[0].dtype}); give the checkpoint it came from")
        found[name] = names.join(parts)
        have = tuple(found[name].shape)
        if have != shapes[name]:
            raise UserError(f"{root}: {theirs[0]!r} does not fit {SETTINGS}: it gives {have}, not {shapes[name]}")
    return found


def _check_nothing_left(config: BertConfig, tensors: dict[str, Tensor], root: Path) -> None:
    """Refuse encoder tensors that ours has no place for: leaving them out would make another model."""
    known = {their for theirs in names.encoder_table(config).values() for their in theirs} | set(names.POOLER)
    left = [name for name in tensors if name.startswith(names.ENCODER_PARTS) and name not in known]
    if left:
        raise UserError(
            f"{root} holds {left[0]!r}, for which a BERT of {config.layers} layers has no place ({len(left)} in all)"
        )


def _pretraining(
    config: BertConfig, tied: bool, tensors: dict[str, Tensor], like: nn.Module, root: Path
) -> dict[str, Tensor] | None:
    """The pre-training heads under our names, or None where there is no masked-words head."""
    if "cls.predictions.transform.dense.weight" not in tensors:
        return None
    bias = tensors.get(names.TWIN_BIAS, tensors.get(names.DECODER_BIAS))  # one bias, two names
    known = tensors if bias is None else {**tensors, names.DECODER_BIAS: bias}
    next_sentence = config.pool == "pooled" and "cls.seq_relationship.weight" in tensors
    return _take(names.pretraining_table(tied=tied, next_sentence=next_sentence), known, like, root)


def _their_tensors(
    encoder: Bert, pretraining: PretrainingHead | None, classifier: SequenceHead | None, *, tied: bool
) -> dict[str, Tensor]:
    """Everything that is written, under their names; an encoder with a head stands below ``bert.``."""
    bare = pretraining is None and classifier is None
    tensors = names.split(names.encoder_table(encoder.config), encoder.state_dict(), "" if bare else "bert.")
    if pretraining is not None:
        table = names.pretraining_table(tied=tied, next_sentence=pretraining.next is not None)
        tensors |= names.split(table, pretraining.state_dict())
        if not tied:  # transformers looks for the bias of a layer of its own under both names
            tensors[names.TWIN_BIAS] = tensors[names.DECODER_BIAS].clone()
    if classifier is not None:
        tensors |= names.split(names.CLASSIFIER, classifier.state_dict())
    return tensors
