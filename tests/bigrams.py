"""A sentence space small enough to be trained in a second: counted words in, a decoder that knows one word back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from psitext.encoders.vae import Nothing, NothingConfig
from psitext.heads.decoding import Decoder, DecodingHead, LstmConfig, Writing
from psitext.state import Posterior
from psitext.text.batches import Batch, Ints, lay_out, padded
from psitext.train.network import Network

VOCAB, PAD, BOS, EOS = 20, 0, 1, 2


class Counts(nn.Module):
    """Rows -> Posterior, by two matrices on the means of word vectors."""

    def __init__(self, latent: int, width: int = 8) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCAB, width)
        self.dropout = nn.Dropout(0.2)
        self.posterior = nn.Linear(width, 2 * latent, bias=False)

    def forward(self, batch: Batch) -> Posterior:
        real = (batch.owner > 0)[..., None]
        mean = (self.dropout(self.token(batch.ids)) * real).sum(1) / real.sum(1)
        return Posterior(*self.posterior(mean).float().chunk(2, dim=-1))


class Bigrams(Decoder):
    """The next word from the last one and the latent, added up in one layer of width H."""

    def __init__(self, latent: int, width: int = 16) -> None:
        super().__init__()
        self.config = LstmConfig(vocab_size=VOCAB, bos=BOS, eos=EOS, pad=PAD, latent=latent, width=width)
        self.token = nn.Embedding(VOCAB, width)
        self.latent = nn.Linear(latent, width, bias=False) if latent else None
        self.out = nn.Linear(width, VOCAB)

    def states(self, ids: Tensor, latent: Tensor) -> Tensor:
        told = 0 if self.latent is None else self.latent(latent)[:, None]
        return (self.token(ids) + told).tanh()

    def logits(self, states: Tensor) -> Tensor:
        out: Tensor = self.out(states)
        return out

    def write(self, latent: Tensor, how: Writing, prompt: Tensor | None = None) -> Tensor:
        raise AssertionError("no test writes by it")


@dataclass(frozen=True)
class Sentences:
    """A source of sentences of words 3 to V - 1, read as they are and written with both marks."""

    words: Sequence[Sequence[int]]

    @cached_property
    def _lengths(self) -> Ints:
        return np.array([len(sentence) for sentence in self.words])

    def lengths(self, epoch: int = 0) -> Ints:
        return self._lengths

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        lengths = self._lengths[samples]
        ids = np.concatenate([self.words[sample] for sample in samples])
        written = np.full((len(samples), int(lengths.max()) + 2), PAD)
        for row, sample in zip(written, samples, strict=True):
            row[: len(self.words[sample]) + 2] = [BOS, *self.words[sample], EOS]
        targets = {"written": written, "written_length": lengths + 2}
        return lay_out(ids, np.zeros_like(ids), padded(lengths), samples, pad=PAD, targets=targets)


def sentences(count: int = 64) -> Sentences:
    """Each repeats one of eight words, two to five times: which word is most of what a latent has to tell."""
    return Sentences([[3 + number % 8] * (2 + number // 8 % 4) for number in range(count)])


def network(latent: int = 4, noise: bool = True) -> Network:
    torch.manual_seed(3)
    return Network(Counts(latent) if latent else Nothing(NothingConfig()), DecodingHead(Bigrams(latent), noise))


def posterior(count: int = 5, latent: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    """(B, P) means and log-variances in double that want gradients."""
    random = torch.Generator().manual_seed(seed)
    mean, log_var = torch.randn(2, count, latent, generator=random, dtype=torch.float64)
    return mean.requires_grad_(), log_var.requires_grad_()
