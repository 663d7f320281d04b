"""What telling gives back: frozen values, each with its JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psitext.explain.latent.smoothness import Smoothness

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Samples:
    """Sentences written from latents of a prior, or by a language model from nothing."""

    texts: tuple[str, ...]
    prior: str  # normal, gaussian, mixture; none of a language model

    def records(self) -> list[Record]:
        """A line a sentence."""
        return [{"number": number, "text": text, "prior": self.prior} for number, text in enumerate(self.texts, 1)]


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A sentence, and what was written from its latent.

    ``exact``: it is what was given, but for what the tokenizer that writes leaves out of it (capitals,
    spacing, unknown words).
    ``right`` of ``tokens`` tokens, the end among them, stand written where they stood.
    """

    text: str
    written: str
    exact: bool
    right: int
    tokens: int
    cut: bool  # it was longer than the model reads


@dataclass(frozen=True, slots=True)
class Reconstructions:
    """Sentences written again, one after another."""

    each: tuple[Reconstruction, ...]

    @property
    def exact(self) -> float:
        """Share of the sentences that came back exactly."""
        return sum(one.exact for one in self.each) / len(self.each)

    @property
    def token_accuracy(self) -> float:
        """Share of all tokens that came back in their places: of sentences as they were written, so after a word too
        much the rest is wrong. (Where the decoder is shown the right tokens before each, more are right.)
        """
        return sum(one.right for one in self.each) / sum(one.tokens for one in self.each)

    def records(self) -> list[Record]:
        """A line a sentence."""
        return [
            {"text": one.text, "written": one.written, "exact": one.exact, "token_accuracy": one.right / one.tokens,
             "cut": one.cut}
            for one in self.each
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Path:
    """Sentences on the way through the latents of several: ``texts[i]`` from ``places[i]``, a leg's number and tau."""

    through: tuple[str, ...]
    texts: tuple[str, ...]
    places: tuple[float, ...]  # from 0 to len(through) - 1
    smoothness: Smoothness

    def records(self) -> list[Record]:
        """A line a place: between which sentences it lies, and tau from 0 to 1 between them."""
        lines = []
        for place, text in zip(self.places, self.texts, strict=True):
            leg = min(int(place), len(self.through) - 2)
            ends = {"from": self.through[leg], "to": self.through[leg + 1]}
            lines.append({**ends, "tau": round(place - leg, 12), "text": text})
        return lines


@dataclass(frozen=True, slots=True)
class Analogies:
    """``texts[i]`` is to ``c[i]`` as B is to A."""

    a: str  # the sentence, or how many
    b: str
    c: tuple[str, ...]
    degree: float
    texts: tuple[str, ...]

    def records(self) -> list[Record]:
        """A line for each C."""
        return [
            {"a": self.a, "b": self.b, "c": c, "degree": self.degree, "text": text}
            for c, text in zip(self.c, self.texts, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Near:
    """The sentences nearest to each of several, the nearest first."""

    texts: tuple[str, ...]
    neighbours: tuple[tuple[str, ...], ...]
    distances: tuple[tuple[float, ...], ...]
    by: str

    def records(self) -> list[Record]:
        """A line a neighbour."""
        return [
            {"text": text, "rank": rank, "neighbour": neighbour, self.by: distance}
            for text, near, far in zip(self.texts, self.neighbours, self.distances, strict=True)
            for rank, (neighbour, distance) in enumerate(zip(near, far, strict=True), 1)
        ]


@dataclass(frozen=True, slots=True)
class Walk:
    """A sentence moved along one dimension of its latent: ``texts[i]`` by ``steps[i]`` standard deviations."""

    text: str
    dimension: int  # from 0
    activity: float  # what chose it: variance of posterior means, or of one sentence its KL in nats
    deviation: float  # of the aggregate along it
    steps: tuple[float, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traversal:
    """Walks of sentences along dimensions."""

    walks: tuple[Walk, ...]

    def records(self) -> list[Record]:
        """A line a step."""
        return [
            {
                "text": walk.text,
                "dimension": walk.dimension,
                "deviation": walk.deviation,
                "steps": step,
                "written": text,
            }
            for walk in self.walks
            for step, text in zip(walk.steps, walk.texts, strict=True)
        ]  # fmt: skip


Told = Samples | Reconstructions | Path | Analogies | Near | Traversal


def counted(texts: Sequence[str]) -> str:
    """One sentence as it is, or how many there are."""
    return texts[0] if len(texts) == 1 else f"the mean of {len(texts):,} sentences"
