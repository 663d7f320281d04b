"""The floor of every table: answers that do not read the text.

Labels stay what they are in the examples: names for classes, floats for regression, tag names for words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from psitext.errors import UserError
from psitext.text.examples import Example


def majority(train: Sequence[Example], test: Sequence[Example]) -> list[str] | list[float]:
    """Answer every test example alike: the most frequent training label, or the mean of the scores.

    Among equally frequent labels the first in alphabetical order wins.
    """
    labels = training_labels(train)
    if isinstance(labels[0], float):
        mean = sum(float(label) for label in labels) / len(labels)
        return [mean] * len(test)
    return [_most_frequent(Counter(str(label) for label in labels))] * len(test)


def most_frequent_tags(train: Sequence[Example], test: Sequence[Example]) -> list[tuple[str, ...]]:
    """Each word's most frequent tag in ``train``; for an unknown word that of most words seen once."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for example in train:
        for word, tag in zip(example.words, example.tags, strict=True):
            seen[word][tag] += 1
    if not seen:
        raise UserError("the training examples hold no tagged words")
    best = {word: _most_frequent(tags) for word, tags in seen.items()}
    rare = Counter(best[word] for word, tags in seen.items() if tags.total() == 1) or Counter(best.values())
    unknown = _most_frequent(rare)
    return [tuple(best.get(word, unknown) for word in example.words) for example in test]


def training_labels(train: Iterable[Example]) -> list[str] | list[float]:
    """All labels as names, or all as floats; a missing or a mixed one is an error that names its place."""
    names: list[str] = []
    numbers: list[float] = []
    for example in train:
        if isinstance(example.label, str):
            names.append(example.label)
        elif example.label is not None:
            numbers.append(float(example.label))
        if example.label is None or (names and numbers):
            fault = "has no label" if example.label is None else f"has the label {example.label!r} of another kind"
            where = f"{example.source or 'training data'}, line {example.line}"
            raise UserError(f"{where} {fault}; training needs one kind of label")
    if not names and not numbers:
        raise UserError("there are no training examples")
    return names or numbers


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))
