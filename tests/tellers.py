"""A small sentence space that has learnt a dozen sentences by heart, and a language model beside it."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import torch
from torch import nn

from psitext.baselines.lstm import LstmDecoder, LstmPosterior, LstmPosteriorConfig
from psitext.encoders.vae import Nothing, NothingConfig
from psitext.heads.decoding import DecodingHead, LstmConfig
from psitext.model import TEXT, WRITTEN, Model
from psitext.text.batches import lay_out, padded
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer, learn
from psitext.train.network import Network

WHO, WHAT = ("a girl", "one boy", "two men", "the dog"), ("sits", "is running fast", "sleeps in a bed")
SENTENCES = [f"{who} {what}" for who, what in product(WHO, WHAT)]
PLACES = 16  # tokens that are read and written
WIDTH = 6


def writer() -> CausalTokenizer:
    """Of whole words."""
    return learn("words", SENTENCES, 60)


@cache
def space() -> Model:
    """A model that writes each of SENTENCES from its latent; trained in a second or two."""
    torch.manual_seed(0)
    reads, writes = train_tokenizer("words", SENTENCES, 60), writer()
    encoder = LstmPosterior(
        LstmPosteriorConfig(vocab_size=reads.vocab_size, features=16, hidden=32, latent=WIDTH, max_len=PLACES)
    )
    decoder = LstmDecoder(_decoder(writes, WIDTH))
    network = Network(encoder, DecodingHead(decoder))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(6)  # LSTMs of this size need more to begin with
    model = Model(network, {TEXT: reads, WRITTEN: writes}, TextConfig(max_len=PLACES), decoder.config)
    _learn(model)
    return model


@cache
def language_model() -> Model:
    """One without a latent, untrained."""
    torch.manual_seed(0)
    writes = writer()
    decoder = LstmDecoder(_decoder(writes, 0))
    network = Network(Nothing(NothingConfig()), DecodingHead(decoder)).eval()
    return Model(network, {WRITTEN: writes}, TextConfig(max_len=PLACES), decoder.config)


def _decoder(writes: CausalTokenizer, latent: int) -> LstmConfig:
    return LstmConfig(
        vocab_size=writes.vocab_size, bos=writes.bos, eos=writes.eos, pad=writes.pad, latent=latent, max_len=PLACES,
        features=16, width=32, dropout=0,
    )  # fmt: skip


def _learn(model: Model, steps: int = 150) -> None:
    """Reconstruction from means, with a little noise, and a weak pull of both towards N(0, 1)."""
    head, optim = model.network.head, torch.optim.Adam(model.network.parameters(), lr=0.02)
    assert isinstance(head, DecodingHead)
    read = [np.array([model.tokenizer.cls, *ids, model.tokenizer.sep]) for ids in model.tokenizer.encode(SENTENCES)]
    layout = padded(np.array([len(row) for row in read]))
    flat = np.concatenate(read).astype(np.int64)
    batch = lay_out(flat, np.zeros_like(flat), layout, np.arange(len(read)), pad=model.tokenizer.pad, targets={})
    writes = model.writer
    rows = nn.utils.rnn.pad_sequence(
        [torch.tensor([writes.bos, *ids, writes.eos]) for ids in writes.encode(SENTENCES)],
        batch_first=True, padding_value=writes.pad,
    )  # fmt: skip
    loss = nn.CrossEntropyLoss(ignore_index=writes.pad)
    model.network.train()
    for _ in range(steps):
        state = model.network.encoder(batch)
        latent = state.vector + 0.05 * torch.randn_like(state.vector)
        scores = head.decoder.logits(head.decoder.states(rows[:, :-1], latent))
        pull = (state.vector.square() + state.log_var.exp() - 1 - state.log_var).mean()
        optim.zero_grad()
        (loss(scores.flatten(0, 1), rows[:, 1:].flatten()) + 0.001 * pull).backward()
        optim.step()
    model.network.eval()
