"""Scoring finished models: on a task's splits, on one's own file, beside the baselines, and for GLUE's server."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from psitext.baselines import bag_of_words, discocat, majority
from psitext.baselines.discocat.settings import DiscocatConfig
from psitext.errors import UserError
from psitext.experiments.finetune import read_labelled
from psitext.experiments.latents.bounds import Tell
from psitext.experiments.latents.records import Records, interrupted
from psitext.experiments.latents.report import Report, latent_report, sentences_for
from psitext.experiments.results import submission
from psitext.experiments.runs import corpus, rows
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import AutoencodeRecipe, CorpusConfig, FinetuneRecipe
from psitext.model import Model
from psitext.model.shipped import located
from psitext.nn.numerics import Precision
from psitext.randomness import generator
from psitext.score import metrics
from psitext.text.examples import Example, Task
from psitext.text.rows import HUB
from psitext.text.tasks import load_like, load_split, load_task
from psitext.text.twofold import SentencesConfig
from psitext.train.loop import Hook
from psitext.train.optim import OptimConfig, build_optimizer

Splits = Mapping[str, list[Example]]
TOLD_ON = 10_000  # sentences for mutual information and active units, whose ceiling log N is then the paper's


def task_of(model: Model, name: str | None) -> Task:
    """The task to score a model on; another one than it was trained for must have the same labels in the same order."""
    own = model.asked()
    if name is None:
        return own
    task = load_task(name)
    if (task.kind, task.labels) != (own.kind, own.labels):
        raise UserError(
            f"the model answers {own.name} ({', '.join(own.labels) or own.kind}), "
            f"not {task.name} ({', '.join(task.labels) or task.kind})"
        )
    return task


def labelled_splits(
    task: Task,
    split: str | Sequence[str] | None,
    data: str | None,
    data_dir: Path | None,
    columns: Mapping[str, str] | None = None,
    command: str = "psitext evaluate --model MODEL",
) -> dict[str, list[Example]]:
    """The examples to score on: the user's file, the named split or splits, or every development split.

    ``columns`` are those of the user's file (text, pair, label) where it has others than the file that was trained on;
    ``command`` is what the user typed, for the line that would be right.
    """
    if data is not None:
        if split:
            raise UserError(f"--split names a part of a task, and {data} (--data) is a file of your own; give one")
        return {Path(data).name: load_like(data, task.model_copy(update=dict(columns or {})))}
    if columns:
        option, name = next(iter(columns.items()))
        raise UserError(f"--{option} names a column ({name!r}) of a file of your own; name that file with --data")
    if not task.splits:
        raise UserError(
            f"this model was fine-tuned on a file of your own ({task.name}), which has no splits; name a labelled file "
            f"with --data, as in `{command} --data {own_columns(task)}`"
        )
    names = [split] if isinstance(split, str) else list(split or task.dev_splits)
    if not names:
        raise UserError(f"{task.name} has no dev split; name one with --split, or a file with --data")
    hidden = next((name for name in names if task.hides(name)), None)
    if hidden:
        raise UserError(
            f"the labels of {task.name}'s {hidden} are not published; --submission writes a file for GLUE's server"
        )
    return {name: load_split(task, name, data_dir) for name in names}


def own_columns(task: Task) -> str:
    """A file of one's own and the options that name its columns, as a command line has them."""
    named = {"text": task.text, "pair": task.pair, "label": task.label}
    options = [f"--{option} {shlex.quote(name)}" for option, name in named.items() if name is not None]
    return " ".join([shlex.quote(f"{task.name}.csv"), *options])


def rows_of(name: str, data_dir: Path | None) -> list[Example] | None:
    """The rows that the run which a model lies in was trained on, None where they are not to be had: of another model,
    or where the files are gone, hold others by now, or are the hub's, from which nothing is fetched for this.
    """
    folder = _run_of(name)
    recipe = folder.recipe()
    if not isinstance(recipe, FinetuneRecipe):
        return None
    if recipe.data.dir is None and data_dir is not None:
        recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"dir": str(data_dir)})})
    try:
        if any(file.startswith(HUB) for file in _files(recipe)):
            return None
        train, then = read_labelled(recipe).train, rows.recorded(folder)
    except UserError:
        return None
    return train if then is None or then["train"]["sha256"] == rows.fingerprint(train) else None


