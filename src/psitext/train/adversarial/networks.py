"""Latents of a class out of noise, and what tells them from real ones.

Letters: B latents, P their numbers, E numbers of noise, K classes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from psitext.nn.perceptron import perceptron, with_class
from psitext.randomness import generator


class LatentGenerator(nn.Module):
    """G(eps, y): (B, E) noise and (B,) classes -> (B, P) latents.

    ``mean`` and ``deviation`` (P,) are those of the real latents: the layers work in numbers of size 1.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, latent: int, classes: int, noise: int, width: int, layers: int) -> None:
        super().__init__()
        self.latent, self.classes, self.noise = latent, classes, noise
        self.net = perceptron(noise + classes, *[width] * layers, latent)
        self.register_buffer("mean", torch.zeros(latent))
        self.register_buffer("deviation", torch.ones(latent))

    def forward(self, eps: Tensor, label: Tensor) -> Tensor:
        """Latents on the scale of the real ones."""
        return self.standard(eps, label) * self.deviation + self.mean

    def standard(self, eps: Tensor, label: Tensor) -> Tensor:
        """The same on the scale of the game."""
        standard: Tensor = self.net(with_class(eps, label, self.classes))
        return standard

    @torch.no_grad()
    def draw(self, label: int, count: int, seed: int = 0, scale: float = 1.0) -> Tensor:
        """(count, P) latents of one class, float32; fewer of the same seed are the first of these.

        ``scale`` below 1 keeps the noise nearer to its centre: more typical latents, less different ones (the
        truncation of Brock et al. 2019).
        """
        drawn = generator(seed, "latent of a class", label).standard_normal((count, self.noise))
        eps = torch.from_numpy(np.asarray(scale * drawn, dtype=np.float32)).to(self.mean.device)
        latents: Tensor = self(eps, torch.full((count,), label, device=self.mean.device))
        return latents.cpu()


class LatentDiscriminator(nn.Module):
    """D(z, y): (B, P) latents and (B,) classes -> (B,) scores, high for real ones."""

    def __init__(self, latent: int, classes: int, width: int, layers: int) -> None:
        super().__init__()
        self.classes = classes
        self.net = perceptron(latent + classes, *[width] * layers, 1)

    def forward(self, latents: Tensor, label: Tensor) -> Tensor:
        """How real the latents of these classes look."""
        score: Tensor = self.net(with_class(latents, label, self.classes))
        return score[:, 0]
