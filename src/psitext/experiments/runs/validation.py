"""How a network is judged while it trains: held-out losses for pre-training, the task's metrics for fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from psitext.model import evaluate_network
from psitext.nn.numerics import Precision, autocast
from psitext.randomness import generator
from psitext.score.losses import Score
from psitext.score.metrics import LOWER_IS_BETTER
from psitext.text.batches import Ints, Source
from psitext.text.examples import Task
from psitext.text.supervised import SupervisedSource
from psitext.train.loop import Validation
from psitext.train.predict import by_length

MOST_TOKENS = 65_536  # of held-out text, enough for a loss to two decimals in a second or two


def pretraining_losses(source: Source, score: Score, precision: Precision) -> Validation:
    """Mean losses on held-out text and the accuracy of both predictions; the loss of masked words decides what is best.

    There are many masked words and few next sentences, whose loss would decide by its noise.
    """
    lengths = source.lengths(0)
    chosen = part_of(lengths)

    def evaluate(network: nn.Module) -> Mapping[str, float]:
        network.eval()
        device = next(network.parameters()).device
        sums, counts = dict.fromkeys(score, 0.0), dict.fromkeys(score, 0.0)
        right, asked = {"words": 0, "next": 0}, {"words": 0, "next": 0}
        with torch.inference_mode(), autocast(device, precision):
            for places in by_length(lengths[chosen], 8_192):
                batch = source.build(chosen[places], 0).to(device)
                predicted, state = network(batch)
                for name, objective in score.items():
                    sums[name] += float(objective.total(predicted, batch, state))
                    counts[name] += float(objective.count(batch))
                for name, key in (("words", "token_label"), ("next", "next")):
                    if name in predicted:
                        gold = batch.targets[key]
                        right[name] += int((predicted[name].argmax(-1) == gold)[gold >= 0].sum())
                        asked[name] += int((gold >= 0).sum())
        network.train()
        losses = {name: sums[name] / max(counts[name], 1.0) for name in score}
        accuracy = {f"accuracy_{name}": right[name] / asked[name] for name in right if asked[name]}
        return {**{f"loss_{name}": value for name, value in losses.items()}, **accuracy}

    return Validation(evaluate, "loss_words", low_is_good=True)


def part_of(lengths: Ints) -> Ints:
    """As many samples as ``MOST_TOKENS`` hold, at least one, by a keyed draw: a corpus has several kinds of text, and
    of the longest samples alone one kind may have none.
    """
    order = generator(0, "held out").permutation(len(lengths))
    return np.sort(order[: int(np.searchsorted(np.cumsum(lengths[order]), MOST_TOKENS)) + 1])


def task_metrics(sources: Mapping[str, SupervisedSource], task: Task) -> Validation:
    """The task's metrics on each development split; the headline of the first one decides what is best.

    Always in float32, like the scores of the finished model, however the network is trained: the best weights are
    those with the best of these scores.
    """
    names: Sequence[str] = list(sources)

    def evaluate(network: nn.Module) -> Mapping[str, float]:
        values: dict[str, float] = {}
        for name in names:
            found = evaluate_network(network, sources[name], task)
            prefix = "" if name == names[0] else f"{name}_"
            values |= {prefix + key: value for key, value in found.items()}
        return values

    return Validation(evaluate, task.headline, task.headline in LOWER_IS_BETTER)


def dev_curve(events: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Losses on dev by what they are of, with the tokens trained on until then."""
    points, tokens = [], 0
    for event in events:
        tokens = event.get("tokens", tokens)
        if event["kind"] == "dev":
            losses = {key.replace("_", " "): event[key] for key in event if key.startswith("loss_")}
            points.append({"tokens": tokens, **losses})
    return points