def _files(recipe: FinetuneRecipe) -> list[str]:
    """The files that a fine-tuning reads, as they are named."""
    if recipe.data.train is not None or recipe.task is None:
        return [name for name in (recipe.data.train, recipe.data.dev) if name is not None]
    return [file.path for files in load_task(recipe.task).files.values() for file in files]


def learnt(train: Sequence[Example], examples: Sequence[Example]) -> int:
    """How many of the examples have a text (or pair) that is among those of ``train``."""
    known = {(one.text, one.pair) for one in train}
    return sum((one.text, one.pair) in known for one in examples)


def learnt_file(name: str, path: str) -> str | None:
    """The sentence on a file that the run which a space lies in was trained on; None of any other."""
    recipe = _run_of(name).recipe()
    if not isinstance(recipe, AutoencodeRecipe) or not Path(path).is_file():
        return None
    parts = [part for whole in recipe.corpus for part in corpus.expanded(whole)]
    named = [(part, file) for part in parts for file in part.files if not file.startswith((corpus.TOY, corpus.HUB))]
    try:
        same = any(Path(path).samefile(one) for part, file in named for one in corpus.paths(part, file))
    except (OSError, UserError):  # text that is no longer there
        return None
    if not same:
        return None
    share = recipe.sentences.held_out
    held = f"{share:.2%}" if share < 1 else f"{share:,.0f}"
    return (
        f"{path} is text that the model was trained on, but for {held} of the sentences, which were held out; what a "
        "model scores on such text says little of new sentences"
    )


def baseline_rows(task: Task, splits: Splits, data_dir: Path | None) -> list[dict[str, Any]]:
    """Majority and bag of words, trained on the task's train split and scored like the model."""
    return baseline_scores(task, load_split(task, "train", data_dir), splits)


def baseline_scores(task: Task, train: list[Example], splits: Splits) -> list[dict[str, Any]]:
    """One row for every baseline and split, with the task's metrics."""
    rows = []
    for split, examples in splits.items():
        for name, predicted in baseline_predictions(task, train, examples).items():
            scores = metrics.evaluate(task.metrics, predicted, gold(task, examples))
            rows.append({"baseline": name, "split": split, **scores, "collapsed": metrics.collapsed(predicted)})
    return rows


def baseline_predictions(task: Task, train: list[Example], examples: list[Example]) -> dict[str, np.ndarray[Any, Any]]:
    """What each baseline says, as numbers: class ids in the task's order, or scores."""
    if task.kind == "tagging":
        tags = majority.most_frequent_tags(train, examples)
        return {"most frequent tag": np.asarray([task.labels.index(tag) for row in tags for tag in row])}
    if task.kind == "span":
        return {}
    bag = bag_of_words.fit(train, task.labels or None).predict(examples)
    return {"majority": numbers(task, majority.majority(train, examples)), "bag of words": numbers(task, bag)}


def graded(name: str, data_dir: Path | None) -> tuple[Task, list[Example], dict[str, list[Example]]]:
    """A task, its training examples, and every development and test split whose labels are known."""
    task = load_task(name)
    names = [split for split in task.splits if not split.startswith("train") and not task.hides(split)]
    wanted = [split for split in names if split in task.dev_splits or split.startswith("test")]
    return task, load_split(task, "train", data_dir), {split: load_split(task, split, data_dir) for split in wanted}


