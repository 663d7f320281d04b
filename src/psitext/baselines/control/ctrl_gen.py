"""Ctrl-Gen: a VAE with a structured code, and a discriminator that holds what it writes to the label.

Source: Hu et al. 2017, "Toward controlled generation of text". Letters: B sentences, T tokens, E features, F filters of
a width, P numbers of a code, K labels, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.baselines.control.settings import CtrlGenConfig
from psitext.baselines.control.structured import Structured, normal
from psitext.heads.decoding import LstmConfig, Writing
from psitext.state import Posterior

WIDTHS = (2, 3, 4)  # words that a filter sees


class WordFilters(nn.Module):
    """q(c | x): filters over the features of words, their maxima, a linear layer (Kim 2014); reads soft words, too."""

    def __init__(self, vocab_size: int, features: int, filters: int, labels: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, features)
        self.filters = nn.ModuleList(nn.Conv1d(features, filters, width, padding=width - 1) for width in WIDTHS)
        self.output = nn.Linear(filters * len(WIDTHS), labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(B, K) scores of (B, T) tokens or (B, T, V) probabilities of them, of which ``lengths`` (B,) count."""
        features = words @ self.token.weight if words.is_floating_point() else self.token(words)
        counts = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        features = (features * counts[..., None]).transpose(1, 2)  # (B, E, T)
        found = [part(features).relu().amax(-1) for part in self.filters]
        scores: Tensor = self.output(torch.cat(found, dim=-1))
        return scores


class CtrlGen(Structured):
    """q(z | x), p(x | z, c) and q(c | x)."""

    def __init__(self, config: CtrlGenConfig, labels: int, writes: LstmConfig) -> None:
        super().__init__(config, labels, writes, outputs=2 * config.code)
        self.discriminator = WordFilters(writes.vocab_size, config.features, config.filters, labels)

    def posterior(self, features: Tensor, lengths: Tensor) -> Posterior:
        """q(z | x) of (B, T, E) features."""
        return Posterior(*self.read(features, lengths).chunk(2, dim=-1))

    @torch.no_grad()
    def write(self, label: int, count: int, how: Writing, seed: int = 0) -> Tensor:
        """(count, L) tokens of sentences with a label: z from the prior."""
        return self.written(normal(seed, label, count, self.code), torch.full((count,), label), how)


def entropy(logits: Tensor) -> Tensor:
    """() mean entropy, in nats, of the distributions that (B, K) scores stand for."""
    log_probs = F.log_softmax(logits, dim=-1)
    return -(log_probs.exp() * log_probs).sum(-1).mean()


def gaussian_surprise(state: Posterior, z: Tensor) -> Tensor:
    """() mean of -log q(z | x), in nats, of (B, P) numbers under as many posteriors; without the constant."""
    distance = (z - state.vector).square() * (-state.log_var).exp()
    return 0.5 * (distance + state.log_var).sum(-1).mean()
