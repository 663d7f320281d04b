"""``config.json`` of a Hugging Face BERT, both ways; what cannot be expressed is refused, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psitext.config import build
from psitext.encoders.bert import ACTIVATIONS, Bert, BertConfig
from psitext.errors import UserError, near
from psitext.heads.affine import SequenceHead
from psitext.heads.pretraining import PretrainingHead

POOLS = ("pooled", "cls", "mean")
# Our name -> theirs. A setting that is absent is that of bert-base, on both sides.
_NAMES = {
    "vocab_size": "vocab_size",
    "width": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden": "intermediate_size",
    "max_len": "max_position_embeddings",
    "segments": "type_vocab_size",
    "activation": "hidden_act",
    "norm_eps": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "init_std": "initializer_range",
}


def check_architecture(settings: dict[str, Any], path: Path) -> None:
    """Refuse what would load and mean something else. The first BERT checkpoints do not name their type."""
    kind = settings.get("model_type", "bert")
    if kind != "bert":
        raise UserError(
            f"{path.parent} holds a model of type {kind!r}, not a BERT; give one whose model_type is 'bert'"
        )
    activation = settings.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise UserError(
            f"{path} sets hidden_act to {activation!r}; psitext's BERT has {' and '.join(ACTIVATIONS)} only"
        )
    position = settings.get("position_embedding_type", "absolute")
    if position != "absolute":
        raise UserError(f"{path} sets position_embedding_type to {position!r}; psitext's BERT has 'absolute' only")
    if settings.get("is_decoder") or settings.get("add_cross_attention"):
        raise UserError(f"{path} describes a decoder, whose tokens look back only; psitext's BERT looks both ways")


def from_theirs(settings: dict[str, Any], pool: str | None, has_pooler: bool, path: Path) -> BertConfig:
    """The config that ``settings``, read from ``path``, describe.

    ``pool`` is what was asked for; None takes the pooled [CLS], or [CLS] itself where the weights have no
    pooler.
    """
    if pool is not None and pool not in POOLS:
        raise UserError(f"no pool called {pool!r}{near(pool, POOLS) or '; there are: ' + ', '.join(POOLS)}")
    if pool == "pooled" and not has_pooler:
        raise UserError(
            f"{path.parent} has no pooler, so its sentence vector cannot be 'pooled'; ask for 'cls' or 'mean'"
        )
    given = {name: settings[their] for name, their in _NAMES.items() if settings.get(their) is not None}
    given["pool"] = pool or ("pooled" if has_pooler else "cls")
    return build(BertConfig, given, str(path))


def to_theirs(
    encoder: Bert, pretraining: PretrainingHead | None, classifier: SequenceHead | None, labels: Sequence[str]
) -> dict[str, Any]:
    """The settings with which transformers loads these parts."""
    config = encoder.config
    follows = pretraining is not None and pretraining.next is not None
    _check_expressible(config, pretraining, classifier, follows)
    architecture = "BertModel"
    if classifier is not None:
        architecture = "BertForSequenceClassification"
    elif pretraining is not None:
        architecture = "BertForPreTraining" if follows else "BertForMaskedLM"
    return {
        "architectures": [architecture],
        "model_type": "bert",
        **{their: getattr(config, name) for name, their in _NAMES.items()},
        "tie_word_embeddings": pretraining is None or pretraining.words.decoder.weight is encoder.token.weight,
        "dtype": str(encoder.token.weight.dtype).removeprefix("torch."),
        **({} if classifier is None else _classes(classifier, labels)),
    }


def _check_expressible(
    config: BertConfig, pretraining: PretrainingHead | None, classifier: SequenceHead | None, follows: bool
) -> None:
    if not config.embedding_norm:
        raise UserError(
            "transformers' BERT always normalises its embeddings, so a model with embedding_norm = false "
            "cannot be written in its layout"
        )
    if pretraining is not None and classifier is not None:
        raise UserError("a folder of transformers' BERT holds pre-training heads or a classifier; write two folders")
    if config.pool != "pooled" and (classifier is not None or follows):
        reader = "BertForSequenceClassification" if classifier is not None else "BertForPreTraining"
        raise UserError(
            f"{reader} reads the pooled [CLS], this model's head reads pool = {config.pool!r}; "
            "write the encoder alone, or train with pool = 'pooled'"
        )


def _classes(classifier: SequenceHead, labels: Sequence[str]) -> dict[str, Any]:
    outputs = classifier.output.out_features
    if labels and (len(labels) != outputs or len(set(labels)) != outputs):
        raise UserError(f"a classifier of {outputs} outputs takes {outputs} different labels, not {list(labels)}")
    called = list(labels) or [f"LABEL_{index}" for index in range(outputs)]  # as transformers calls unnamed ones
    return {
        "id2label": {str(index): label for index, label in enumerate(called)},
        "label2id": {label: index for index, label in enumerate(called)},
        "problem_type": "single_label_classification" if outputs > 1 else "regression",
        "classifier_dropout": classifier.dropout.rate,
    }
