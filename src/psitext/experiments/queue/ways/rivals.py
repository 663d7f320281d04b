"""What a model is compared with: frozen states, a majority, bags of words, a grammar."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from psitext.baselines import bag_of_words, frozen
from psitext.experiments import evaluation
from psitext.experiments.finetune import starting_model, tokenizer_texts
from psitext.experiments.pretrain import make_tokenizer
from psitext.experiments.queue.plan import Bench, Job
from psitext.experiments.queue.ways.sharing import finetuning, line, splits
from psitext.experiments.results.lines import ResultLine
from psitext.score import metrics
from psitext.text.examples import Example
from psitext.text.supervised import encode_examples
from psitext.train.loop import Hook


def frozen_states(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A matched head on the states of the encoder as it comes."""
    began = time.monotonic()
    recipe = finetuning(job, bench)
    task, train, dev = splits(job, bench)
    model = starting_model(recipe)
    inside = _vectors(model, train)
    for split, examples in dev.items():
        outside = _vectors(model, examples)
        if task.kind == "regression":
            predicted: np.ndarray[Any, Any] = frozen.regress(inside, evaluation.gold(task, train), outside)
        else:
            predicted = frozen.classify(inside, evaluation.gold(task, train), outside)
        scores = metrics.evaluate(task.metrics, predicted, evaluation.gold(task, examples))
        scores["collapsed"] = float(metrics.collapsed(predicted))
        rows = {"train": len(train), split: len(examples)}
        yield line(job, split, scores, rows, time.monotonic() - began, {})


def _vectors(model: Any, examples: Sequence[Example]) -> np.ndarray[Any, Any]:
    pairs = None if examples[0].pair is None else [example.pair or "" for example in examples]
    vectors: np.ndarray[Any, Any] = model.encode([example.text for example in examples], pairs).to_real().numpy()
    return vectors


def baselines(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Majority and bag of words."""
    began = time.monotonic()
    task, train, dev = splits(job, bench)
    for row in evaluation.baseline_scores(task, train, dev):
        scores = {name: float(row[name]) for name in (*task.metrics, "collapsed")}
        rows = {"train": len(train), row["split"]: len(dev[row["split"]])}
        yield line(job, row["split"], scores, rows, time.monotonic() - began, {}, run=row["baseline"])


def words(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """Logistic regression on the very words that a model reads, the recipe's or the one that it starts from; then on
    pairs of neighbours, too.
    """
    recipe = finetuning(job, bench)
    task, train, others = splits(job, bench)
    if recipe.init is None:
        tokenizer = make_tokenizer(recipe.tokenizer, lambda: tokenizer_texts(recipe, train))
        encoder = recipe.encoder
    else:
        model = starting_model(recipe)
        tokenizer, encoder = model.tokenizer, model.encoder.config
    text = recipe.text
    if encoder is not None:
        text = text.model_copy(update={"max_len": min(text.max_len, encoder.max_len)})

    def read(examples: Sequence[Example]) -> list[Example]:
        source = encode_examples(examples, task, tokenizer, text)
        parts = (source.ids[first + 1 : last - 1] for first, last in pairwise(source.offsets.tolist()))
        return [
            replace(example, text=" ".join(tokenizer.tokens(part)))
            for example, part in zip(examples, parts, strict=True)
        ]

    inside, outside = read(train), {split: read(examples) for split, examples in others.items()}
    for longest, name in ((1, job.variant.name), (2, f"{job.variant.name}, and pairs")):
        began = time.monotonic()
        fitted = bag_of_words.fit(inside, task.labels or None, cut=str.split, longest=longest)
        for split, examples in outside.items():
            predicted = evaluation.numbers(task, fitted.predict(examples))
            scores = metrics.evaluate(task.metrics, predicted, evaluation.gold(task, examples))
            rows = {"train": len(train), split: len(examples)}
            notes = {"strength": fitted.strength}
            yield line(job, split, scores, rows, time.monotonic() - began, notes, run=name)


def discocat(job: Job, bench: Bench, hook: Hook) -> Iterator[ResultLine]:
    """A DisCoCat, trained with CAdamW."""
    began = time.monotonic()
    task, train, dev = splits(job, bench)
    found = evaluation.discocat_scores(task, train, dev, job.variant.discocat, job.seed, [hook])
    seconds = time.monotonic() - began
    for split, (scores, reach) in found.items():
        rows = {"train": len(train), split: len(dev[split])}
        yield line(job, split, scores, rows, seconds, reach)
