"""Fine-tuning on a task or on a file of one's own, to a model folder and its scores."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor

from psitext.assemble import (
    HAVE_TOKENS,
    READ_TOKENS,
    balanced_weights,
    build_encoder,
    build_head,
    encoder_config,
    task_score,
    usual_head,
)
from psitext.config import recipe_hash
from psitext.encoders.automaton import Automaton
from psitext.encoders.bert import Bert
from psitext.encoders.rac import Rac
from psitext.encoders.vae import Nothing, Vae
from psitext.errors import UserError
from psitext.experiments.latents.start import first_layers
from psitext.experiments.lowresource.draws import per_label
from psitext.experiments.pretrain import kept_tokenizer, make_tokenizer
from psitext.experiments.runs import corpus, ranks, rows
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import CorpusConfig, FinetuneRecipe, LabelledConfig, LiftConfig
from psitext.experiments.runs.training import train
from psitext.experiments.runs.validation import task_metrics
from psitext.experiments.words import lend, lender
from psitext.explain.law import counted
from psitext.hf.lift import lift
from psitext.model import TEXT, Model, Sentences, evaluate_network, load, with_pool
from psitext.randomness import generator
from psitext.score import calibration
from psitext.text.batches import Ints
from psitext.text.examples import Example, Task, check_labels
from psitext.text.supervised import SupervisedSource, encode_examples
from psitext.text.tables import LIKE_DATA
from psitext.text.tasks import load_like, load_table, load_task, read_split
from psitext.text.tokenizer import Tokenizer
from psitext.train.loop import Hook
from psitext.train.network import Network, parameter_count


@dataclass(frozen=True, slots=True)
class Labelled:
    """A task's examples: the training split and every development split, by name."""

    task: Task
    train: list[Example]
    dev: dict[str, list[Example]]
    notes: tuple[str, ...] = ()  # what a reader of the scores must know: a partial file, a split made by rule


def finetune_run(recipe: FinetuneRecipe, out: Path, hooks: Sequence[Hook] = (), given: Labelled | None = None) -> Model:
    """Train a recipe's model in ``out``, going on from what is there; returns the finished model, with the best
    weights.

    ``given`` are rows in memory, in place of those that the recipe names. Without any to judge by, the last weights
    are the best.
    """
    folder = RunFolder(out)
    with folder.claimed(recipe) as found:
        if not folder.finished:
            return _trained(found, folder, hooks, given)
        if rows.recorded(folder) is not None:
            rows.check(folder, _splits(_rows(found, folder, given)))
        return load(folder.model)


def _rows(recipe: FinetuneRecipe, folder: RunFolder, given: Labelled | None) -> Labelled:
    """The rows of a run. Errors: rows that were in memory when it began, and are not now."""
    if given is not None:
        return given
    if recipe.task is None and recipe.data.train is None and rows.recorded(folder) is not None:
        raise UserError(
            f"the rows of the run in {folder.path} were in memory when it began, and no file has them; fit the same "
            "estimator again, with the same run_folder"
        )
    return read_labelled(recipe)


