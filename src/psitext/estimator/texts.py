"""What scikit-learn hands over as X, as texts or pairs of texts, and as y, as a column without gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d, validate_data

from psitext.errors import UserError
from psitext.text.examples import Example

MISSING = ("NAType", "NaTType")  # what pandas puts where there is nothing, besides None and nan


class EstimatorError(UserError, ValueError):
    """A mistake in what an estimator was given. It is a ValueError too, which is what scikit-learn expects."""


@contextmanager
def as_sklearn_expects() -> Iterator[None]:
    """A UserError from further inside leaves as an EstimatorError, with the same sentence."""
    try:
        yield
    except EstimatorError:
        raise
    except UserError as error:
        raise EstimatorError(str(error)) from error


def fitted_texts(estimator: object, X: object) -> tuple[list[str], list[str] | None]:
    """The texts to fit on, and the second ones where X has two columns; the estimator learns their number and names."""
    table = _table(X)
    found = _columns(table)
    for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit
        if hasattr(estimator, name):
            delattr(estimator, name)
    if table.ndim == 2:
        validate_data(estimator, X, skip_check_array=True)
    return found


def further_texts(estimator: object, X: object, *, paired: bool) -> tuple[list[str], list[str] | None]:
    """The same for texts to predict: as many columns as those that were fitted on, under the same names."""
    table = _table(X)
    if table.ndim == 2 and hasattr(estimator, "n_features_in_"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
    first, second = _columns(table)
    if (second is not None) is not paired:
        was, now = ("pairs of texts", "single texts") if paired else ("single texts", "pairs of texts")
        raise EstimatorError(f"X holds {now}, and the estimator was fitted on {was}")
    return first, second


def targets(estimator: object, y: object) -> npt.NDArray[Any]:
    """(n,) y as an array. Errors: none given, or a gap in it; what scikit-learn says of other shapes."""
    if y is None:
        raise EstimatorError(f"a {type(estimator).__name__} requires y to be passed, but the target y is None")
    if not isinstance(y, str | bytes | Mapping) and not hasattr(y, "tocsr"):
        # Before numpy makes one type of a list's values, and of a nan beside strings the string 'nan'.
        try:
            given = np.asarray(y, dtype=object)
        except ValueError:
            raise EstimatorError("the rows of y differ in length; each is one target") from None
        for place, value in np.ndenumerate(given) if given.ndim else ():
            if _missing(value):
                raise EstimatorError(f"row {place[0]} of y is missing ({value}); leave such rows out")
            if isinstance(value, list | tuple | Mapping | set):
                raise EstimatorError(f"row {place[0]} of y is a {type(value).__name__}; it is one class or number")
    return np.asarray(column_or_1d(y, warn=True))


def examples_of(
    first: Sequence[str], second: Sequence[str] | None, labels: Sequence[str] | Sequence[float] | None = None
) -> list[Example]:
    """Texts and their labels as examples, whose lines are row numbers of X."""
    pairs = [None] * len(first) if second is None else second
    given = [None] * len(first) if labels is None else labels
    return [
        Example(text, pair, label, source="X", line=row)
        for row, (text, pair, label) in enumerate(zip(first, pairs, given, strict=True))
    ]


def _table(X: object) -> npt.NDArray[np.object_]:
    """(n,) or (n, columns) objects."""
    if isinstance(X, str | bytes):
        raise EstimatorError("X is one string; an estimator takes a list of texts: [text]")
    if isinstance(X, Mapping | set | frozenset) or hasattr(X, "tocsr"):
        raise EstimatorError(f"X is a {type(X).__name__}; give a list of texts, or one or two columns of them")
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:
        raise _uneven() from None
    if table.ndim not in (1, 2):
        raise EstimatorError(
            f"X is a {type(X).__name__} with {table.ndim} axes; give a list of texts, or one or two columns of them"
        )
    if not len(table):
        raise EstimatorError("X has no rows")
    return table


def _columns(table: npt.NDArray[np.object_]) -> tuple[list[str], list[str] | None]:
    columns = [table] if table.ndim == 1 else list(table.T)
    if len(columns) not in (1, 2):
        raise EstimatorError(f"X has {len(columns)} columns; texts are one column, pairs of texts are two")
    texts = [[_text(value, row) for row, value in enumerate(column)] for column in columns]
    return texts[0], texts[1] if len(texts) == 2 else None


def _text(value: object, row: int) -> str:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise EstimatorError(f"row {row} of X is no text: half of a surrogate pair stands alone in it") from None
        return str(value)
    if _missing(value):
        raise EstimatorError(f"row {row} of X has no text ({value}); leave such rows out, or fill them with ''")
    if isinstance(value, list | tuple):
        raise _uneven()
    raise EstimatorError(
        f"row {row} of X is {value!r:.40}, of type {type(value).__name__}, and no text; write it as a string"
    )


def _missing(value: object) -> bool:
    """None, nan, and what stands for them in frames."""
    return (
        value is None
        or type(value).__name__ in MISSING
        or (isinstance(value, float | np.floating) and math.isnan(value))
    )


def _uneven() -> EstimatorError:
    return EstimatorError("the rows of X differ in length; each is one text, or a pair of texts")
