"""Who plays in Ctrl-Gen: the generator with its encoder (eqs. 4 and 8 of the paper), and the discriminator (eq. 11).

    generator:      L_VAE + lambda_c E[-log q_D(c | x~)] + lambda_z E[-log q_E(z | x~)],    x~ soft, from p(x | z, c)
    discriminator:  E[-log q_D(c | x)] + lambda_u E[-log q_D(c | x^) + beta H(q_D(. | x^))],    x^ drawn

The two added terms of the generator move the decoder alone. The entropy's sign is that of the paper's words ("high
confidence"), which its eq. 10 turns around. Source: Hu et al. 2017, algorithm 1. Letters: B sentences, P numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.baselines.control import CtrlGen, CtrlGenConfig
from psitext.baselines.control.ctrl_gen import entropy, gaussian_surprise
from psitext.baselines.control.soft import soft_words
from psitext.baselines.control.structured import lengths_of
from psitext.experiments.control.rivals.rows import Rows
from psitext.heads.decoding import Writing, drawn
from psitext.nn.perceptron import with_class
from psitext.score.elbo import kl_per_dimension
from psitext.score.losses import word_surprise_sum
from psitext.train.adversarial import Pace, Player, Turn


@dataclass(frozen=True, slots=True)
class CtrlGenGame:
    """The network, its sentences, and what each player wants."""

    network: CtrlGen
    config: CtrlGenConfig
    rows: Rows

    def players(self) -> list[Player]:
        """Generator and encoder at every step; the discriminator when the VAE can write."""
        network, config = self.network, self.config
        whole = [*network.decoder.parameters(), *network.encoder_parameters()]
        pace = Pace(config.lr, clip=config.clip)
        judging = list(network.discriminator.parameters())
        return [
            Player("discriminator", judging, self.discriminating, pace, begins=config.wake),
            Player("generator", whole, self.generating, pace),
        ]

    def generating(self, turn: Turn) -> Tensor:
        """Nats per sentence of the VAE, and what its sentences lack of their labels."""
        loss = self._vae(turn)
        return loss if turn.done < self.config.wake else loss + self._attributes(turn)

    def discriminating(self, turn: Turn) -> Tensor:
        """Nats per label, of real sentences and of written ones."""
        real = self.rows.drawn(self.config.batch, turn.random)
        loss = F.cross_entropy(self.network.discriminator(real.ids, real.lengths), real.label)
        z, label = self._prior(turn)
        how = Writing(max_len=self.config.written, sample=True, seed=turn.random.initial_seed() % 2**62)
        with torch.no_grad():
            words = self.network.written(z, label, how)
        scores = self.network.discriminator(words, lengths_of(words, self.network.decoder.config.eos))
        return loss + self.config.sleep * (F.cross_entropy(scores, label) + self.config.entropy * entropy(scores))

    def _vae(self, turn: Turn) -> Tensor:
        """Reconstruction and KL, nats per sentence; the weight of the KL term rises until ``wake``."""
        rows, network = self.rows.drawn(self.config.batch, turn.random), self.network
        state = network.posterior(network.decoder.token(rows.ids), rows.lengths)
        scores, right = network.logits(rows.ids, rows.lengths, drawn(state), rows.label)
        weight = self.config.kl * (min(turn.done / self.config.wake, 1.0) if self.config.wake else 1.0)
        kl = kl_per_dimension(state.vector, state.log_var).sum()
        return (word_surprise_sum(scores, right) + weight * kl) / len(rows)

    def _attributes(self, turn: Turn) -> Tensor:
        """The discriminator finds the label, and the encoder the rest of the code, in soft sentences."""
        network, config = self.network, self.config
        share = (turn.done - config.wake) / (1 - config.wake)
        temperature = math.exp((1 - share) * math.log(config.hottest) + share * math.log(config.coldest))
        z, label = self._prior(turn)
        words, lengths = soft_words(network.decoder, with_class(z, label, network.labels), config.written, temperature)
        with fixed([network.discriminator, network.reader, network.to_code]):
            found = F.cross_entropy(network.discriminator(words, lengths), label)
            begun = network.decoder.token.weight[network.decoder.config.bos].expand(len(z), 1, -1)
            features = torch.cat([begun, words @ network.decoder.token.weight], dim=1)  # the encoder reads bos, too
            rest = gaussian_surprise(network.posterior(features, lengths + 1), z)
        return config.attribute * found + config.rest * rest

    def _prior(self, turn: Turn) -> tuple[Tensor, Tensor]:
        """(B, P) codes and (B,) labels."""
        count = self.config.dreams
        z = torch.randn(count, self.network.code, generator=turn.random)
        return z, torch.randint(self.network.labels, (count,), generator=turn.random)


@contextmanager
def fixed(modules: Sequence[nn.Module]) -> Iterator[None]:
    """While entered, weights are constants: gradients pass through the modules, and none is theirs."""
    parameters = [parameter for module in modules for parameter in module.parameters()]
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
