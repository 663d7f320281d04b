"""Latents of a class by a conditional GAN on the frozen latents of labelled sentences.

Source: Li et al. 2020 (Optimus), eq. 16: a discriminator tells z ~ q(z | x) of sentences with label y from G(eps, y).
Letters: S sentences, P latent numbers, K classes, B latents of a step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.errors import UserError
from psitext.nn.perceptron import perceptron
from psitext.randomness import torch_seed
from psitext.train.adversarial.game import Pace, Player, Turn, play
from psitext.train.adversarial.networks import LatentDiscriminator, LatentGenerator
from psitext.train.adversarial.settings import GanConfig, Loss

LIKE = 1_000  # latents of each class that are drawn to be compared with the real ones
LAZY = 4  # the penalty costs as much as all else: every fourth step, four times as much of it (Karras et al. 2020)
COLLAPSED = 0.3  # of the spread, or of the number of directions, of real latents: below it a class has few sentences


@dataclass(frozen=True, slots=True)
class Latents:
    """The posteriors of S sentences, (S, P) float32 mean and log-variance, with (S,) int64 classes 0 to K - 1."""

    mean: Tensor
    log_var: Tensor
    label: Tensor
    classes: int

    def __post_init__(self) -> None:
        counts = torch.bincount(self.label, minlength=self.classes)
        if len(counts) != self.classes or len(self.label) != len(self.mean):
            raise ValueError(f"{len(self.mean)} latents with labels up to {int(self.label.max())} of {self.classes}")
        if self.classes < 2:
            raise UserError("a label is one of two or more; there is only one")
        if int(counts.min()) < 2:
            raise UserError(
                f"class {int(counts.argmin())} has {int(counts.min())} sentences; a generator learns from two at least"
            )

    def drawn(self, samples: Tensor, posterior: str, random: torch.Generator) -> Tensor:
        """(B, P) draws from the posteriors of some sentences, or their means."""
        mean = self.mean[samples]
        if posterior == "means":
            return mean
        return mean + (0.5 * self.log_var[samples]).exp() * torch.randn(mean.shape, generator=random)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How generated latents of a class differ from real ones: 1, 1 and 0 where they do not.

    ``spread`` and ``directions`` are ratios, generated over real: of the root mean squared distance from their centre,
    and of the number of directions in which they lie, (sum of the covariance's eigenvalues)^2 over the sum of their
    squares. ``off``: between both centres, in deviations of the real ones, root mean square over dimensions.
    """

    spread: float
    directions: float
    off: float

    @property
    def collapsed(self) -> bool:
        """Whether the generator writes few of the sentences that there are."""
        return min(self.spread, self.directions) < COLLAPSED


@dataclass(frozen=True, slots=True)
class Fitted:
    """A generator and what is known of its training."""

    generator: LatentGenerator
    likeness: tuple[Likeness, ...]  # of every class
    losses: Mapping[str, float]


def fit_generator(
    latents: Latents,
    config: GanConfig,
    tell: Callable[[int, Mapping[str, float]], None] = lambda step, losses: None,
) -> Fitted:
    """Train a generator; the same latents and settings give the same one. Errors: as ``Latents`` and ``play``."""
    width, classes = latents.mean.shape[1], latents.classes
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(torch_seed(config.seed, "weights of a game"))
        generator = LatentGenerator(width, classes, config.noise, config.width, config.layers)
        discriminator = LatentDiscriminator(width, classes, config.width, config.layers)
        classifier = perceptron(width, *[config.width] * config.layers, classes)
    mean, deviation = _scale(latents, config.posterior)
    generator.mean.copy_(mean)
    generator.deviation.copy_(deviation)
    kept = copy.deepcopy(generator).requires_grad_(False)
    order, counts = torch.argsort(latents.label, stable=True), torch.bincount(latents.label)
    game = _Game(latents, config, generator, discriminator, classifier, order, counts)
    losses = play(game.players(lambda: _towards(kept, generator, config.average)), config.steps, config.seed, tell)
    kept = kept.eval()
    return Fitted(kept, tuple(likeness(kept, latents, config.posterior, label) for label in range(classes)), losses)


def likeness(generator: LatentGenerator, latents: Latents, posterior: str, label: int) -> Likeness:
    """Compare what a generator makes of a class with the real latents of it."""
    random = torch.Generator().manual_seed(torch_seed(0, "likeness", label))
    own = torch.nonzero(latents.label == label)[:, 0]
    real = ((latents.drawn(own, posterior, random) - generator.mean) / generator.deviation).double()
    made = ((generator.draw(label, LIKE) - generator.mean) / generator.deviation).double()
    real_parts, made_parts = _covariance(real), _covariance(made)
    spread = (made_parts.trace() / real_parts.trace()).sqrt()
    off = (made.mean(0) - real.mean(0)).square().mean().sqrt()
    return Likeness(float(spread), float(_directions(made_parts) / _directions(real_parts)), float(off))


