"""Settings of a conditional GAN on latents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psitext.config import Config

Loss = Literal["logistic", "hinge"]


class GanConfig(Config):
    """How a generator of latents with a label is trained (eq. 16).

    ``loss``: "logistic", the paper's with a generator that does not saturate (Goodfellow et al. 2014), or "hinge".
    ``penalty``: weight of the squared gradient of the discriminator at real latents (R1; Mescheder et al. 2018), which
    keeps the game from turning in circles. ``clarity``: weight of a term that the paper does not have: a classifier of
    latents, trained on the real ones beside the game, wants the label to be plain (Odena et al. 2017); at 0,
    the paper's, latents are as mixed up as the data, some of whose sentences hardly show their label.
    """

    noise: int = Field(default=32, gt=0)  # numbers of eps
    width: int = Field(default=256, gt=0)  # of hidden layers
    layers: int = Field(default=2, gt=0)  # hidden ones
    posterior: Literal["samples", "means"] = "samples"  # what is real: draws from q(z|x), or its means
    loss: Loss = "logistic"
    penalty: float = Field(default=1.0, ge=0)
    clarity: float = Field(default=5.0, ge=0)
    steps: int = Field(default=3_000, gt=0)
    batch: int = Field(default=256, gt=1)  # latents of a step, as many of each class
    lr: float = Field(default=5e-4, gt=0, le=1)
    beta1: float = Field(default=0.5, ge=0, lt=1)
    average: float = Field(default=0.998, ge=0, lt=1)  # the generator that is kept is a running mean; 0 = the last one
    seed: int = Field(default=0, ge=0)
