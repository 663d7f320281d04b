"""A finished model on what it was not trained for, as it is: a circuit on other people's reviews, a space on sentences
that it has not read, and bag of words beside the circuit, learnt from the same reviews.

Letters: S sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from psitext.config import Config
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.latents.report import latent_report
from psitext.experiments.latents.telling import reconstruct
from psitext.experiments.runs import corpus
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model import Model
from psitext.randomness import generator
from psitext.text import toy
from psitext.text.examples import Example
from psitext.text.tasks import load_split, load_task
from psitext.train.network import parameter_count

GENERATED = "generated"  # a corpus of this name is made here: sentences of the embedded corpus that no run has read


class Judging(Config):
    """How a finished model is judged."""

    learnt_from: str | None = None  # a task whose training rows teach bag of words, in place of a model
    max_words: int = Field(default=14, gt=0)  # longer sentences are left out
    sentences: int = Field(default=500, gt=1)  # S, by a draw that is the same for every model
    draws: int = Field(default=50, gt=0)  # of each for the bound, K
    known: int = Field(default=24_000, gt=0)  # stories of the embedded corpus that were trained on
    limit: int | None = Field(default=None, gt=0)  # rows of a task's split


@dataclass(frozen=True, slots=True)
class Judged:
    """A result line's numbers, of one split."""

    run: str | None  # None: the variant's own name
    split: str
    scores: dict[str, float]
    rows: dict[str, int]
    notes: dict[str, Any]


def on_task(model: Model | None, task: str, splits: Sequence[str], how: Judging, data: Path | None) -> Iterator[Judged]:
    """A model's answers on another task of the same labels, or those of bag of words and majority that are learnt from
    ``how.learnt_from``. Errors: labels that are others or stand in another order.
    """
    wanted = load_task(task)
    if (model is None) == (how.learnt_from is None):
        raise UserError("either init or judging.learnt_from says what is judged on a task as it is")
    for split in splits or wanted.dev_splits:
        examples = load_split(wanted, split, data, limit=how.limit)
        if model is not None:
            scores = model.evaluate(examples) if evaluation.task_of(model, task) else {}
            yield Judged(None, split, scores, {split: len(examples)}, {"parameters": parameter_count(model.network)})
            continue
        taught, train = _teacher(str(how.learnt_from), data)
        if (taught.kind, taught.labels) != (wanted.kind, wanted.labels):
            raise UserError(f"{taught.name} and {task} have not the same labels, so one cannot teach the other")
        for row in evaluation.baseline_scores(wanted, train, {split: examples}):
            found = {name: float(row[name]) for name in (*wanted.metrics, "collapsed")}
            rows = {"train": len(train), split: len(examples)}
            yield Judged(f"{row['baseline']}, learnt from {taught.name}", split, found, rows, {})


def _teacher(task: str, data: Path | None) -> tuple[Any, list[Example]]:
    found = load_task(task)
    return found, load_split(found, "train", data)


def on_sentences(
    model: Model | None, name: str, splits: Sequence[str], how: Judging, data: Path | None
) -> Iterator[Judged]:
    """A space on S sentences of the corpus ``name`` (its test text), or on generated ones that no run has read.

    ``exact_match`` and ``token_accuracy_greedy``: of sentences written again from their means, as
    ``queue/rewriting.py`` counts them; the rest is the space's report. Errors: a model that is no space; no sentence.
    """
    if model is None:
        raise UserError("init says which space is judged on sentences")
    texts = unread(how) if name == GENERATED else _tests(name, data)
    short = [text for text in dict.fromkeys(texts) if 0 < len(text.split()) <= how.max_words]
    if len(short) < 2:
        raise UserError(f"{name} has no two sentences of at most {how.max_words} words to judge a space on")
    order = generator(0, "judged").permutation(len(short))[: how.sentences]
    some = [short[at] for at in sorted(order.tolist())]
    told = reconstruct(model, some)
    report = latent_report(model, some, k=how.draws)
    names = ("ppl_word", "ppl_token", "neg_elbo", "kl", "rec", "mi", "active_units", "token_accuracy")
    record = report.record()
    scores = {"exact_match": told.exact, "token_accuracy_greedy": told.token_accuracy}
    scores |= {name: record[name] for name in names}
    notes = {"parameters": parameter_count(model.network), "k": report.k, "max_words": how.max_words}
    yield Judged(None, "test", scores, {"test": report.sentences, "of": len(short)}, notes)


def unread(how: Judging) -> list[str]:
    """Sentences of other stories than the ``how.known`` first, without those that stand in these, too."""
    known = {sentence for story in toy.stories(how.known) for sentence in story}
    return [one for story in toy.stories(how.sentences * 4, seed=1) for one in story if one not in known]


def _tests(name: str, data: Path | None) -> list[str]:
    part = CorpusConfig(files=(f"corpus:{name}/test",), dir=None if data is None else str(data))
    return [text for text in corpus.read([part]) if text]


WAYS = {"as-is": on_task, "sentences": on_sentences}
