"""Tiny models and batches that the tests of several folders share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from psitext.baselines.recurrent import RecurrentConfig, VectorsConfig
from psitext.encoders.automaton import AutomatonConfig
from psitext.encoders.bert import Bert, BertConfig
from psitext.encoders.qbert import CvbertConfig, Qbert, QbertConfig
from psitext.encoders.qcls import QclsConfig
from psitext.encoders.rac import RacConfig
from psitext.encoders.words import WordReader
from psitext.randomness import below
from psitext.text.batches import Batch, lay_out, packed, padded

VOCAB = 50
SHAPE = BertConfig(
    vocab_size=VOCAB,
    width=16,
    layers=2,
    heads=4,
    hidden=24,
    max_len=16,
    dropout=0,
    attention_dropout=0,
    init_std=0.3,
)

_COMPLEX = {
    "vocab_size": VOCAB,
    "width": 8,
    "layers": 2,
    "heads": 2,
    "hidden": 12,
    "max_len": 16,
    "dropout": 0,
    "attention_dropout": 0,
}
PUBLISHED = {"score": "modulus", "queries": False, "outputs": False, "init": "paper"}
# Complex transformers by what is known of them: the defaults, the paper's, its control, and a real-linear one.
COMPLEX: dict[str, QbertConfig | CvbertConfig] = {
    "qbert": QbertConfig(**_COMPLEX),
    "qbert as published": QbertConfig(**_COMPLEX, **PUBLISHED, first="unit"),
    "cvbert": CvbertConfig(**_COMPLEX),
    "widely-linear": QbertConfig(**_COMPLEX, linear="widely-linear", first="layer", pool="mean"),
}
QCLS = QclsConfig(vocab_size=VOCAB, width=8, max_len=16)
_WORDS = {"vocab_size": VOCAB, "features": 3, "max_len": 16}
RAC = RacConfig(**_WORDS, bond=7)
# What reads words one after the other, by what it does with them.
RECURRENT: dict[str, RacConfig | AutomatonConfig | RecurrentConfig | VectorsConfig] = {
    "rac": RAC,
    "rac of two layers": RAC.model_copy(update={"layers": 2}),
    "rac with a filler": RAC.model_copy(update={"pad": "word"}),
    "automaton": AutomatonConfig(**_WORDS, bond=5),
    "automaton with a filler": AutomatonConfig(**_WORDS, bond=5, pad="word"),
    "tanh": RecurrentConfig(**_WORDS, width=8),
    "gru": RecurrentConfig(**_WORDS, width=8, cell="gru", pad="zero"),
    "mps": RecurrentConfig(**_WORDS, width=8, cell="mps"),
    "flatten": VectorsConfig(**_WORDS, how="flatten", pad="word"),
    "bag": VectorsConfig(**_WORDS),
}


def qbert(config: QbertConfig | CvbertConfig = COMPLEX["qbert"], seed: int = 0, **changes: object) -> Qbert:
    """A complex transformer in double precision and evaluation mode, all of whose weights are moved off their start."""
    torch.manual_seed(seed)
    model = Qbert(config.model_copy(update=changes)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def bert(seed: int = 0, **changes: object) -> Bert:
    """A Bert without dropout, in evaluation mode, all of whose weights are large enough to matter."""
    torch.manual_seed(seed)
    model = Bert(SHAPE.model_copy(update=changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:  # a bias of 0 or a norm of 1 would hide that it is missing
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def words_of(encoder: WordReader, read: Batch) -> list[list[torch.Tensor]]:
    """The word vectors of every text, as an encoder that reads one word after the other sees them."""
    texts = []
    rows, _ = read.sequences(read.ids)
    for row, length in zip(rows, read.lengths.tolist(), strict=True):
        x = [encoder.token.weight[int(word)] for word in row[1 : length - 1]]
        filler = encoder.words.filler
        texts.append(x if filler is None else [filler] * (encoder.words.config.steps - len(x)) + x)
    return texts


def batch(
    lengths: Sequence[int],
    *,
    row: int | None = None,
    seed: int = 0,
    samples: Sequence[int] | None = None,
    targets: Mapping[str, np.ndarray] | None = None,
) -> Batch:
    """Sequences of these lengths in padded rows, or packed into rows of ``row`` tokens.

    What stands at a place is a function of (seed, sample, place); the second half of a sequence is its
    second text.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    names = np.arange(len(sizes)) if samples is None else np.asarray(samples)
    ids = [
        5 + below(VOCAB - 5, seed, "token", int(name), np.arange(size)) for name, size in zip(names, sizes, strict=True)
    ]
    segments = [(np.arange(size) >= (size + 1) // 2).astype(np.int64) for size in sizes]
    layout = padded(sizes) if row is None else packed(sizes, row)
    return lay_out(np.concatenate(ids), np.concatenate(segments), layout, names, pad=0, targets=targets or {})
