"""A model as a folder that transformers loads."""

from __future__ import annotations

from pathlib import Path

from psitext.encoders.bert import Bert
from psitext.errors import UserError
from psitext.experiments.export.checks import check_finite
from psitext.heads.affine import SequenceHead
from psitext.heads.decoding import Decoder, DecodingHead, LstmConfig
from psitext.heads.pretraining import PretrainingHead
from psitext.model import Model


def to_hf(model: Model, folder: Path) -> str:
    """A folder that ``transformers`` loads: BertModel, BertForPreTraining or BertForSequenceClassification, by the
    model's head; of a language model GPT2LMHeadModel or LlamaForCausalLM. Nothing is to be told of it.

    Errors: another family or head; weights that are not finite; as ``write_bert`` and ``write_decoder``.
    """
    from psitext.hf.bert import write_bert

    check_finite(model)
    if isinstance(model.network.head, DecodingHead):
        _decoder_to_hf(model, model.network.head.decoder, folder)
        return ""
    head, encoder = model.network.head, model.encoder
    if not isinstance(encoder, Bert):
        raise UserError(
            f"transformers has no {encoder.config.family}; a BERT, a GPT-2 or a Llama can be written for it"
        )
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
    return ""


def _decoder_to_hf(model: Model, decoder: Decoder, folder: Path) -> None:
    """A language model. Errors: a decoder that reads a latent, for which transformers has no place; an LSTM."""
    if isinstance(decoder.config, LstmConfig):
        raise UserError("transformers has no LSTM; only a causal transformer can be written for it")
    from psitext.hf.decoders import CausalDecoder, write_decoder

    assert isinstance(decoder, CausalDecoder)
    write_decoder(folder, decoder, model.writer)
