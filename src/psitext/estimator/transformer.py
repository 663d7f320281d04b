"""Texts to the numbers of their states, for whatever scikit-learn does with numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from psitext.errors import near
from psitext.estimator.base import TextEstimator
from psitext.estimator.parameters import POOLS, check_one_of
from psitext.estimator.texts import EstimatorError, as_sklearn_expects
from psitext.estimator.training import FROM_NOTHING
from psitext.model import Model, load, with_pool
from psitext.state import State

STATES = ("real", "ket", "probabilities")


class SentenceStateTransformer(TransformerMixin, TextEstimator):  # type: ignore[misc]
    """Texts, or pairs of texts, to their states under an encoder that has been trained already.

    ``encoder`` is a model that comes with psitext, a run or model folder, ``hf:<folder or hub id>``, or a Model;
    ``pool`` another sentence vector than its own: "cls", "mean" or "pooled"; where states are compared (similarity,
    search, clusters), "mean". ``state``: "real", the vector itself, imaginary parts after real ones; "ket", that at
    norm 1; "probabilities", the Born probabilities of the ket, which sum to 1. Of a sentence space the vector is the
    posterior's mean.

    Nothing is learnt: ``fit`` loads the model (``model_``) and takes note of columns.
    """

    def __init__(
        self,
        encoder: str | os.PathLike[str] | Model = "bert-tiny",
        *,
        pool: str | None = None,
        state: str = "real",
    ) -> None:
        self.encoder = encoder
        self.pool = pool
        self.state = state

    def fit(self, X: object, y: object = None) -> Self:
        """Load the encoder; y is ignored. Errors: EstimatorError, a UserError and a ValueError."""
        _, second = self._texts(X)
        if self.state not in STATES:
            raise EstimatorError(
                f"state is {self.state!r}{near(str(self.state), STATES) or '; it is one of ' + ', '.join(STATES)}"
            )
        check_one_of("pool", self.pool, POOLS)
        with as_sklearn_expects():
            model = self._model()
            model.tokenizer.encode([])  # a language model reads nothing, and says so
        self.model_, self.paired_ = model, second is not None
        return self

    def transform(self, X: object) -> npt.NDArray[np.float32]:
        """(n, D) float32, or (n, 2 D) where a complex state is taken apart."""
        check_is_fitted(self, "model_")
        first, second = self._further(X)
        with as_sklearn_expects():
            return self._numbers(self.model_.encode(first, second))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[np.object_]:
        """(columns of ``transform``,) names: state0 ..., or re0 ... im0 ..., or p0 ..."""
        check_is_fitted(self, "model_")
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and known is not None and list(input_features) != list(known):
            raise EstimatorError(f"input_features is not equal to feature_names_in_: {', '.join(known)}")
        width = self.model_.encoder.config.width
        names = [f"p{index}" for index in range(width)] if self.state == "probabilities" else self._parts(width)
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """float32, whatever comes in."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _model(self) -> Model:
        given = self.encoder
        if isinstance(given, Model):
            return given if self.pool is None else with_pool(given, self.pool)
        if isinstance(given, str) and given in FROM_NOTHING:
            raise EstimatorError(
                f"{given!r} is a family, whose encoder would know nothing yet; name a trained model, or give the "
                "model_ of a fitted SentenceClassifier"
            )
        if not isinstance(given, str | os.PathLike):
            raise EstimatorError(
                f"encoder is a {type(given).__name__}; it is the name or folder of a model, hf:<folder>, or a Model"
            )
        return load(str(given), pool=self.pool)

    def _numbers(self, state: State) -> npt.NDArray[np.float32]:
        found = {
            "real": lambda: state.to_real(),
            "ket": lambda: state.to_ket().to_real()[:, : 2 * state.width if state.vector.is_complex() else state.width],
            "probabilities": lambda: state.to_ket().probabilities(),
        }[self.state]()
        return np.asarray(found.numpy(), dtype=np.float32)

    def _parts(self, width: int) -> list[str]:
        """Names of a real state's numbers, or of a complex one's two parts."""
        if self.model_.encoder.config.real_width == width:
            return [f"state{index}" for index in range(width)]
        return [f"{part}{index}" for part in ("re", "im") for index in range(width)]
