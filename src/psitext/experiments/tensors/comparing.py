"""A compressed model beside the one it came from, and others, on labelled texts: errors, scores, sizes."""

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
from psitext.text.examples import Example


def rows(original: Model, smaller: Smaller, splits: Splits, others: Mapping[str, Model]) -> list[dict[str, Any]]:
    """A row for the circuit, the compressed model and each of ``others``: bond, weights besides word vectors, the
    predicted error, and on every split the measured error and the task's headline score.

    Errors are relative root mean squares of the answers' difference from the circuit's; others have none.
    Errors: a model of another task among the others.
    """
    predicted = smaller.predicted_error
    table = [
        {"model": "circuit", "bond": smaller.of, "weights": smaller.of_weights, "predicted error": 0.0},
        {"model": "compressed", "bond": smaller.bond, "weights": smaller.weights, "predicted error": predicted},
        *({"model": name, "bond": model.encoder.config.width, "weights": weights(model), "predicted error": ""}
          for name, model in others.items()),
    ]  # fmt: skip
    models = [original, smaller.model, *others.values()]
    for name, model in others.items():
        if model.asked().labels != original.asked().labels:
            raise UserError(f"{name} answers {model.asked().name}, which has other labels than {original.asked().name}")
    for split, examples in splits.items():
        exact = answers(original, examples)
        for at, (row, model) in enumerate(zip(table, models, strict=True)):
            row[f"{split}: measured error"] = error(exact, answers(model, examples)) if at < 2 else ""
            headline = model.asked().headline
            row[f"{split}: {headline}"] = model.evaluate(examples)[headline]
    return table


def answers(model: Model, examples: Sequence[Example]) -> npt.NDArray[np.float64]:
    """(S, K) what no common shift of logits changes: logits less their mean; the score of a regression."""
    logits = model.logits(examples).astype(np.float64)
    return logits - logits.mean(1, keepdims=True) if model.asked().labels else logits


def error(exact: npt.NDArray[np.float64], found: npt.NDArray[np.float64]) -> float:
    """||found - exact|| / ||exact||."""
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
