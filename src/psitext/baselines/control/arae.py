"""ARAE: an autoencoder whose codes a generator learns to make, and from which the label is taken out.

The decoder is told the label. A classifier reads it from codes, and the encoder hides it from the classifier; a critic
tells codes of sentences from generated ones, and both the generator and the encoder work against it.

Source: Zhao et al. 2018, "Adversarially regularized autoencoders", algorithm 1 and section 5 (transfer), whose two
labels are here any number: the encoder makes every label as likely as any other in place of the other one likely.
Letters: B sentences, T tokens, P numbers of a code, K labels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.baselines.control.settings import AraeConfig
from psitext.baselines.control.structured import Structured, normal
from psitext.heads.decoding import LstmConfig, Writing
from psitext.nn.perceptron import perceptron


class Arae(Structured):
    """Encoder, decoder, and the three parts that read or make codes."""

    def __init__(self, config: AraeConfig, labels: int, writes: LstmConfig) -> None:
        super().__init__(config, labels, writes, outputs=config.code)
        self.noise = config.noise
        self.generator = perceptron(config.noise, config.hidden, config.hidden, config.code)
        self.critic = perceptron(config.code, config.hidden, config.hidden, 1)
        self.classifier = perceptron(config.code, config.hidden, labels)

    def codes(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """(B, P) codes of (B, T) rows, on the unit sphere."""
        return F.normalize(self.read_rows(rows, lengths), dim=-1)

    def generated(self, noise: Tensor) -> Tensor:
        """(B, P) codes out of noise, on the unit sphere."""
        return F.normalize(self.generator(noise), dim=-1)

    @torch.no_grad()
    def write(self, label: int, count: int, how: Writing, seed: int = 0) -> Tensor:
        """(count, L) tokens of sentences with a label."""
        code = self.generated(normal(seed, label, count, self.noise))
        return self.written(code, torch.full((count,), label), how)


@torch.no_grad()
def bounded(module: nn.Module, bound: float) -> None:
    """Cut every weight to within ``bound``, which keeps a critic's slope finite (Arjovsky et al. 2017)."""
    for parameter in module.parameters():
        parameter.clamp_(-bound, bound)


def undecided(logits: Tensor) -> Tensor:
    """() cross-entropy, in nats, of equal probabilities for all labels under (B, K) scores; least where a classifier
    cannot tell.
    """
    return -F.log_softmax(logits, dim=-1).mean()
