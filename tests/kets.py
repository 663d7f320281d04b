"""Kets, measurement heads and models for the tests of circuits: asymmetric on purpose, so that turned bits show."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import tiny
from psitext.heads.measurement import MeasurementConfig, MeasurementHead
from psitext.model import TEXT, Model
from psitext.quantum.gates import Complex
from psitext.text.examples import Example, Task
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.network import Network

TEXTS = ("a gripping funny film", "a dull slow film", "the plot is thin", "the cast is fine")
NAMES = ("bad", "good", "odd")


def haar(qubits: int, count: int = 1, seed: int = 0, width: int | None = None) -> Complex:
    """(count, width) random unit vectors; no two amplitudes of one are alike."""
    size = width or 1 << qubits
    rng = np.random.default_rng([seed, qubits])
    found = rng.standard_normal((count, size)) + 1j * rng.standard_normal((count, size))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def module(width: int, classes: int = 2, seed: int = 0, **config: Any) -> MeasurementHead:
    """A head in double precision far from the identity."""
    torch.manual_seed(seed)
    settings = {"init_std": 0.7, "readout_std": 1.0, **config}
    found = MeasurementHead(width, classes, MeasurementConfig(**settings)).double().eval()
    with torch.no_grad():
        if found.output.bias is not None:
            found.output.bias.normal_()
    return found


def model(width: int, classes: int = 2, seed: int = 0, heads: int = 2, **config: Any) -> Model:
    """An untrained model whose head is a measurement (of one score, where ``classes`` is 1)."""
    encoder = tiny.bert(seed, width=width, heads=heads, pool="cls")
    head = module(width, classes, seed, **config).float()
    tokenizer = train_tokenizer("words", TEXTS, tiny.VOCAB)
    kind = "classification" if classes > 1 else "regression"
    metrics = ("accuracy",) if classes > 1 else ("pearson",)
    task = Task(
        name="films", kind=kind, text="text", label="label", labels=NAMES[:classes] if classes > 1 else (),
        metrics=metrics,
    )  # fmt: skip
    network = Network(encoder, head).eval()
    return Model(network, {TEXT: tokenizer}, TextConfig(max_len=16), head.config, task, facts={"name": "tiny"})


def examples(count: int) -> list[Example]:
    """Texts of a few words, with labels in turn."""
    words = sorted({word for text in TEXTS for word in text.split()})
    texts = [" ".join(words[(3 * index + 5 * place) % len(words)] for place in range(4)) for index in range(count)]
    return [Example(text=text, label=NAMES[index % 2], line=index + 2) for index, text in enumerate(texts)]
