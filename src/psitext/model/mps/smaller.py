"""``Model.compress``: a circuit's smaller recurrence as a model like any other.

What is kept are the answers: of two classes the log-odds, of more the logits less their mean, since what is common to
all changes no probability. Letters: T words, D' numbers of the smaller state, K closings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from psitext.assemble import build_encoder, build_head
from psitext.encoders.automaton import Automaton, AutomatonConfig
from psitext.encoders.rac import Rac, RacConfig
from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.mps.compress.balanced import Balanced, balance, balance_to
from psitext.explain.mps.compress.sequences import Uniform
from psitext.explain.mps.compress.truncation import error_bounds, truncate
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.model.model import Model
from psitext.model.mps.reading import Circuit, Metric, check_metric, circuit_of
from psitext.nn.numerics import binary_exponent, scaled
from psitext.train.network import Network

WORDS = ("encoder.words.", "encoder.token.")  # where encoders keep the vectors of words


@dataclass(frozen=True, slots=True, eq=False)
class Smaller:
    """The model, and how near it is in theory."""

    model: Model
    bond: int  # D'
    of: int  # D of the circuit
    predicted_error: float  # relative root mean square of the answers' difference, over texts of T words of the law
    schmidt: Tensor  # what each channel weighs over all T words, descending, squares of sum 1
    length: int  # T
    metric: Metric
    weights: int  # of the model, besides word vectors
    of_weights: int  # of the circuit
    fewer: int  # the largest D' whose model has fewer weights than the circuit

    @property
    def warning(self) -> str:
        """What there is to say where the smaller state makes a larger model; else nothing."""
        if self.weights < self.of_weights:
            return ""
        return (
            f"a smaller state ({self.bond} numbers for {self.of}), but no smaller model ({self.weights:,} weights for "
            f"{self.of_weights:,}), since its matrices are full and a circuit's are products; up to "
            f"{self.fewer} numbers (chi) have fewer"
        )


def compress(
    model: Model,
    chi: int | None = None,
    tolerance: float | None = None,
    *,
    metric: Metric | None = None,
    length: int | None = None,
    texts: Sequence[str] | None = None,
) -> Smaller:
    """What ``Model.compress`` gives."""
    if (chi is None) == (tolerance is None):
        raise UserError("say how small: by chi, the size of the smaller state, or by tolerance, a relative error")
    chain, root, metric = _asked(model, metric, length, texts)
    found = balance(chain, chi, root) if chi is not None else balance_to(chain, tolerance or 0.0, root)
    smaller = _model(model, found, chain, metric)
    few = max(bond for bond in range(1, chain.bond + 1) if _full(model, bond) < weights(model))
    return Smaller(
        smaller,
        found.uniform.bond,
        chain.bond,
        found.predicted_error,
        found.schmidt,
        chain.length,
        metric,
        weights(smaller),
        weights(model),
        few,
    )


def weights(model: Model) -> int:
    """How many weights a model has besides the vectors of words."""
    named = model.network.named_parameters()
    return sum(weight.numel() for name, weight in named if not name.startswith(WORDS))


def analysis(
    model: Model, *, metric: Metric | None = None, length: int | None = None, texts: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """For every bond from 1 to D: no error of a chain of T words can be less than the first; what truncating the finite
    chain gives, with a core of its own for each word; and what one core for all words gives.
    """
    chain, root, _ = _asked(model, metric, length, texts)
    least, _ = error_bounds(chain, root)
    return [
        {
            "bond": bond,
            "no chain below": float(least[bond - 1]),
            "a core for each word": truncate(chain, bond, root).predicted_error,
            "one core": balance(chain, bond, root).predicted_error,
        }
        for bond in range(1, chain.bond + 1)
    ]


def _asked(
    model: Model, metric: Metric | None, length: int | None, texts: Sequence[str] | None
) -> tuple[Chain, list[Tensor] | None, Metric]:
    """The chain with its closings, the metric's roots, and which metric that is."""
    circuit = circuit_of(model, texts)
    metric = metric or ("paper" if circuit.law is None else "data")
    check_metric(metric)
    chain = circuit.whole(_length(circuit) if length is None else length)
    if len(chain.last) > 1:
        chain = replace(chain, last=chain.last - chain.last.mean(0))
    return chain, circuit.roots(chain.length) if metric == "data" else None, metric


def _full(model: Model, bond: int) -> int:
    """The weights of an automaton in a circuit's place: D'^2 (d_I + 1) of its core, D' to begin with, and a head."""
    encoder, classes = model.encoder.config, max(1, len(model.asked().labels))
    assert isinstance(encoder, RacConfig)
    return bond**2 * (encoder.features + 1) + bond + classes * (bond + 1)


def _length(circuit: Circuit) -> int:
    """T of texts as the model reads them: all that are filled, else the mean of those that it was trained on."""
    if circuit.filler is not None or circuit.law is None:
        return circuit.usual_length
    return min(circuit.law.typical, circuit.steps)


def _model(model: Model, found: Balanced, chain: Chain, metric: Metric) -> Model:
    """A model of the automaton, with the words, texts, labels and temperature of the circuit's."""
    task, old, uniform = model.asked(), model.encoder, _sized(found.uniform)
    assert isinstance(old, Rac)
    shared = {key: value for key, value in old.config.tree().items() if key in AutomatonConfig.model_fields}
    encoder = build_encoder(AutomatonConfig(**{**shared, "family": "automaton", "bond": uniform.bond}))
    config = model.head if isinstance(model.head, AffineConfig) else AffineConfig()
    head = build_head(task, encoder, config)
    assert isinstance(encoder, Automaton)
    assert isinstance(head, SequenceHead)
    last = torch.cat([-uniform.last, uniform.last]) / 2 if len(task.labels) == 2 else uniform.last
    with torch.no_grad():
        encoder.words.load_state_dict(old.words.state_dict())
        for weight, value in (
            (encoder.core, uniform.core),
            (encoder.first, uniform.first),
            (head.output.weight, last),
            (head.output.bias, torch.zeros(len(last))),
        ):
            weight.copy_(value)
    facts = {
        "name": f"{model.facts.get('name', old.config.family)}, compressed",
        "from": model.facts.get("name", old.config.family),
        "compressed": {
            "bond": uniform.bond,
            "from bond": chain.bond,
            "metric": metric,
            "words": chain.length,
            "predicted error": found.predicted_error,
        },
    }
    return Model(
        Network(encoder, head).eval(), model.tokenizers, model.text, config, task, model.temperature, facts, model.law
    )


def _sized(uniform: Uniform) -> Uniform:
    """The same with a first state of size 1: a balanced basis may be of any scale, float32 is not."""
    exponent = binary_exponent(uniform.first.abs().max())
    return Uniform(uniform.core, scaled(uniform.first, exponent), scaled(uniform.last, -exponent))
