"""How well a network answers: a task's metrics on a labelled source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from psitext.nn.numerics import Precision
from psitext.score import metrics
from psitext.text.examples import Task
from psitext.text.supervised import SupervisedSource
from psitext.train import predict

Arrays = Sequence[npt.NDArray[Any]]


def evaluate_network(
    network: nn.Module,
    source: SupervisedSource,
    task: Task,
    *,
    precision: Precision = "fp32",
    batch_tokens: int | None = None,
) -> dict[str, float]:
    """The metrics of a network's answers, as ``graded`` has them."""
    read = predict.READERS[task.kind]
    return graded(predict.run(network, source, read, precision=precision, batch_tokens=batch_tokens), source, task)


def graded(outputs: Arrays, source: SupervisedSource, task: Task) -> dict[str, float]:
    """The metrics, and ``collapsed`` = 1.0 when every prediction is the same; of what the task's reader made of each
    sample.

    What the length limit cut off counts as answered wrongly: a word that was not read, an answer that is not in
    what is left of its passage.
    """
    predicted, gold = {"tagging": _tags, "span": _spans}.get(task.kind, _labels)(outputs, source)
    values = metrics.evaluate(task.metrics, predicted, gold)
    said = np.concatenate(outputs) if task.kind == "tagging" else predicted
    return {**values, "collapsed": float(metrics.collapsed(said))}


def _labels(outputs: Arrays, source: SupervisedSource) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    assert source.label is not None
    scores = np.stack(outputs)  # (S, K) logits, or (S, 1) scores
    return (scores[:, 0] if source.label.dtype.kind == "f" else scores.argmax(-1)), source.label


def _tags(outputs: Arrays, source: SupervisedSource) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    said = [np.full_like(gold, -1) for gold in source.word_tags]
    for tags, words, output in zip(said, source.words, outputs, strict=True):
        tags[words] = output
    return np.concatenate(said), np.concatenate(source.word_tags)


def _spans(outputs: Arrays, source: SupervisedSource) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    assert source.span is not None
    # Half-open ranges; an answer that was cut off is the empty range, which no prediction equals.
    return np.add(np.stack(outputs), (0, 1)), np.where(source.span >= 0, np.add(source.span, (0, 1)), 0)
