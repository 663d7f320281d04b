"""Losses as sums over what was counted.

A loss over a step is a global sum over a global count: micro-batches and ranks add up sums and counts, never means,
so the value depends neither on how a batch was cut nor on how many masked words a part happened to hold. Every sum
is in float32 and in nats. Letters: B sequences, M predicted tokens, L tokens of a sequence, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from psitext.nn.numerics import float32_scores
from psitext.state import State
from psitext.text.batches import Batch
from psitext.text.examples import IGNORED

Predicted = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Objective:
    """One named term of a loss: ``weight * sum / count``. The count is known before the model runs. A weight that
    changes is a function of the step, from 0, and the steps of the whole run: a run that goes on finds it again.
    """

    total: Callable[[Predicted, Batch, State], Tensor]  # scalar sum, float32
    count: Callable[[Batch], Tensor]  # scalar
    weight: float | Callable[[int, int], float] = 1.0

    def weight_at(self, step: int, steps: int) -> float:
        """The weight that is in force at ``step`` (0-based) of ``steps``."""
        return self.weight(step, steps) if callable(self.weight) else self.weight


Score = Mapping[str, Objective]


def cross_entropy_sum(logits: Tensor, labels: Tensor, class_weights: Tensor | None = None) -> Tensor:
    """Sum of -log p(label); (..., K) logits, (...) labels, ``IGNORED`` ones left out."""
    weights = None if class_weights is None else class_weights.to(logits.device)
    return F.cross_entropy(
        float32_scores(logits).flatten(0, -2),
        labels.flatten(),
        weight=weights,
        ignore_index=IGNORED,
        reduction="sum",
    )


class _WordSurprise(torch.autograd.Function):
    """Sum of -log p(word) whose gradient, p - (1 at the word), is made where the log-probabilities stood.

    Over a vocabulary the passes through (M, V) numbers cost as much as the products; this needs two arrays of them,
    the formula by way of autograd four.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, words: Tensor) -> Tensor:  # (M, V), (M,) -> scalar
        wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
        log_probs = logits.log_softmax(-1, dtype=wide)
        ctx.kept, ctx.words, ctx.dtype = log_probs, words, logits.dtype
        return -log_probs.gather(-1, words[:, None]).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        if ctx.kept is None:
            raise RuntimeError("the gradient of this sum was taken already, in the memory that it needed")
        probs, ctx.kept = ctx.kept.exp_(), None
        probs[torch.arange(len(probs), device=probs.device), ctx.words] -= 1
        return probs.mul_(gradient).to(ctx.dtype), None


def word_surprise_sum(logits: Tensor, words: Tensor) -> Tensor:
    """Sum of -log p(word) over a vocabulary; (M, V) logits, (M,) words, none ignored. One backward pass only."""
    surprise: Tensor = _WordSurprise.apply(logits, words)  # type: ignore[no-untyped-call]
    return surprise


def pretraining(next_sentence: bool = True) -> Score:
    """Masked words and next sentence, added with equal weight (chapter 15.8.6)."""
    words = Objective(
        total=lambda predicted, batch, state: word_surprise_sum(predicted["words"], batch.targets["token_label"]),
        count=lambda batch: torch.tensor(batch.targets["token_label"].numel()),
    )
    follows = Objective(
        total=lambda predicted, batch, state: cross_entropy_sum(predicted["next"], batch.targets["next"]),
        count=lambda batch: (batch.targets["next"] != IGNORED).sum(),
    )
    return {"words": words, "next": follows} if next_sentence else {"words": words}


def classification(class_weights: Tensor | None = None) -> Score:
    """Cross-entropy of a label; with class weights the count is the sum of the labels' weights."""

    def count(batch: Batch) -> Tensor:
        labels = batch.targets["label"]
        return torch.tensor(len(labels)) if class_weights is None else class_weights.to(labels.device)[labels].sum()

    return {
        "label": Objective(
            total=lambda predicted, batch, state: cross_entropy_sum(
                predicted["logits"], batch.targets["label"], class_weights
            ),
            count=count,
        )
    }


def regression() -> Score:
    """Squared error of one score."""
    return {
        "label": Objective(
            total=lambda predicted, batch, state: F.mse_loss(
                float32_scores(predicted["logits"]).squeeze(-1), batch.targets["label"], reduction="sum"
            ),
            count=lambda batch: torch.tensor(len(batch.targets["label"])),
        )
    }


def tagging() -> Score:
    """Cross-entropy of the tag of every word, read at its first piece."""

    def total(predicted: Predicted, batch: Batch, state: State) -> Tensor:
        logits = predicted["token_logits"].flatten(0, 1)[batch.targets["token_at"]]  # (M, K)
        return cross_entropy_sum(logits, batch.targets["token_label"])

    return {"tag": Objective(total=total, count=lambda batch: torch.tensor(batch.targets["token_label"].numel()))}


def span() -> Score:
    """Cross-entropy of the first and of the last token of the answer, averaged (Devlin et al. 2019, 4.2)."""

    def total(predicted: Predicted, batch: Batch, state: State) -> Tensor:
        logits = predicted["span_logits"].transpose(1, 2)  # (B, 2, L)
        return 0.5 * cross_entropy_sum(logits, batch.targets["span"])

    return {"span": Objective(total=total, count=lambda batch: (batch.targets["span"][:, 0] != IGNORED).sum())}
