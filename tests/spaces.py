"""Tiny sentence spaces that tests of bounds and reports share: a source of made-up sentences, an encoder that says what
it is told, and an LSTM that writes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from psitext.baselines.lstm import LstmDecoder
from psitext.heads.decoding import LstmConfig
from psitext.randomness import below
from psitext.state import Posterior
from psitext.text.batches import Batch, Ints, lay_out, padded

V, BOS, EOS = 12, 1, 2


@dataclass(frozen=True)
class Made:
    """S sentences of ``sizes`` words; what stands where is a function of (kind, place), and sentences of one kind are
    copies of each other.
    """

    sizes: tuple[int, ...]
    kinds: tuple[int, ...] | None = None

    def row(self, sample: int) -> list[int]:
        kind = sample if self.kinds is None else self.kinds[sample]
        words = 3 + below(V - 3, 0, "word", kind, np.arange(self.sizes[sample]))
        return [BOS, *words.tolist(), EOS]

    def lengths(self, epoch: int = 0) -> Ints:
        return np.asarray(self.sizes) + 2

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        rows = [self.row(int(sample)) for sample in samples]
        lengths = np.asarray([len(row) for row in rows])
        flat = np.asarray([word for row in rows for word in row])
        written = np.zeros((len(rows), lengths.max()), dtype=np.int64)
        for number, row in enumerate(rows):
            written[number, : len(row)] = row
        targets = {"written": written, "written_length": lengths}
        return lay_out(flat, np.zeros_like(flat), padded(lengths), samples, pad=0, targets=targets)


class Told(nn.Module):
    """Sample -> its row of (S, P) means and log-variances; counts what it was asked."""

    def __init__(self, mean: Tensor, log_var: Tensor) -> None:
        super().__init__()
        self.mean, self.log_var = nn.Parameter(mean), nn.Parameter(log_var)
        self.asked: list[int] = []

    def forward(self, batch: Batch) -> Posterior:
        self.asked += batch.samples.tolist()
        at = torch.from_numpy(batch.samples)
        return Posterior(self.mean[at], self.log_var[at])


def told(sentences: int, latent: int, seed: int = 0) -> Told:
    random = torch.Generator().manual_seed(seed)
    mean = torch.randn(sentences, latent, generator=random, dtype=torch.float64)
    return Told(mean, -1 + 0.3 * torch.randn(sentences, latent, generator=random, dtype=torch.float64))


def writer(latent: int, seed: int = 0, size: float = 0.7) -> LstmDecoder:
    """In double and evaluation mode, with weights that make the latent matter."""
    made = LstmDecoder(LstmConfig(vocab_size=V, features=5, width=8, latent=latent, max_len=20)).double().eval()
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(size * torch.randn(parameter.shape, generator=random, dtype=torch.float64))
    return made
