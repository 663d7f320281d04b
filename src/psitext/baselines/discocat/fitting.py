"""Training a DisCoCat on examples, and what comes of it: labels for texts. The optimiser is handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot
from torch.optim import Optimizer

from psitext.baselines.discocat.model import UNKNOWN, Discocat, Filled, vocabulary
from psitext.baselines.discocat.reading import Reading, TextReader
from psitext.baselines.discocat.settings import DiscocatConfig
from psitext.baselines.majority import training_labels
from psitext.errors import UserError
from psitext.randomness import generator, uniform
from psitext.text.examples import Example

Optimiser = Callable[[nn.Module], Optimizer]
Hook = Callable[[Mapping[str, float | int | str]], None]

_TOGETHER = 256  # texts that are answered at once


@dataclass(frozen=True)
class Fitted:
    """A trained DisCoCat; ``labels`` is the class order of its logits."""

    model: Discocat
    labels: tuple[str, ...]

    def logits(self, examples: Sequence[Example]) -> npt.NDArray[np.float64]:
        """(N, K), a sigmoid each: K yes-or-no questions."""
        filled = [self.model.fill(reading) for reading in self.read(examples)]
        with torch.no_grad():
            parts = [self.model(filled[at : at + _TOGETHER]) for at in range(0, len(filled), _TOGETHER)]
        return np.asarray(torch.cat(parts).double().numpy()) if parts else np.zeros((0, len(self.labels)))

    def predict(self, examples: Sequence[Example]) -> list[str]:
        """One label for each example."""
        return [self.labels[index] for index in self.logits(examples).argmax(axis=1)] if examples else []

    def read(self, examples: Sequence[Example]) -> list[Reading]:
        """What the reader makes of the texts."""
        return [self.model.reader(example.text) for example in examples]

    def reach(self, examples: Sequence[Example]) -> dict[str, float]:
        """How much of the texts the model knows: shares of texts that the grammar covers and of unknown words."""
        readings = self.read(examples)
        rows = [row for reading in readings for row in self.model.fill(reading)[1]]
        return {
            "covered": sum(reading.covered for reading in readings) / max(len(readings), 1),
            "unknown words": sum(row == UNKNOWN for row in rows) / max(len(rows), 1),
        }


def fit(
    train: Sequence[Example],
    labels: Sequence[str],
    config: DiscocatConfig,
    optimiser: Optimiser,
    seed: int = 0,
    hooks: Sequence[Hook] = (),
) -> Fitted:
    """Train on labelled single texts, ``labels`` giving the class order; the weights are those of the last epoch.

    The loss is binary cross-entropy over all classes; order and weights are drawn by (seed, epoch), hidden words by
    (seed, epoch, sample, place). Errors: pairs of texts, scores instead of labels, a label outside ``labels``, a loss
    that is not finite.
    """
    gold = _class_ids(train, labels)
    reader = TextReader(config)
    readings = [reader(example.text) for example in train]
    model = Discocat(reader, vocabulary(readings, reader.types()), len(labels), seed)
    filled = [model.fill(reading) for reading in readings]
    descent = optimiser(model)
    step = 0
    for epoch in range(config.epochs):
        order = generator(seed, "discocat", epoch).permutation(len(train))
        for batch in (order[at : at + config.batch] for at in range(0, len(order), config.batch)):
            seen = [_hidden(filled[index], config.hide, seed, epoch, int(index)) for index in batch]
            loss = _loss(model(seen), gold[torch.from_numpy(batch)])
            if not torch.isfinite(loss):
                raise UserError(f"the loss is {loss.item()} at step {step + 1}; a lower lr often helps")
            descent.zero_grad(set_to_none=True)
            loss.backward()
            descent.step()
            step += 1
        for hook in hooks:
            hook({"kind": "train", "step": step, "epoch": epoch + 1, "loss": loss.item()})
    return Fitted(model.eval(), tuple(labels))


def _hidden(filled: Filled, share: float, seed: int, epoch: int, sample: int) -> Filled:
    """A text with some of its words unknown, so that the rows of unknown words are trained."""
    shape, rows = filled
    drawn = uniform(seed, "hide", epoch, sample, np.arange(len(rows)))
    return shape, tuple(UNKNOWN if hide else row for row, hide in zip(rows, drawn < share, strict=True))


def _loss(logits: Tensor, gold: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits, one_hot(gold, logits.shape[1]).to(logits.dtype))


def _class_ids(train: Sequence[Example], labels: Sequence[str]) -> Tensor:
    found: list[Any] = training_labels(train)
    if isinstance(found[0], float):
        raise UserError("DisCoCat answers with labels; these examples have scores")
    if pair := next((example for example in train if example.pair is not None), None):
        raise UserError(f"DisCoCat reads single texts; {pair.source or 'the data'} line {pair.line} is a pair")
    number = {name: place for place, name in enumerate(labels)}
    if strange := next((name for name in found if name not in number), None):
        raise UserError(f"the training label {strange!r} is none of: {', '.join(labels)}")
    return torch.tensor([number[name] for name in found])