def _trained(recipe: FinetuneRecipe, folder: RunFolder, hooks: Sequence[Hook], given: Labelled | None) -> Model:
    began = time.monotonic()
    data = _rows(recipe, folder, given)
    rows.check(folder, _splits(data))
    task = data.task
    start = _start(recipe, data, folder)
    head = recipe.head or usual_head(start.encoder.config, task)
    network = Network(start.encoder, build_head(task, start.encoder, head, recipe.train.seed))
    text = recipe.text.model_copy(update={"max_len": min(recipe.text.max_len, start.encoder.config.max_len)})
    source = encode_examples(data.train, task, start.tokenizer, text)
    dev = {name: encode_examples(examples, task, start.tokenizer, text) for name, examples in data.dev.items()}
    if recipe.words_from is not None:
        lend(recipe.words_from, start.encoder, source)
    law = counted(source) if isinstance(start.encoder, Rac | Automaton) else None
    score = task_score(task, class_weights(recipe, source, task))
    judge = (lambda _: task_metrics(dev, task)) if dev else None
    recipe, counters = train(folder, recipe, network, score, source, judge, hooks)
    model = Model(network.eval(), {TEXT: start.tokenizer}, text, head, task, law=law)
    facts: dict[str, object] = {
        "name": recipe.name,
        "recipe": recipe_hash(recipe),
        "from": "nothing" if recipe.init is None else Path(recipe.init).name,
        **({} if recipe.words_from is None else {"words from": Path(recipe.words_from).name}),
        "scores": {name: evaluate_network(network, split, task) for name, split in dev.items()},
        "steps": counters.step,
        "best step": counters.best_step if dev else counters.step,
        "rows": {"train": len(data.train), **{name: len(examples) for name, examples in data.dev.items()}},
        "truncated": source.truncated,
        "parameters": parameter_count(network),
        "notes": data.notes,
    }
    if recipe.calibrate and data.dev and task.kind == "classification":
        model, facts["calibration"] = calibrated(model, next(iter(data.dev.values())))
    model = replace(model, facts=facts)
    if ranks.is_main():
        model.save(folder.model)
        folder.finish({**facts, "counters": asdict(counters), "seconds": round(time.monotonic() - began, 1)})
    ranks.wait()
    return model


def _start(recipe: FinetuneRecipe, data: Labelled, folder: RunFolder) -> Model:
    """The model that the run starts from, with the sentence vector that its head reads."""
    start = _from_nothing(recipe, data, folder) if recipe.init is None else starting_model(recipe)
    if data.task.kind in READ_TOKENS and start.encoder.config.family in HAVE_TOKENS:
        start = with_pool(start, "cls")  # their heads read tokens, and a pooler would never get a gradient
    return start


def _splits(data: Labelled) -> dict[str, list[Example]]:
    return {"train": data.train, **data.dev}


def read_labelled(recipe: FinetuneRecipe) -> Labelled:
    """The training and development examples that a recipe names, checked against each other."""
    data = recipe.data
    if data.train is not None:
        return _own_files(data)
    if recipe.task is None:
        raise UserError("name a task with --task, or a file with --data and --text, --label")
    task = load_task(recipe.task)
    folder = Path(data.dir) if data.dir else None
    names = judged_on(task)
    train = read_split(task, "train", folder)
    dev = {name: read_split(task, name, folder) for name in names}
    notes = [f"{name}: {note}" for name, split in {"train": train, **dev}.items() for note in split.notes]
    examples = {name: split.examples for name, split in dev.items()}
    return Labelled(task, limited(train.examples, data), examples, tuple(notes))


def judged_on(task: Task) -> tuple[str, ...]:
    """The development splits of a task. Errors: a task without any."""
    if not task.dev_splits:
        raise UserError(
            f"task {task.name!r} has no split 'dev' to judge a model by; give it files.dev, or [carve] with "
            'dev = { of = "train", share = 0.1 }'
        )
    return task.dev_splits


