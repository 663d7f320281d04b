"""Bag of words: tf-idf of words and word pairs into logistic regression, or into ridge regression for a
score.

The strongest reader that ignores word order beyond two neighbours; an encoder that does not beat it has
learnt no syntax. A pair of texts is read as both bags, their difference and product, and a few shares of
overlap (whose strength on MRPC and STS-B is well known). The strength of the regularisation is chosen on a
held-out tenth of the training examples, because a baseline that nobody tuned proves nothing. Nothing depends
on dev or test.

N: examples, F: features, K: classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from psitext import randomness
from psitext.baselines.majority import training_labels
from psitext.errors import UserError
from psitext.text.examples import Example

Matrix: TypeAlias = Any  # scipy.sparse CSR, (N, F) float64; scipy ships no types
Floats: TypeAlias = npt.NDArray[np.float64]

# A run of word characters or one sign; kana and kanji stand alone, so text without spaces has words, too.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])\w)+|[^\w\s]"
)
_NEGATIONS = frozenset(
    {"no", "not", "never", "nobody", "nothing", "none", "neither", "nor", "without", "t", "cannot"}  # don ' t
)
_STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # scikit-learn's C, inverse regularisation; ridge takes 1 / C
_MOST_STEPS = 2000
_NEVER = -1e9  # the logit of a class that training did not show
_RARE_FROM = 2000  # from this many training examples on, features of a single example are dropped


def words(text: str) -> list[str]:
    """Lower-cased words and signs."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Features:
    """The fitted vocabulary and idf weights, applied to single texts or pairs."""

    vectorizer: Any  # sklearn TfidfVectorizer
    pairs: bool  # of texts

    def __call__(self, examples: Sequence[Example]) -> Matrix:
        """Features (N, F) of the examples."""
        from scipy import sparse

        first = self.vectorizer.transform([example.text for example in examples])
        if not self.pairs:
            return first
        second = self.vectorizer.transform([example.pair or "" for example in examples])
        product = first.multiply(second)
        overlap = np.array([_overlap(words(example.text), words(example.pair or "")) for example in examples])
        cosine = np.asarray(product.sum(axis=1)).reshape(-1, 1)  # the rows have unit length
        dense = sparse.csr_matrix(np.hstack([overlap.reshape(len(examples), -1), cosine]))
        return sparse.hstack([first, second, abs(first - second), product, dense], format="csr")


@dataclass(frozen=True)
class BagOfWords:
    """A fitted baseline. ``labels`` is the class order of ``probs``; None for regression."""

    features: Features
    model: Any  # sklearn LogisticRegression or Ridge
    labels: tuple[str, ...] | None
    low: float  # range of the training scores, to which a regression is clipped
    high: float
    strength: float  # the chosen C

    def predict(self, examples: Sequence[Example]) -> list[str] | list[float]:
        """One label, or one score, per example."""
        if not examples:
            return []
        if self.labels is None:
            scores = _scores(self.model, self.features(examples), self.low, self.high)
            return [float(score) for score in scores]
        return [self.labels[index] for index in self.probs(examples).argmax(axis=1)]

    def probs(self, examples: Sequence[Example]) -> Floats:
        """Class probabilities (N, K) in the order of ``labels``; a class that training never saw has 0."""
        if self.labels is None:
            raise ValueError("a regression has no class probabilities")
        return np.exp(_log_probs(self.model, self.features(examples), len(self.labels)))


def fit(
    train: Sequence[Example],
    labels: Sequence[str] | None = None,
    seed: int = 0,
    *,
    cut: Callable[[str], list[str]] = words,
    longest: int = 2,
) -> BagOfWords:
    """Fit on labelled examples: names of classes give logistic regression, floats give ridge regression.

    labels: the class order; sorted names where it is not given. ``cut`` makes words of a text, of which up to
    ``longest`` in a row are a feature. Errors: an unlabelled example, mixed labels, a label outside ``labels``, no
    words at all.
    """
    gold = training_labels(train)
    features = _fit_features(train, cut, longest)
    matrix = features(train)
    if isinstance(gold[0], float):
        target: npt.NDArray[Any] = np.array(gold, dtype=np.float64)
        order = None
    else:
        order = tuple(labels) if labels is not None else tuple(sorted({str(label) for label in gold}))
        target = _class_ids([str(label) for label in gold], order)
    strength = _choose(matrix, target, order, seed)
    low, high = (float(target.min()), float(target.max())) if order is None else (0.0, 1.0)
    return BagOfWords(features, _fit_model(matrix, target, order, strength), order, low, high, strength)


