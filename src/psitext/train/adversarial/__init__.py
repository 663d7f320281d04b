"""Training by games, in which several parts have losses of their own.

Read in this order: ``game`` (whose turn it is), ``networks`` (a generator and a discriminator of vectors with a class),
``latent`` (eq. 16: latents of a class), ``settings``.
"""

from psitext.train.adversarial.game import Pace, Player, Turn, play
from psitext.train.adversarial.latent import Fitted, Latents, Likeness, fit_generator, likeness
from psitext.train.adversarial.networks import LatentGenerator
from psitext.train.adversarial.settings import GanConfig

__all__ = [
    "Pace",
    "Player",
    "Turn",
    "play",
    "GanConfig",
    "LatentGenerator",
    "Latents",
    "Fitted",
    "Likeness",
    "fit_generator",
    "likeness",
]