def _own_files(data: LabelledConfig) -> Labelled:
    assert data.train is not None
    if data.dev is not None and os.path.realpath(data.dev) == os.path.realpath(data.train):
        raise UserError(
            f"{data.dev} is given to train on and to judge by (--data, --dev), which would judge nothing; leave --dev "
            "out, and a tenth of the rows is kept for that"
        )
    train, task = load_table(data.train, text=data.text, pair=data.pair, label=data.label)
    if data.dev is None:
        # A tenth of the rows, chosen by a keyed draw, judges the rest.
        order = _order(len(train), data.seed)
        held = set(order[: max(len(train) // 10, 1)].tolist())
        dev = [example for index, example in enumerate(train) if index in held]
        train = [example for index, example in enumerate(train) if index not in held]
        known = {example.label for example in train}
        lost = [str(example.label) for example in dev if isinstance(example.label, str) and example.label not in known]
        if lost or not train:
            which = f"every row of the label {lost[0]!r}" if train else "its only row"
            raise UserError(
                f"{data.train} is too small to hold a tenth of it out to judge by, which takes {which}; give a file "
                "for that with --dev"
            )
    else:
        dev = load_like(data.dev, task, hint=LIKE_DATA)
    check_labels(train, dev)
    return Labelled(task, limited(train, data), {"dev": dev}, _empty(train, dev))


def _empty(train: Sequence[Example], dev: Sequence[Example]) -> tuple[str, ...]:
    """What is to be said of rows without a text, which are learnt from as they are."""
    counts = {"train": train, "dev": dev}
    empty = {name: sum(not one.text for one in some) for name, some in counts.items()}
    return tuple(
        f"{name}: {count:,} of {len(counts[name]):,} texts are empty" for name, count in empty.items() if count
    )


def limited(train: list[Example], data: LabelledConfig) -> list[Example]:
    """At most ``limit`` examples, or ``per_label`` of every label, in their order, chosen by the data seed."""
    if data.per_label is not None:
        return [train[index] for index in per_label([one.label for one in train], data.per_label, data.seed)]
    if data.limit is None or data.limit >= len(train):
        return train
    return [train[index] for index in sorted(_order(len(train), data.seed)[: data.limit].tolist())]


def starting_model(recipe: FinetuneRecipe) -> Model:
    """The model that a recipe names in ``init``; with ``fresh``, its architecture and tokenizer under new weights."""
    if recipe.encoder is not None:
        raise UserError("a recipe with init takes its encoder from there; leave out the [encoder] table")
    if recipe.init is None:
        raise UserError("there is no model to start from; name one with --init")
    model = lifted(_read(recipe.init, recipe), recipe.lift)
    if not recipe.fresh:
        return model
    encoder = build_encoder(model.encoder.config, recipe.train.seed)
    return replace(model, network=Network(encoder, model.network.head))


def _read(init: str, recipe: FinetuneRecipe) -> Model:
    """The model that is named, with the sentence vector and the layers that the recipe asks for."""
    model = load(init, pool=recipe.pool)
    if isinstance(model.network.encoder, Nothing):
        raise UserError(
            f"{init} is a language model, which reads no text into a state; give a BERT or a sentence space"
        )
    if recipe.pool == "pooled" and recipe.train.freeze and not recipe.fresh:
        _check_pooler(init)
    if recipe.encoder_layers is None:
        return model
    if not isinstance(model.encoder, Bert):
        raise UserError(
            f"encoder_layers is for a BERT, and {init} is a {model.encoder.config.family}; of a sentence space, "
            "pool = 'mean' or 'cls' gives the BERT that it reads with"
        )
    fewer = first_layers(model.encoder, recipe.encoder_layers)
    return Model(Network(fewer, Sentences()).eval(), model.tokenizers, model.text, facts=model.facts)


def _check_pooler(init: str) -> None:
    """Refuse to freeze a pooler that nobody has trained."""
    given = load(init).encoder
    inside = given.trunk if isinstance(given, Vae) else given
    if getattr(inside.config, "pool", None) != "pooled":
        raise UserError(
            f"{init} has no pooler, and one with fresh weights that train.freeze keeps says nothing; set pool to 'cls' "
            "or 'mean'"
        )


def lifted(model: Model, wanted: LiftConfig | None) -> Model:
    """The encoder of a model as a complex one that computes the same function, where that is asked; one that is of
    the family already stays as it is.
    """
    encoder = model.encoder
    if wanted is None or encoder.config.family == wanted.into:
        return model
    if not isinstance(encoder, Bert):
        raise UserError(f"only a real BERT can be made a {wanted.into}, and this model is a {encoder.config.family}")
    network = Network(lift(encoder, wanted.into, wanted.how), Sentences()).eval()
    return Model(network, model.tokenizers, model.text, facts=model.facts)


def _from_nothing(recipe: FinetuneRecipe, data: Labelled, folder: RunFolder) -> Model:
    """An encoder with fresh weights, and a tokenizer that is loaded or learnt from the training texts."""
    if recipe.encoder is None:
        raise UserError(
            "fine-tuning starts from --init (a run, a model, hf:<folder>) or from an [encoder] table in the recipe"
        )

    def made() -> Tokenizer:
        if recipe.words_from is not None:
            return lender(recipe.words_from).tokenizer
        return make_tokenizer(recipe.tokenizer, lambda: tokenizer_texts(recipe, data.train))

    with ranks.main_first():
        tokenizer = kept_tokenizer(folder, made)
    changes = {"vocab_size": tokenizer.vocab_size, "pool": recipe.pool or recipe.encoder.pool}
    config = encoder_config({**recipe.encoder.tree(), **changes}, recipe.name)
    return Model(Network(build_encoder(config, recipe.train.seed), Sentences()), {TEXT: tokenizer}, recipe.text)


def tokenizer_texts(recipe: FinetuneRecipe, train: Sequence[Example]) -> Iterator[str]:
    """What the tokenizer of an encoder from nothing is trained on: the training texts, or text that the recipe names,
    whose relative paths start from the data folder.
    """
    if not recipe.tokenizer_text:
        return texts_of(train)
    part = CorpusConfig(files=recipe.tokenizer_text, dir=recipe.data.dir)
    return (sentence for sentence in corpus.read([part]) if sentence is not None)


def texts_of(examples: Sequence[Example]) -> Iterator[str]:
    """Every text of the examples, second ones and tagged words included."""
    for example in examples:
        yield " ".join(example.words) if example.words else example.text
        if example.pair is not None:
            yield example.pair


def class_weights(recipe: FinetuneRecipe, source: SupervisedSource, task: Task) -> Tensor | None:
    """(K,) weights of the classes in the loss, or None."""
    wanted = recipe.class_weights
    if wanted == "none":
        return None
    if task.kind != "classification" or source.label is None:
        raise UserError(f"class_weights are for classification; {task.name} is a {task.kind}")
    if wanted == "balanced":
        return balanced_weights(source.label, len(task.labels))
    if len(wanted) != len(task.labels):
        raise UserError(
            f"class_weights has {len(wanted)} numbers for {len(task.labels)} labels: {', '.join(task.labels)}"
        )
    return Tensor(wanted)


def calibrated(model: Model, dev: Sequence[Example]) -> tuple[Model, Mapping[str, object]]:
    """The model with its temperature, and the calibration error on dev before and after, fitted and judged on halves.

    The shipped temperature is fitted on all of dev; the errors come from two-fold cross-fitting, so none is judged
    on the examples that chose its temperature.
    """
    source = model.source(dev, labelled=True)
    labels = source.label
    assert labels is not None
    logits = model.logits(dev)
    order = _order(len(labels), 0)
    halves = (order[::2], order[1::2])
    after = np.empty((len(labels), logits.shape[1]))
    for fit, judge in (halves, halves[::-1]):
        temperature = calibration.fit_temperature(logits[fit], labels[fit]) if len(fit) else 1.0
        after[judge] = np.exp(calibration.log_probs(logits[judge], temperature))
    before = np.exp(calibration.log_probs(logits))
    return replace(model, temperature=calibration.fit_temperature(logits, labels)), {
        "temperature": calibration.fit_temperature(logits, labels),
        "error_before": calibration.expected_calibration_error(before, labels),
        "error_after": calibration.expected_calibration_error(after, labels),
        "bins": [asdict(entry) for entry in calibration.reliability(after, labels)],
    }


def _order(count: int, seed: int) -> Ints:
    return generator(seed, "rows").permutation(count)
