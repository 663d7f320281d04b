"""What goes into a model and what comes out: texts become examples, a network's output becomes an answer.

Letters: B texts, L tokens, D width, K classes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from psitext.errors import UserError
from psitext.score import calibration
from psitext.state import SentenceState, State
from psitext.text.batches import Batch
from psitext.text.examples import Example, Task
from psitext.text.supervised import SupervisedSource


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says of one text. Which fields are filled depends on the task's kind."""

    label: str | float  # class name, score, the tags, or the answer's text
    probability: float | None = None  # of that class, calibrated where the model is
    probabilities: Mapping[str, float] = field(default_factory=dict)
    tags: tuple[str, ...] = ()  # one a word; "" where the model did not read the word
    span: tuple[int, int] | None = None  # characters [start, end) of the passage
    cut: bool = False  # the text was longer than the model reads


def examples_of(texts: Sequence[str] | Sequence[Example], pairs: Sequence[str] | None) -> list[Example]:
    """Texts, or texts and second texts, as examples without labels; examples stay as they are."""
    if isinstance(texts, str) or isinstance(pairs, str):
        raise UserError("texts must be a list of strings, not one string: write [text]")
    for given in (texts, () if pairs is None else pairs):
        if not isinstance(given, Collection) or isinstance(given, Mapping):
            raise UserError(f"texts must be a list of strings, not a {type(given).__name__}")
    if not len(texts):
        raise UserError("there are no texts")
    if pairs is not None and len(pairs) != len(texts):
        raise UserError(f"there are {len(texts)} texts but {len(pairs)} second texts")
    return [_example(index, text, None if pairs is None else pairs[index]) for index, text in enumerate(texts)]


def _example(index: int, text: object, pair: object) -> Example:
    if isinstance(text, Example):
        return text
    for value in (text, "" if pair is None else pair):
        if not isinstance(value, str):
            raise UserError(f"text {index} is a {type(value).__name__}, not a string")
    return Example(text=str(text), pair=None if pair is None else str(pair), words=tuple(str(text).split()))


def check_pairs(task: Task, examples: Sequence[Example]) -> None:
    """Refuse pairs where the task has single texts, and the other way round."""
    wanted = task.pair is not None
    wrong = next((index for index, example in enumerate(examples) if (example.pair is not None) != wanted), None)
    if wrong is not None:
        need = "pairs of texts; give the second ones too" if wanted else "single texts, not pairs"
        raise UserError(f"text {wrong}: this model was trained on {need}")


def answer(
    task: Task, example: Example, output: npt.NDArray[Any], source: SupervisedSource, index: int, temperature: float
) -> Answer:
    """The network's output for sample ``index`` of a source, in the task's own terms."""
    cut = bool(source.cut[index])
    if task.kind == "regression":
        return Answer(float(output[0]), cut=cut)
    if task.kind == "tagging":
        tags = [""] * len(example.words)
        for word, tag in zip(source.words[index], output, strict=True):
            tags[word] = task.labels[tag]
        return Answer(" ".join(tags), tags=tuple(tags), cut=cut)
    if task.kind == "span":
        start, end = _characters(source.characters[index], output - int(source.first[index]))
        return Answer((example.pair or "")[start:end], span=(start, end), cut=cut)
    probs = np.exp(calibration.log_probs(output, temperature))
    best = int(probs.argmax())
    named = dict(zip(task.labels, map(float, probs), strict=True))
    return Answer(task.labels[best], float(probs[best]), named, cut=cut)


def _characters(ranges: npt.NDArray[Any], tokens: npt.NDArray[Any]) -> tuple[int, int]:
    """Characters [start, end) of the passage's tokens first to last; a passage without tokens has no answer."""
    return (int(ranges[tokens[0], 0]), int(ranges[tokens[1], 1])) if len(ranges) else (0, 0)


def with_tokens(predicted: object, state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    """(1 + L, D) the sentence vector of every sequence, then the states of its tokens; for ``train.predict``."""
    if not isinstance(state, SentenceState) or state.tokens is None:
        raise UserError("this model keeps no states of single tokens; a BERT or a QBERT does")
    rows, _ = batch.sequences(state.tokens)
    return [
        np.concatenate([vector[None], row[:length]])
        for vector, row, length in zip(_array(state.vector), _array(rows), batch.lengths.tolist(), strict=True)
    ]


def _array(values: Tensor) -> npt.NDArray[Any]:
    """On the CPU, float32 or complex64."""
    return np.asarray((values if values.is_complex() else values.float()).cpu().numpy())
