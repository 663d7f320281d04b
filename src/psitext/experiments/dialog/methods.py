"""Ways to have contexts answered, in a table: the network of each, its objectives, and what decides that it is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from psitext.baselines.dialog import Cvae, CvaeHead, Seq2Seq
from psitext.encoders.fusion import Joint
from psitext.experiments.dialog.start import Halves
from psitext.experiments.runs.validation import part_of
from psitext.heads.decoding import DecodingHead
from psitext.heads.fusion import FusionHead
from psitext.nn.numerics import Precision, autocast
from psitext.score.dialog import MethodConfig, cvae, fusion, seq2seq
from psitext.score.losses import Score
from psitext.text.batches import Source
from psitext.train.loop import Validation
from psitext.train.network import Network
from psitext.train.predict import by_length

BATCH_TOKENS = 4_096  # of a validation: scores over the vocabulary are held for three paths at once


@dataclass(frozen=True, slots=True)
class Method:
    """How a kind of responder is trained; ``least`` names the objective that decides what is best; "loss", all."""

    network: Callable[[Halves, Any], Network]
    score: Callable[[Any, bool], Score]
    least: str


METHODS: dict[str, Method] = {
    "fusion": Method(
        lambda given, config: Network(
            Joint(given.sentences, given.contexts), FusionHead(given.decoder, sigma=config.sigma)
        ),
        fusion,
        "s2s",
    ),
    "seq2seq": Method(
        lambda given, config: Network(Seq2Seq(given.contexts), DecodingHead(given.decoder, noise=False)),
        lambda config, with_style: seq2seq(config),
        "rec",
    ),
    "cvae": Method(
        lambda given, config: Network(Cvae(given.sentences, given.contexts), CvaeHead(given.decoder)),
        lambda config, with_style: cvae(config),
        "loss",
    ),
}


def method_of(config: MethodConfig) -> Method:
    """The method that a recipe names."""
    return METHODS[config.kind]


def validation(source: Source, score: Score, least: str, precision: Precision) -> Validation:
    """Every objective on held-out turns, in its own unit (nats per sentence; distances over sqrt(P)), and ``loss``,
    their sum under the weights of the end of a run. ``least`` of them decides what is best.

    Of fusion that is the path from the context, the one that a finished model goes.
    """
    lengths = source.lengths(0)
    chosen = part_of(lengths)
    weights = {name: term.weight_at(99, 100) for name, term in score.items()}

    def evaluate(network: nn.Module) -> Mapping[str, float]:
        network.eval()
        device = next(network.parameters()).device
        sums, counts = dict.fromkeys(score, 0.0), dict.fromkeys(score, 0.0)
        with torch.inference_mode(), autocast(device, precision):
            for places in by_length(lengths[chosen], BATCH_TOKENS):
                batch = source.build(chosen[places], 0).to(device)
                predicted, state = network(batch)
                for name, term in score.items():
                    sums[name] += float(term.total(predicted, batch, state))
                    counts[name] += float(term.count(batch))
        network.train()
        each = {name: sums[name] / max(counts[name], 1.0) for name in score}
        return {"loss": sum(weights[name] * each[name] for name in score), **each}

    return Validation(evaluate, least, low_is_good=True)
