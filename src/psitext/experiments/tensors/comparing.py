"""Compressed models beside the one they came from, and others, on labelled texts: errors, scores, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.errors import UserError
from psitext.experiments.evaluation import Splits
from psitext.model import Model
from psitext.model.mps import Smaller
from psitext.model.mps.smaller import weights
from psitext.model.scores import graded
from psitext.train import predict

Floats = npt.NDArray[np.float64]


def rows(
    original: Model, smaller: Sequence[Smaller], splits: Splits, others: Mapping[str, Model]
) -> list[dict[str, Any]]:
    """A row for the circuit, each compressed model and each of ``others``: bond, weights besides word vectors, the
    predicted error, and on every split the measured error and the task's headline score.

    Errors are relative root mean squares of the answers' difference from the circuit's; others have none.
    Errors: a model of another task among the others.
    """
    made = [one.model for one in smaller]
    table: list[dict[str, Any]] = [
        {"model": "circuit", **_sizes(original), "predicted error": 0.0},
        *({"model": "compressed", **_sizes(one.model), "predicted error": one.predicted_error} for one in smaller),
        *({"model": name, **_sizes(model), "predicted error": ""} for name, model in others.items()),
    ]
    for name, model in others.items():
        if model.asked().labels != original.asked().labels:
            raise UserError(f"{name} answers {model.asked().name}, which has other labels than {original.asked().name}")
    for split, examples in splits.items():
        shared = original.source(examples, labelled=True)  # compressed ones read as it does
        own = (model.source(examples, labelled=True) for model in others.values())
        sources = [*(shared for _ in (original, *made)), *own]
        exact: Floats | None = None
        for row, model, source in zip(table, [original, *made, *others.values()], sources, strict=True):
            outputs = predict.run(model.network, source, predict.logits)
            found = answers(np.stack(outputs), model)
            exact = found if exact is None else exact
            row[f"{split}: measured error"] = error(exact, found) if source is shared else ""
            headline = model.asked().headline
            row[f"{split}: {headline}"] = graded(outputs, source, model.asked())[headline]
    return table


def answers(logits: npt.NDArray[Any], model: Model) -> Floats:
    """(S, K) what no common shift of logits changes: logits less their mean; the score of a regression."""
    exact = logits.astype(np.float64)
    return exact - exact.mean(1, keepdims=True) if model.asked().labels else exact


def error(exact: Floats, found: Floats) -> float:
    """||found - exact|| / ||exact||."""
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def _sizes(model: Model) -> dict[str, int]:
    return {"bond": model.encoder.config.width, "weights": weights(model)}
