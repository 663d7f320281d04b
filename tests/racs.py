"""Circuits as whole models, with random weights that are large enough to matter, so that nothing is trained."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch

from psitext.assemble import build_encoder, build_head
from psitext.encoders.rac import RacConfig
from psitext.explain.law import counted
from psitext.heads.affine import AffineConfig
from psitext.model import TEXT, Model
from psitext.text.examples import Example, Task
from psitext.text.supervised import TextConfig, encode_examples
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.network import Network

# "fine" and "odd" are known to every model, "zebra" to none.
TEXTS = [
    "a fine film and a fine cast",
    "not a fine film",
    "an odd odd film",
    "fine",
    "a cast of odd people and not a plot",
    "",
]
LABELS = {2: ("bad", "good"), 3: ("bad", "fair", "good"), 1: ()}


def task(classes: int = 2, **changes: Any) -> Task:
    kind = "classification" if classes > 1 else "regression"
    return Task(name="mood", kind=kind, text="text", label="label", labels=LABELS[classes], **changes)


def model(classes: int = 2, *, law: bool = True, seed: int = 0, unknown: str = "drop", **changes: Any) -> Model:
    """A circuit of chi = 4 on words of 3 numbers, at most 10 of them; ``changes`` of its config."""
    tokenizer = train_tokenizer("words", TEXTS, 64)
    settings = {"features": 3, "bond": 4, "max_len": 12, **changes}
    encoder = build_encoder(RacConfig(vocab_size=tokenizer.vocab_size, **settings), seed)
    asked = task(classes)
    head = build_head(asked, encoder, AffineConfig(), seed)
    text = TextConfig(max_len=settings["max_len"], unknown=unknown)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part, size in ((encoder, 0.6), (head, 0.5)):
            for weight in part.parameters():
                weight.copy_(size * torch.randn(weight.shape, generator=generator))
    found = Model(Network(encoder, head).eval(), {TEXT: tokenizer}, text, AffineConfig(), asked, 1.5, {"name": "tiny"})
    if not law:
        return found
    source = encode_examples([Example(text=one) for one in TEXTS], asked, tokenizer, text, labelled=False)
    return replace(found, law=counted(source))


def with_weights(found: Model, **values: torch.Tensor) -> Model:
    """The same with other weights, by the end of their names."""
    network = copy.deepcopy(found.network)
    named = dict(network.named_parameters())
    with torch.no_grad():
        for ending, value in values.items():
            (name,) = [name for name in named if name.split(".")[-1] == ending or name == ending]
            named[name].copy_(value)
    return replace(found, network=network)
