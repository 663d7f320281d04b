"""A text classifier with scikit-learn's manners."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from psitext.estimator.base import SentencePredictor
from psitext.estimator.texts import EstimatorError, targets
from psitext.score import calibration
from psitext.text.examples import Task


class SentenceClassifier(ClassifierMixin, SentencePredictor):  # type: ignore[misc]
    """Texts, or pairs of texts, to classes: an encoder is fine-tuned with a head, as ``psitext finetune`` does it.

    ``encoder`` is a model that comes with psitext, a run or model folder, ``hf:<folder or hub id>``, a Model, or a
    family that starts from nothing: "rac", "recurrent", "vectors", "qcls", "bert", "qbert", "cvbert". ``head`` is
    "affine", "measurement" or "modulus", ``pool`` is "cls", "mean" or "pooled"; None is what is usual for the encoder.
    ``epochs``, ``lr``, ``batch_size`` (texts) and ``max_len`` (tokens) are the recipe's where they are None.

    All rows are learnt from, and the last weights stay. With ``validation_fraction`` that share of them, evenly over
    the classes, is left out, chooses the best epoch and, from 50 rows on, calibrates the probabilities; it pays where
    such rows are many. ``random_state`` decides everything else: the same call gives the same model. ``settings`` are
    further keys of the recipe, as ``--set`` takes them. ``run_folder`` keeps the run, so that the same fit goes on
    from where it was stopped.

    Fitted: ``classes_``, ``model_`` (a ``psitext.Model``), ``n_features_in_`` and ``feature_names_in_`` where X had
    columns. X is a list, array or Series of texts, one column of them, or two columns of pairs.
    """

    classes_: npt.NDArray[Any]

    def fit(self, X: object, y: object) -> Self:
        """Train on n texts X and their classes y (n,). Errors: EstimatorError, a UserError and a ValueError."""
        given = targets(self, y)
        assert_all_finite(given, input_name="y")
        try:
            check_classification_targets(given)
            classes, numbers = np.unique(given, return_inverse=True)
        except TypeError:
            kinds = sorted({type(one).__name__ for one in given})
            raise EstimatorError(f"y mixes {' and '.join(kinds)}, which have no order; make them all strings") from None
        if len(classes) < 2:
            found = f"the one class {classes.tolist()[0]!r:.40}" if len(classes) else "no class"
            raise EstimatorError(f"y has {found}; a classifier needs two classes or more")
        names = [str(one) for one in classes.tolist()]  # plain strings, as a model folder has them
        task = Task(
            name="own texts",
            kind="classification",
            text="text",
            label="label",
            labels=tuple(names),
            metrics=("accuracy", "macro_f1"),
        )
        model = self._fitted(X, numbers, task, [names[number] for number in numbers])
        self.classes_, self.model_ = classes, model
        return self

    def decision_function(self, X: object) -> npt.NDArray[np.float64]:
        """(n, classes) logits; of two classes (n,) log-odds of the second."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_log_proba(self, X: object) -> npt.NDArray[np.float64]:
        """(n, classes) log-probabilities, in nats, classes in the order of ``classes_``."""
        return calibration.log_probs(self._scores(X))

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """(n, classes) probabilities, calibrated where there were rows for it."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: object) -> npt.NDArray[Any]:
        """(n,) the most probable classes."""
        check_is_fitted(self, "model_")
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])
