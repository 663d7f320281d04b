"""What is measured of trained circuits: accuracies, and entanglement under each convention that moves it.

The paper's entropy is in the raw basis of word vectors, closed by ones. It changes when word vectors are scaled though
no prediction does, so the entropy under the law of the training words stands beside it, and that of the untrained
circuit, without which no number says what training did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from psitext.experiments.sweep.ensemble import Trained, Weights, accuracy
from psitext.experiments.sweep.protocol import Protocol
from psitext.experiments.sweep.reading import Data
from psitext.explain.mps.chain import Chain, close, in_metric, word_root
from psitext.explain.mps.spectrum import Spectrum, spectrum

# Pairs whose meanings are far apart, and pairs that are of no account (Fig. 5, right).
OPPOSITES = (("boring", "interesting"), ("worst", "best"), ("bad", "good"), ("awful", "excellent"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One restart: numbers by name, NaN where there are none; ``spectrum`` in the paper's convention."""

    seed: int
    numbers: dict[str, float]
    spectrum: tuple[float, ...]

    def record(self) -> dict[str, Any]:
        """As part of a result line, rounded; what is no number becomes None."""
        numbers = {name: None if value != value else round(value, 6) for name, value in self.numbers.items()}
        return {"seed": self.seed, **numbers, "spectrum": [round(value, 7) for value in self.spectrum]}


def measure(
    protocol: Protocol, data: Data, vectors: Tensor | None, trained: list[Trained], start: Weights
) -> list[Measured]:
    """Every restart; ``start`` are the weights before training, in the same order."""
    weights = {name: torch.stack([one.weights[name] for one in trained]) for name in trained[0].weights}
    train, test = (accuracy(weights, table, vectors) for table in (data.train, data.test))
    found = {
        "entropy bits": entangled(protocol, data, vectors, weights),
        "entropy bits, data metric": entangled(protocol, data, vectors, weights, by_law=True),
        "entropy bits, data metric, closed by the read-out": entangled(
            protocol, data, vectors, weights, by_law=True, readout=True
        ),
        "entropy bits, untrained": entangled(protocol, data, vectors, start),
        "entropy bits, untrained, data metric": entangled(protocol, data, vectors, start, by_law=True),
    }
    schmidt = found["entropy bits"].schmidt[:, 0].nan_to_num(0.0)
    similar = cosines(data, weights["words"]) if vectors is None else {}
    measured = []
    for at, one in enumerate(trained):
        bits = {name: float(each.entropy_bits[at, 0]) for name, each in found.items()}
        numbers = {"train accuracy": float(train[at]), "test accuracy": float(test[at]), **bits}
        numbers |= {"epochs": float(len(one.losses)), "loss": one.losses[-1], "diverged": float(one.diverged)}
        numbers |= {name: float(values[at]) for name, values in similar.items()}
        measured.append(Measured(one.seed, numbers, tuple(schmidt[at].tolist())))
    return measured


def entangled(
    protocol: Protocol,
    data: Data,
    vectors: Tensor | None,
    weights: Weights,
    *,
    by_law: bool = False,
    readout: bool = False,
) -> Spectrum:
    """The cut in the middle of T words; ``by_law`` under the words' own law, ``readout`` for the chain that is the
    logit.
    """
    last = torch.cat([weights["readout"], weights["bias"][:, None]], dim=1) if readout else None
    chain: Chain = close(
        weights["hidden"], weights["hidden_bias"], weights["inputs"], weights["input_bias"], protocol.steps, last
    )
    if by_law:
        own = weights["words"] if vectors is None else vectors
        chain = in_metric(chain, word_root(own.double(), data.law))
    return spectrum(chain, bonds="mid")


def cosines(data: Data, vectors: Tensor) -> dict[str, Tensor]:
    """(E,) similarity of opposite words (eq. 7), of those that the vocabulary has; ``vectors`` (E, N, d)."""
    place = {word: at for at, word in enumerate(data.vocabulary)}
    pairs = [pair for pair in OPPOSITES if all(word in place for word in pair)]
    return {
        f"cosine {a}, {b}": torch.cosine_similarity(vectors[:, place[a]], vectors[:, place[b]], dim=1) for a, b in pairs
    }
