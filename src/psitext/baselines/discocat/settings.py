"""Settings of a DisCoCat; light enough to be read before lambeq or torch is loaded."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psitext.config import Config

Reader = Literal["pregroup", "cups", "stairs", "spiders"]


class DiscocatConfig(Config):
    """How sentences become diagrams, diagrams tensors or circuits, and how those are trained.

    The defaults are what learns; ``PAPER`` is what appendix B of the QBERT paper says.
    """

    reader: Reader = "pregroup"
    fallback: Literal["cups", "stairs", "spiders"] = "cups"  # for sentences that the pregroup grammar does not cover
    lexicon: str | None = None  # a TOML file in the place of lexicon.toml
    pronouns: Literal["words", "wires"] = "words"  # relative pronouns: trained tensors, or spiders without parameters
    ansatz: Literal["spider", "iqp"] = (
        "spider"  # order-2 tensors joined by spiders, or circuits on post-selected qubits
    )
    dim: int = Field(default=2, ge=2, le=64)  # spider: width of a wire
    layers: int = Field(default=1, ge=1, le=8)  # iqp: layers of a word on two or more qubits
    hide: float = Field(default=0.1, ge=0, lt=1)  # share of the words that training takes for unknown ones
    start: Literal["identity", "random"] = "identity"  # spider: tensors near the identity, or anywhere
    scale: Literal["unit", "raw"] = "unit"  # logits from the sentence's direction alone, or from the bare contraction
    batch: int = Field(default=32, ge=1)
    epochs: int = Field(default=40, ge=1)
    lr: float = Field(default=5e-2, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)


PAPER = DiscocatConfig(start="random", scale="raw", epochs=10, lr=1e-3)
