"""Word vectors out of another model: what a recurrent encoder reads in place of fresh ones.

Source: NJP 24 053032, section 2.2, whose circuits read vectors that were trained before them. There they come from a
network without recurrence; here from any encoder of psitext.
"""

from __future__ import annotations

import torch

from psitext.assemble import Encoder
from psitext.encoders.qbert import Qbert
from psitext.encoders.qcls import Qcls
from psitext.encoders.vae import Nothing
from psitext.encoders.words import WordReader, principal
from psitext.errors import UserError
from psitext.explain.law import counted
from psitext.model import Model, load
from psitext.nn.complex.layout import to_complex
from psitext.state import side_by_side
from psitext.text.supervised import SupervisedSource


def lender(source: str) -> Model:
    """The model whose token vectors an encoder from nothing reads. Errors: a language model, which reads nothing."""
    model = load(source)
    if isinstance(model.network.encoder, Nothing):
        raise UserError(f"{source} is a language model, which reads no text; words come from a model with an encoder")
    return model


def lend(source: str, encoder: Encoder, texts: SupervisedSource) -> None:
    """Put a model's static token vectors (imaginary parts after real ones) in place of an encoder's fresh ones, as its
    ``principal`` features under the words of ``texts``.

    Errors: more features than the vectors have numbers.
    """
    assert isinstance(encoder, WordReader)
    given = lender(source)
    with torch.inference_mode():
        vectors = given.encoder.token(torch.arange(given.tokenizer.vocab_size))
        vectors = side_by_side(to_complex(vectors) if isinstance(given.encoder, Qbert | Qcls) else vectors).float()
    features, numbers = encoder.config.features, vectors.shape[1]
    if features > numbers:
        raise UserError(
            f"the token vectors of {source} have {numbers} numbers, of which no {features} features are made; set "
            f"encoder.features to at most {numbers}"
        )
    made = principal(vectors, counted(texts).words, features)
    with torch.no_grad():
        encoder.token.weight.copy_(made)
