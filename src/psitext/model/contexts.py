"""States of tokens in their context, of models that read on one side or on both.

A BERT's state of a word has seen its whole sentence; a language model's has seen what stands before the word, and the
word. ``explain.similarity`` compares either.

Source: *Dive into Deep Learning*, 15.8.1 to 15.8.3.
Letters: B sentences, T tokens of a row, N of one sentence, H width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import nn

from psitext.encoders.vae import Nothing, Vae
from psitext.explain.similarity import TokenVectors
from psitext.heads.decoding import Decoder
from psitext.model.loading import with_pool
from psitext.model.model import Model
from psitext.model.writing import decoder_of

Reader = Callable[[Sequence[str]], list[TokenVectors]]


def reader(model: Model) -> Reader:
    """What gives every sentence's tokens with their embeddings and states: of a language model the causal ones, of a
    sentence space those of the BERT that it reads with, of another model its encoder's.
    """
    encoder = model.network.encoder
    if isinstance(encoder, Nothing):
        return partial(causal_vectors, model)
    if isinstance(encoder, Vae):
        return with_pool(model, encoder.config.pool).token_vectors
    return model.token_vectors


def causal_vectors(model: Model, sentences: Sequence[str]) -> list[TokenVectors]:
    """Every sentence's tokens under a language model: ``static`` (N, .) embeddings, ``contextual`` (N, H) states after
    each token, float32. A sentence longer than its positions is cut. Errors: a model that does not write, or from a
    latent.
    """
    decoder, tokenizer = decoder_of(model), model.writer
    if decoder.config.latent:
        raise ValueError(f"states of a language model have no latent, and this decoder has {decoder.config.latent}")
    pieces = tokenizer.encode_offsets(sentences)
    room = decoder.config.max_len - 1  # bos takes a position
    rows = [torch.from_numpy(np.array([tokenizer.bos, *ids[:room]], dtype=np.int64)) for ids, _ in pieces]
    device, embed = next(model.network.parameters()).device, _embedding(decoder)
    model.network.eval()
    with torch.inference_mode():
        filled = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad).to(device)
        states = decoder.states(filled, torch.zeros(len(rows), 0, device=device)).float().cpu().numpy()  # (B, T, H)
        static = embed(filled).float().cpu().numpy()
    found = []
    for number, (row, (_, offsets)) in enumerate(zip(rows, pieces, strict=True)):
        own = slice(1, len(row))  # without bos; padding has no influence on what stands before it
        unknown = None if tokenizer.unk is None else row[1:].numpy() == tokenizer.unk
        found.append(TokenVectors(offsets[:room], static[number, own], states[number, own], unknown))
    return found


def _embedding(decoder: Decoder) -> nn.Module:
    """The embedding of the tokens that a decoder writes; all kinds have one of this name."""
    found = decoder.token
    assert isinstance(found, nn.Module)
    return found
