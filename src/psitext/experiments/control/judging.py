"""How well sentences have the label that was asked for, and how good they are as sentences (the paper's table 6).

The label is judged by a classifier that learnt from other sentences than what wrote, and its own accuracy is told
beside: a judge that is right 94 times of 100 does not tell 97 from 99.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from psitext.baselines import bag_of_words
from psitext.errors import UserError
from psitext.experiments.control.data import Parts, key, words
from psitext.model import Model
from psitext.score.text import References, bleu, distinct, g_score, self_bleu
from psitext.text.examples import Example

Classify = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Judge:
    """A classifier with its own accuracy, and the sentences that others are compared with."""

    classify: Classify
    accuracy: float  # on the held-out sentences
    references: References
    seen: frozenset[str]  # sentences that what writes has read


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of all labels together, each with the same number of sentences. Shares from 0 to 1."""

    accuracy: float  # the label that was asked for is the one that the judge sees
    bleu: float  # 3-gram, smoothing method 1, against all held-out sentences of all labels
    self_bleu: float  # each against all others
    judge: float  # the judge's own accuracy
    distinct_1: float
    distinct_2: float
    different: float  # share of sentences that are not written twice
    copied: float  # share of sentences that stand in the training text, word for word
    length: float  # words, mean
    each: Mapping[str, float]  # accuracy by label

    @property
    def g(self) -> float:
        """Geometric mean of accuracy and BLEU."""
        return g_score(self.accuracy, self.bleu)

    def metrics(self) -> dict[str, float]:
        """The columns of a table, the paper's first."""
        return {
            "accuracy": self.accuracy,
            "bleu": self.bleu,
            "g": self.g,
            "self-bleu": self.self_bleu,
            "judge": self.judge,
            "distinct-1": self.distinct_1,
            "distinct-2": self.distinct_2,
            "different": self.different,
            "copied": self.copied,
            "words": self.length,
            **{f"accuracy {label}": value for label, value in self.each.items()},
        }


def judge_of(parts: Parts, classifier: Model | None = None) -> Judge:
    """A judge for a task's labels: tf-idf of words and pairs into logistic regression, trained on ``parts.judge``; or a
    fine-tuned model, which has to have learnt from other sentences than ``parts.train``.

    Errors: a model of other labels.
    """
    if classifier is None:
        fitted = bag_of_words.fit(parts.judge, parts.labels)

        def classify(texts: Sequence[str]) -> list[str]:
            return [str(label) for label in fitted.predict([Example(text) for text in texts])]

    else:
        own = classifier.asked().labels
        if set(own) != set(parts.labels):
            raise UserError(f"the judge knows the labels {', '.join(own)}, not {', '.join(parts.labels)}")

        def classify(texts: Sequence[str]) -> list[str]:
            return [str(answer.label) for answer in classifier.predict(list(texts))]

    said = classify([example.text for example in parts.held_out])
    right = [label == example.label for label, example in zip(said, parts.held_out, strict=True)]
    references = References.of(words(example.text) for example in parts.held_out)
    return Judge(classify, fmean(right), references, frozenset(key(example.text) for example in parts.train))


def judged(judge: Judge, written: Mapping[str, Sequence[str]]) -> Verdict:
    """Judge the sentences of each label. Errors: labels with different numbers of them, or none."""
    if len({len(texts) for texts in written.values()}) != 1:
        raise UserError("labels are judged by equal numbers of sentences each, one at least")
    texts = [text for some in written.values() for text in some]
    asked = [label for label, some in written.items() for _ in some]
    if not texts:
        raise UserError("labels are judged by equal numbers of sentences each, one at least")
    right = [one == other for one, other in zip(judge.classify(texts), asked, strict=True)]
    cut = [words(text) for text in texts]
    keys = [key(text) for text in texts]
    return Verdict(
        accuracy=fmean(right),
        bleu=fmean(bleu(cut, judge.references)),
        self_bleu=fmean(self_bleu(cut)),
        judge=judge.accuracy,
        distinct_1=distinct(cut),
        distinct_2=distinct(cut, 2),
        different=len(set(keys)) / len(keys),
        copied=fmean(one in judge.seen for one in keys),
        length=fmean(map(len, cut)),
        each={
            label: fmean(hit for hit, other in zip(right, asked, strict=True) if other == label) for label in written
        },
    )
