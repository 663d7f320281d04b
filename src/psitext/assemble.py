"""Names to objects, in tables that can be read; and what fits what.

Looking a name up comes first, building after, so an error inside a constructor is never reported as an unknown name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from psitext.config import Config, build
from psitext.encoders.bert import Bert, BertConfig
from psitext.errors import UserError, near
from psitext.heads.affine import AffineConfig, SequenceHead, SpanHead, TokenHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.score import losses
from psitext.score.losses import Score
from psitext.text.examples import Task

M = TypeVar("M", bound=nn.Module)

EncoderConfig = BertConfig
HeadConfig = AffineConfig

ENCODERS: dict[str, tuple[type[BertConfig], type[Bert]]] = {"bert": (BertConfig, Bert)}
HEADS: dict[str, type[AffineConfig]] = {"affine": AffineConfig}

# What a task's kind needs: a head over a state of this width, and the loss that judges it.
TASK_HEADS: dict[str, Callable[[int, Task, AffineConfig], nn.Module]] = {
    "classification": lambda width, task, config: SequenceHead(width, len(task.labels), config),
    "regression": lambda width, task, config: SequenceHead(width, 1, config),
    "tagging": lambda width, task, config: TokenHead(width, len(task.labels), config),
    "span": lambda width, task, config: SpanHead(width, config),
}
TASK_SCORES: dict[str, Callable[[Tensor | None], Score]] = {
    "classification": losses.classification,
    "regression": lambda weights: losses.regression(),
    "tagging": lambda weights: losses.tagging(),
    "span": lambda weights: losses.span(),
}


def encoder_config(tree: Mapping[str, Any], origin: str) -> BertConfig:
    """Check the settings of an encoder of whatever family they name."""
    family = tree.get("family", "bert")
    if family not in ENCODERS:
        known = near(str(family), ENCODERS) or "; there are: " + ", ".join(ENCODERS)
        raise UserError(f"{origin} names no known family {family!r}{known}")
    return build(ENCODERS[family][0], tree, f"the encoder of {origin}")


def build_encoder(config: BertConfig, seed: int = 0) -> Bert:
    """A freshly initialised encoder; the seed alone decides its weights."""
    return _seeded(lambda: ENCODERS[config.family][1](config), seed)


def build_head(task: Task, encoder: Bert, config: AffineConfig, seed: int = 0) -> nn.Module:
    """A fresh head for a task, as wide as the encoder's states."""
    return _seeded(lambda: TASK_HEADS[task.kind](encoder.config.width, task, config), seed + 1)


def build_pretraining_head(encoder: Bert, config: PretrainingConfig, seed: int = 0) -> PretrainingHead:
    """Fresh pre-training heads; a tied decoder shares the encoder's token embedding."""
    if config.next_sentence and encoder.config.pool == "mean":
        raise UserError(
            "next-sentence prediction reads [CLS]; set encoder.pool to 'pooled' or 'cls', or samples.pairs to 'none'"
        )
    return _seeded(lambda: PretrainingHead(encoder, config), seed + 1)


def task_score(task: Task, class_weights: Tensor | None = None) -> Score:
    """The loss of a task."""
    return TASK_SCORES[task.kind](class_weights)


def balanced_weights(labels: np.ndarray[Any, Any], classes: int) -> Tensor:
    """(K,) weights n / (K n_k), under which every class counts the same; a class that never occurs gets 1."""
    counts = np.bincount(labels, minlength=classes)
    weights = np.where(counts > 0, len(labels) / (classes * np.maximum(counts, 1)), 1.0)
    return torch.tensor(weights, dtype=torch.float32)


def _seeded(make: Callable[[], M], seed: int) -> M:
    """Build under a seed of its own; the caller's random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


__all__ = ["AffineConfig", "Config", "EncoderConfig", "HeadConfig", "PretrainingConfig"]