def discocat_scores(
    task: Task,
    train: list[Example],
    splits: Splits,
    config: DiscocatConfig,
    seed: int,
    hooks: Sequence[Hook] = (),
    out: Path | None = None,
) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Train a DisCoCat with CAdamW; for every split its scores, and how much of the texts it could read.

    ``out`` is a folder to keep the model in.
    """
    discocat.require()
    from psitext.baselines.discocat import fitting, folder

    if task.kind != "classification":
        raise UserError(f"DisCoCat answers with labels; {task.name} is a {task.kind}")
    optim = OptimConfig(kind="cadamw", lr=config.lr, weight_decay=config.weight_decay)
    fitted = fitting.fit(train, task.labels, config, lambda net: build_optimizer(net, nn.Module(), optim), seed, hooks)
    if out is not None:
        folder.save(fitted, out)
    scores = {}
    for split, examples in splits.items():
        predicted = numbers(task, fitted.predict(examples))
        found = metrics.evaluate(task.metrics, predicted, gold(task, examples))
        scores[split] = ({**found, "collapsed": float(metrics.collapsed(predicted))}, fitted.reach(examples))
    return scores


def gold(task: Task, examples: list[Example]) -> np.ndarray[Any, Any]:
    """The right answers as numbers."""
    if task.kind == "tagging":
        return np.asarray([task.labels.index(tag) for example in examples for tag in example.tags])
    return numbers(task, [example.label for example in examples])


def numbers(task: Task, labels: Any) -> np.ndarray[Any, Any]:
    """Labels as class ids in the task's order, scores as they are."""
    if task.kind == "regression":
        return np.asarray(labels, dtype=np.float64)
    index = {name: number for number, name in enumerate(task.labels)}
    return np.asarray([index[label] for label in labels], dtype=np.int64)


def judged_space(
    model: Model,
    part: CorpusConfig,
    *,
    sentences: int = 500,
    draws: int = 100,
    told: int = TOLD_ON,
    seed: int = 0,
    precision: Precision = "fp32",
    limits: SentencesConfig | None = None,
    folder: Path | None = None,
    tell: Tell = lambda done, of: None,
) -> Report:
    """A sentence space, or a language model, on sentences that it has not seen: the bound on ``sentences`` of them,
    what latents tell on ``told``, as many as the paper has; which, a draw keyed by 0 says, the same for every model.

    ``seed`` is that of the bound's draws; ``limits`` says which sentences are too long, as in training; ``folder``
    keeps the bounds that are done. Errors: Stopped at Ctrl-C, with what is kept; a ``folder`` that is a file or holds
    something else.
    """
    if sentences < 2:
        raise UserError(f"a space is judged on at least two sentences, not on {sentences}")
    Records(folder, "").check()
    texts = [text for text in corpus.read([part]) if text is not None]
    kept = sentences_for(model, texts, limits).sentences
    order = generator(0, "judged").permutation(len(kept.texts)).tolist()
    some = [kept.texts[at] for at in sorted(order[:sentences])]
    more = [kept.texts[at] for at in sorted(order[:told])]
    how: Any = {"k": draws, "seed": seed, "precision": precision, "limits": limits, "folder": folder, "tell": tell}
    try:
        found = latent_report(model, some, mi_texts=more, **how)
    except KeyboardInterrupt:
        raise interrupted(folder) from None
    return replace(found, counts=kept.counts)


def trained_limits(name: str) -> SentencesConfig | None:
    """Which sentences the run that a model lies in has kept, so that a space is judged on such as it has learnt; None
    where no such run is there to ask.
    """
    recipe = _run_of(name).recipe()
    return recipe.sentences.model_copy(update={"limit": None}) if isinstance(recipe, AutoencodeRecipe) else None


def _run_of(name: str) -> RunFolder:
    """The folder of the run that a model lies in, or where there would be one."""
    place = located(name)
    inside = RunFolder(place.parent)  # of a run's model, named by itself
    return inside if place == inside.model else RunFolder(place)


def write_submission(models: Mapping[str, Model], path: Path, data_dir: Path | None) -> tuple[str, ...]:
    """GLUE's zip for the hidden test splits of some tasks; returns the names of the files in it."""
    tables = {}
    for name, model in models.items():
        task = load_task(name)
        for split in (split for split in task.splits if split.startswith("test")):
            entry = submission_name(name, split)
            answers = [answer.label for answer in model.predict(load_split(task, split, data_dir))]
            tables[entry] = submission.table(entry, answers, label_values=task.label_values)
    if not tables:
        raise UserError("none of these tasks has a hidden test split to submit")
    submission.write_zip(path, tables)
    return tuple(submission.ENTRIES[name].file for name in tables)


def submission_name(task: str, split: str) -> str:
    """The name of GLUE's entry: MNLI has two."""
    if task == "mnli":
        return "mnli-mm" if "mismatched" in split else "mnli-m"
    return task
