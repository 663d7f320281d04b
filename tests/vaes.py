"""A small sentence space with a BERT inside, saved as users have it, for tests of what reads its states."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

import toys
from psitext.assemble import build_decoder, build_space
from psitext.encoders.bert import BertConfig
from psitext.encoders.vae import VaeConfig
from psitext.heads.decoding import DecodingHead, LstmConfig
from psitext.model import TEXT, WRITTEN, Model
from psitext.text import toy
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train
from psitext.text.tokenizer.causal import learn
from psitext.train.network import Network

LATENT = 6


@cache
def space() -> Path:
    """The folder of an untrained space of LATENT numbers over a BERT of two layers, mean-pooled."""
    texts = [example.text for example in toy.reviews(400)]
    reads, writes = train("words", texts, 200), learn("words", texts, 200)
    trunk = BertConfig(
        vocab_size=reads.vocab_size, width=16, layers=2, heads=2, hidden=24, max_len=64, pool="mean", init_std=0.2
    )
    decoder = LstmConfig(
        vocab_size=writes.vocab_size, bos=writes.bos, eos=writes.eos, pad=writes.pad, features=8, width=8,
        latent=LATENT, max_len=64,
    )  # fmt: skip
    encoder = build_space(VaeConfig(trunk=trunk, latent=LATENT))
    with torch.no_grad():
        encoder.get_submodule("posterior").weight.normal_(generator=torch.Generator().manual_seed(0))
    network = Network(encoder, DecodingHead(build_decoder(decoder))).eval()
    model = Model(network, {TEXT: reads, WRITTEN: writes}, TextConfig(max_len=48), decoder)
    return model.save(toys.folder() / "space")
