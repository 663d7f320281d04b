"""Who plays in ARAE: the autoencoder, the classifier of codes, the critic, the encoder against both, the generator.

    autoencoder:  E[-log p(x | enc(x) + noise, y)]
    classifier:   E[-log p_u(y | enc(x))]
    critic:       E[f(g(s))] - E[f(enc(x))],  weights within a bound
    encoder:      weight E[f(enc(x))] + weight (the classifier cannot tell)
    generator:    -E[f(g(s))]

Source: Zhao et al. 2018, algorithm 1 and section 5. Letters: B sentences, P numbers of a code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from psitext.baselines.control import Arae, AraeConfig
from psitext.baselines.control.arae import bounded, undecided
from psitext.experiments.control.rivals.rows import Rows
from psitext.score.losses import word_surprise_sum
from psitext.train.adversarial import Pace, Player, Turn


@dataclass(frozen=True, slots=True)
class AraeGame:
    """The network, its sentences, and what each player wants."""

    network: Arae
    config: AraeConfig
    rows: Rows

    def players(self) -> list[Player]:
        """In the order of algorithm 1."""
        network, config = self.network, self.config
        encoder, critic = network.encoder_parameters(), list(network.critic.parameters())
        whole = [*network.decoder.parameters(), *encoder]
        slow, game = Pace(config.lr, clip=config.clip), Pace(config.game_lr, beta1=0.5)
        within = partial(bounded, network.critic, config.bound)
        return [
            Player("autoencoder", whole, self.reconstructing, slow),
            Player("classifier", list(network.classifier.parameters()), self.classifying, slow),
            Player("critic", critic, self.criticising, game, moves=config.critic, after=within),
            Player("encoder", encoder, self.hiding, slow),
            Player("generator", list(network.generator.parameters()), self.imitating, game),
        ]

    def reconstructing(self, turn: Turn) -> Tensor:
        """Nats per sentence, from codes with noise that falls to nothing."""
        rows = self.rows.drawn(self.config.batch, turn.random)
        codes = self.network.codes(rows.ids, rows.lengths)
        noise = self.config.blur * (1 - turn.done) * torch.randn(codes.shape, generator=turn.random)
        scores, right = self.network.logits(rows.ids, rows.lengths, codes + noise, rows.label)
        return word_surprise_sum(scores, right) / len(rows)

    def classifying(self, turn: Turn) -> Tensor:
        """Nats per label, from codes."""
        codes, label = self._codes(turn)
        return F.cross_entropy(self.network.classifier(codes.detach()), label)

    def criticising(self, turn: Turn) -> Tensor:
        """How much higher generated codes score than those of sentences."""
        codes, _ = self._codes(turn)
        made = self._made(turn)
        return self._scores(made.detach()) - self._scores(codes.detach())

    def hiding(self, turn: Turn) -> Tensor:
        """What codes still tell the critic and the classifier."""
        codes, _ = self._codes(turn)
        unknown = undecided(self.network.classifier(codes))
        return self.config.adversary * self._scores(codes) + self.config.hidden_label * unknown

    def imitating(self, turn: Turn) -> Tensor:
        """How low generated codes score."""
        return -self._scores(self._made(turn))

    def _scores(self, codes: Tensor) -> Tensor:
        mean: Tensor = self.network.critic(codes).mean()
        return mean

    def _codes(self, turn: Turn) -> tuple[Tensor, Tensor]:
        rows = self.rows.drawn(self.config.batch, turn.random)
        return self.network.codes(rows.ids, rows.lengths), rows.label

    def _made(self, turn: Turn) -> Tensor:
        return self.network.generated(torch.randn(self.config.batch, self.network.noise, generator=turn.random))
