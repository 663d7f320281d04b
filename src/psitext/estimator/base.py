"""What the classifier and the regressor share: parameters, training, raw scores, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from psitext.estimator import storing
from psitext.estimator.parameters import check_folder, check_parameters, seed_of
from psitext.estimator.texts import as_sklearn_expects, examples_of, fitted_texts, further_texts
from psitext.estimator.training import held_out, trained
from psitext.experiments.finetune import Labelled
from psitext.model import Model
from psitext.text.examples import Task


class TextEstimator(BaseEstimator):  # type: ignore[misc]
    """Texts in; a Model, once fitted; files by ``save`` and ``load``, and states for pickling in memory."""

    model_: Model
    paired_: bool

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the fitted estimator: ``estimator.json`` with parameters and classes, and its model in ``model/``.

        An older one there is replaced; ``psitext.load`` and the commands read the folder as a model's. Errors: a folder
        with something else; NotFittedError.
        """
        check_is_fitted(self, "model_")
        with as_sklearn_expects():
            return storing.write(self, check_folder("save", folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """The estimator that ``save`` wrote. Errors: none there, one of another kind, damaged files."""
        with as_sklearn_expects():
            return storing.read(cls, check_folder("load", folder))

    def __getstate__(self) -> dict[str, Any]:
        """For copies and other processes: models as the bytes of their folders."""
        return {name: storing.packed(value) for name, value in super().__getstate__().items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Models again."""
        super().__setstate__({name: storing.unpacked(value) for name, value in state.items()})

    def _texts(self, X: object) -> tuple[list[str], list[str] | None]:
        return fitted_texts(self, X)

    def _further(self, X: object) -> tuple[list[str], list[str] | None]:
        return further_texts(self, X, paired=self.paired_)

    def __sklearn_tags__(self) -> Any:
        """Texts, in one dimension."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class SentencePredictor(TextEstimator):
    """An encoder with a head, fine-tuned on texts and targets."""

    def __init__(
        self,
        encoder: str | os.PathLike[str] | Model = "bert-tiny",
        *,
        head: str | None = None,
        pool: str | None = None,
        epochs: float | None = None,
        lr: float | None = None,
        batch_size: int | None = None,
        max_len: int | None = None,
        validation_fraction: float = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        settings: Mapping[str, Any] | None = None,
        run_folder: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        self.encoder = encoder
        self.head = head
        self.pool = pool
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.max_len = max_len
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.settings = settings
        self.run_folder = run_folder
        self.verbose = verbose

    def _fitted(self, X: object, y: npt.NDArray[Any], task: Task, labels: list[Any]) -> Model:
        """The model that training makes of X and the labels; ``y`` are class numbers or scores, by which rows are
        held out.
        """
        first, second = self._texts(X)
        check_consistent_length(first, y)
        if second is not None:
            task = task.model_copy(update={"pair": "pair"})
        with as_sklearn_expects():
            check_parameters(self)
            seed = seed_of(self.random_state)
            judges = held_out(y, float(self.validation_fraction), seed)
            examples = examples_of(first, second, labels)
            kept = [example for example, judge in zip(examples, judges, strict=True) if not judge]
            dev = [example for example, judge in zip(examples, judges, strict=True) if judge]
            model = trained(self, Labelled(task, kept, {"held out": dev} if dev else {}), seed)
        self.paired_ = second is not None
        return model

    def _scores(self, X: object) -> npt.NDArray[np.float64]:
        """(n, K) logits under the temperature, or (n, 1) scores, in double."""
        check_is_fitted(self, "model_")
        first, second = self._further(X)
        with as_sklearn_expects():
            found = self.model_.logits(examples_of(first, second))
        return np.asarray(found, dtype=np.float64) / self.model_.temperature