def _fit_features(train: Sequence[Example], cut: Callable[[str], list[str]], longest: int) -> Features:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [text for example in train for text in (example.text, example.pair) if text is not None]
    vectorizer = TfidfVectorizer(
        tokenizer=cut,
        token_pattern=None,
        lowercase=False,
        ngram_range=(1, longest),
        sublinear_tf=True,
        min_df=2 if len(train) >= _RARE_FROM else 1,
    )
    try:
        vectorizer.fit(texts)
    except ValueError:
        raise UserError(f"the bag of words found no words in {len(train)} training examples") from None
    return Features(vectorizer, any(example.pair is not None for example in train))


def _choose(matrix: Matrix, target: npt.NDArray[Any], order: tuple[str, ...] | None, seed: int) -> float:
    """The strength with the least loss on a held-out tenth; 1.0 where nothing can be held out."""
    held = _held_out(target, order, seed)
    if not held.any():
        return 1.0
    best, least = _STRENGTHS[0], np.inf
    for strength in _STRENGTHS:
        model = _fit_model(matrix[~held], target[~held], order, strength)
        if order is None:
            guess = _scores(model, matrix[held], target[~held].min(), target[~held].max())
            loss = float(np.mean(np.square(guess - target[held])))
        else:
            log_probs = _log_probs(model, matrix[held], len(order))
            loss = -float(log_probs[np.arange(len(log_probs)), target[held]].mean())
        if loss >= least:
            break  # past the valley; the fits beyond it are the slow ones
        best, least = strength, loss
    return best


def _held_out(target: npt.NDArray[Any], order: tuple[str, ...] | None, seed: int) -> npt.NDArray[np.bool_]:
    """A mask (N,): every tenth example of each class in a keyed order, so the rest misses no class."""
    held = np.zeros(len(target), dtype=bool)
    shuffled = randomness.generator(seed, "bag-of-words").permutation(len(target))
    classes = np.zeros_like(target) if order is None else target
    for label in np.unique(classes):
        group = shuffled[classes[shuffled] == label]
        held[group[9::10]] = True
    return held


def _fit_model(matrix: Matrix, target: npt.NDArray[Any], order: tuple[str, ...] | None, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    if order is None:
        return Ridge(alpha=1 / strength).fit(matrix, target)
    if len(np.unique(target)) < 2:
        return int(target[0])  # one class only: the model is that class, which logistic regression cannot be
    return LogisticRegression(C=strength, max_iter=_MOST_STEPS).fit(matrix, target)


def _scores(model: Any, matrix: Matrix, low: float, high: float) -> Floats:
    return np.asarray(np.clip(model.predict(matrix), low, high))


def _log_probs(model: Any, matrix: Matrix, classes: int) -> Floats:
    """(N, classes) log probabilities; a class the model never saw has one so low that it never occurs."""
    from scipy.special import log_softmax

    logits = np.full((matrix.shape[0], classes), _NEVER)
    if isinstance(model, int):
        logits[:, model] = 0.0
    else:
        scores = model.decision_function(matrix)
        both = scores if scores.ndim == 2 else np.stack([np.zeros_like(scores), scores], axis=1)
        logits[:, model.classes_] = both
    return np.asarray(log_softmax(logits, axis=1))


def _class_ids(gold: Sequence[str], order: tuple[str, ...]) -> npt.NDArray[np.int64]:
    index = {name: place for place, name in enumerate(order)}
    strange = sorted(set(gold) - set(index))
    if strange:
        raise UserError(f"the training label {strange[0]!r} is none of: {', '.join(order)}")
    return np.array([index[name] for name in gold], dtype=np.int64)


def _overlap(first: list[str], second: list[str]) -> tuple[float, ...]:
    """What two texts have in common, in [0, 1]: words both ways, neighbours, numbers, negation, length."""
    one, two = set(first), set(second)
    neighbours = [set(pairwise(side)) for side in (first, second)]
    numbers = [{word for word in side if word[0].isdigit()} for side in (one, two)]
    return (
        _share(one & two, one | two),
        _share(one & two, one),
        _share(one & two, two),
        _share(neighbours[0] & neighbours[1], neighbours[0] | neighbours[1]),
        float(numbers[0] == numbers[1]),
        float(bool(one & _NEGATIONS) == bool(two & _NEGATIONS)),
        min(len(first), len(second)) / max(len(first), len(second), 1),
    )


def _share(part: set[Any], whole: set[Any]) -> float:
    return len(part) / len(whole) if whole else 0.0
