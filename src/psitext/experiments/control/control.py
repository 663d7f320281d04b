"""A sentence space that writes sentences with a label: G(eps, y), then the decoder (eqs. 16 and 17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psitext.errors import UserError, near
from psitext.heads.decoding import Writing
from psitext.model import Model
from psitext.train.adversarial import GanConfig, LatentGenerator, Likeness


@dataclass(frozen=True, slots=True)
class Control:
    """A model that writes, and a generator of its latents for each of some labels. Never changed after it is made."""

    model: Model
    generator: LatentGenerator
    labels: tuple[str, ...]  # in the order of the generator's classes
    settings: GanConfig
    likeness: tuple[Likeness, ...] = ()  # of every label's latents to the real ones
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the generator was trained on

    def write(
        self, label: str, n: int = 10, how: Writing | None = None, *, seed: int = 0, scale: float = 1.0
    ) -> list[str]:
        """``n`` sentences with a label; fewer of the same seed are the first of these.

        ``how`` says how words are chosen, greedily by default; what differs are the latents, whose noise ``scale``
        holds nearer to the centre (below 1: plainer sentences, less different ones). Errors: a label that the generator
        never saw; n below 1; a scale below 0.
        """
        if n < 1:
            raise UserError(f"n says how many sentences there are, at least 1, not {n}")
        if not 0 <= scale < float("inf"):
            raise UserError(f"scale is 0 or above, not {scale:g}")
        return self.model.decode(self.generator.draw(number_of(label, self.labels), n, seed, scale), how)

    def warnings(self) -> list[str]:
        """One sentence for every label whose latents are far fewer than the real ones."""
        return [
            f"the generator knows few latents of {label!r}: they spread {like.spread:.2f} as far as the real ones, in "
            f"{like.directions:.2f} as many directions; more sentences, a larger penalty or less clarity help"
            for label, like in zip(self.labels, self.likeness, strict=True)
            if like.collapsed
        ]


def number_of(label: str, labels: Sequence[str]) -> int:
    """The class of a label. Errors: one that is not there, with the near ones."""
    if label not in labels:
        there = near(label, labels) or "; it knows: " + ", ".join(labels)
        raise UserError(f"the generator never saw a label {label!r}{there}")
    return list(labels).index(label)