@dataclass(frozen=True, slots=True)
class _Game:
    """The parts of eq. 16 and what each wants."""

    latents: Latents
    config: GanConfig
    generator: LatentGenerator
    discriminator: LatentDiscriminator
    classifier: nn.Module
    order: Tensor  # (S,) numbers of the sentences, class by class
    counts: Tensor  # (K,) sentences of each

    def players(self, after: Callable[[], None]) -> list[Player]:
        """The discriminator, a classifier where the label is to be plain, and the generator, in the order of moves."""
        pace = Pace(lr=self.config.lr, beta1=self.config.beta1)
        players = [Player("discriminator", list(self.discriminator.parameters()), self.told_apart, pace)]
        if self.config.clarity:
            players.append(Player("classifier", list(self.classifier.parameters()), self.told_class, pace))
        players.append(Player("generator", list(self.generator.parameters()), self.taken_for_real, pace, after=after))
        return players

    def told_apart(self, turn: Turn) -> Tensor:
        real, label = self._real(turn)
        with torch.no_grad():
            made = self._made(label, turn)
        due = self.config.penalty > 0 and turn.step % LAZY == 0
        real.requires_grad_(due)
        scores = self.discriminator(real, label)
        loss = apart(scores, self.discriminator(made, label), self.config.loss)
        if not due:
            return loss
        (slope,) = torch.autograd.grad(scores.sum(), real, create_graph=True)
        return loss + 0.5 * LAZY * self.config.penalty * slope.square().sum(-1).mean()

    def taken_for_real(self, turn: Turn) -> Tensor:
        label = self._labels()
        made = self._made(label, turn)
        loss = as_real(self.discriminator(made, label), self.config.loss)
        if not self.config.clarity:
            return loss
        return loss + self.config.clarity * F.cross_entropy(self.classifier(made), label)

    def told_class(self, turn: Turn) -> Tensor:
        real, label = self._real(turn)
        return F.cross_entropy(self.classifier(real), label)

    def _labels(self) -> Tensor:
        return torch.arange(self.config.batch) % self.latents.classes

    def _made(self, label: Tensor, turn: Turn) -> Tensor:
        return self.generator.standard(torch.randn(len(label), self.generator.noise, generator=turn.random), label)

    def _real(self, turn: Turn) -> tuple[Tensor, Tensor]:
        """(B, P) real latents on the scale of the game, as many of each class as of any other, and their classes."""
        label = self._labels()
        counts = self.counts[label]
        place = (torch.rand(len(label), generator=turn.random, dtype=torch.float64) * counts).long()
        samples = self.order[(self.counts.cumsum(0) - self.counts)[label] + place]
        real = self.latents.drawn(samples, self.config.posterior, turn.random)
        return (real - self.generator.mean) / self.generator.deviation, label


def apart(real: Tensor, made: Tensor, loss: Loss) -> Tensor:
    """What a discriminator pays for (B,) scores of real and generated latents."""
    if loss == "hinge":
        return F.relu(1 - real).mean() + F.relu(1 + made).mean()
    return F.softplus(-real).mean() + F.softplus(made).mean()


def as_real(made: Tensor, loss: Loss) -> Tensor:
    """What a generator pays for (B,) scores of what it made; it does not saturate where these are low."""
    return -made.mean() if loss == "hinge" else F.softplus(-made).mean()


def _scale(latents: Latents, posterior: str) -> tuple[Tensor, Tensor]:
    """(P,) mean and deviation of the real latents, each class with the same weight. Errors: one that never differs."""
    each = [latents.label == label for label in range(latents.classes)]
    mean = torch.stack([latents.mean[own].double().mean(0) for own in each]).mean(0)
    squares = (latents.mean.double() - mean).square()
    if posterior == "samples":
        squares = squares + latents.log_var.double().exp()
    deviation = torch.stack([squares[own].mean(0) for own in each]).mean(0).sqrt()
    if not bool((deviation > 0).all()):
        raise UserError(f"latent number {int(deviation.argmin())} is the same for all sentences: this is no space")
    return mean.float(), deviation.float()


@torch.no_grad()
def _towards(kept: LatentGenerator, generator: LatentGenerator, average: float) -> None:
    """Move a running mean of the weights."""
    for mine, other in zip(kept.parameters(), generator.parameters(), strict=True):
        mine.lerp_(other, 1 - average)


def _covariance(rows: Tensor) -> Tensor:
    return torch.cov(rows.T).reshape(rows.shape[1], rows.shape[1])


def _directions(covariance: Tensor) -> Tensor:
    """How many directions matter: from 1 to P."""
    return covariance.trace().square() / covariance.square().sum()
