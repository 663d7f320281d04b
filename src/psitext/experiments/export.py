"""Models in other libraries' forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from psitext.encoders.bert import Bert
from psitext.errors import UserError
from psitext.heads.affine import SequenceHead
from psitext.heads.pretraining import PretrainingHead
from psitext.model import Model


def to_hf(model: Model, folder: Path) -> None:
    """A folder that ``transformers`` loads: BertModel, BertForPreTraining or BertForSequenceClassification, by the
    model's head.
    """
    from psitext.hf.bert import write_bert

    head, encoder = model.network.head, model.encoder
    if not isinstance(encoder, Bert):
        raise UserError(f"transformers has no {encoder.config.family}; only a BERT can be written for it")
    if model.task is not None and not isinstance(head, SequenceHead):
        raise UserError(
            f"a {model.task.kind} head cannot be written for transformers; export the run that it was fine-tuned from"
        )
    write_bert(
        folder,
        encoder,
        pretraining=head if isinstance(head, PretrainingHead) else None,
        classifier=head if isinstance(head, SequenceHead) else None,
        labels=model.task.labels if model.task else (),
        tokenizer=model.tokenizer,
    )


EXPORTS: dict[str, Callable[[Model, Path], None]] = {"hf": to_hf}
