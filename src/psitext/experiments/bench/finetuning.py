"""Fine-tuning of a sentence classifier and the building of its batches, against BertForSequenceClassification and
DataCollatorWithPadding.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from psitext.assemble import build_encoder, build_head, task_score, usual_head
from psitext.encoders.bert import Bert, BertConfig
from psitext.errors import UserError
from psitext.experiments.bench.pretraining import BUILDS, BUILT, builds
from psitext.experiments.bench.racing import Course, our_step, race, their_step
from psitext.experiments.bench.timing import Measured, compare
from psitext.experiments.pretrain import make_tokenizer
from psitext.experiments.runs.recipes import FinetuneRecipe, PretrainRecipe, TokenizerConfig, resolve_recipe
from psitext.heads.affine import SequenceHead
from psitext.hf.bert import write_bert
from psitext.hf.opponents import Opponent, classifier
from psitext.model import load
from psitext.nn.numerics import Precision
from psitext.text.examples import Task
from psitext.text.supervised import SupervisedSource, encode_examples
from psitext.text.tasks import load_task, read_split
from psitext.text.tokenizer import Tokenizer
from psitext.train.network import Network
from psitext.train.optim import build_optimizer

EXAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class Classified:
    """A task's training examples, the encoder to fine-tune on them, and the recipe whose settings count."""

    name: str
    task: Task
    recipe: FinetuneRecipe
    source: SupervisedSource
    encoder: Bert


def read_task(data_dir: Path | None, init: str | None, examples: int = EXAMPLES) -> Classified:
    """SST-2 of the data folder where there is one, else the embedded reviews; ``init`` or a fresh BERT-mini."""
    task = load_task("toy-sentiment" if data_dir is None else "sst2")
    found = read_split(task, "train", data_dir, limit=examples).examples
    recipe = resolve_recipe("finetune", "finetune")
    assert isinstance(recipe, FinetuneRecipe)
    if init is None:
        tokenizer = make_tokenizer(TokenizerConfig(vocab_size=8_192), lambda: (example.text for example in found))
        encoder = build_encoder(_mini(tokenizer))
    else:
        model = load(init, pool="pooled")
        tokenizer, encoder = model.tokenizer, model.encoder
    if not isinstance(encoder, Bert):
        raise UserError(f"{init} is no BERT, which is what transformers is raced with")
    text = recipe.text.model_copy(update={"max_len": min(recipe.text.max_len, encoder.config.max_len)})
    return Classified(task.name, task, recipe, encode_examples(found, task, tokenizer, text), encoder)


def training_speed(data: Classified, course: Course, precision: Precision = "fp32") -> Measured:
    """Real tokens a second, ours in ``precision``, theirs in float32; same weights, texts and dropout."""
    head, opponent = _both(data)
    optim = data.recipe.train.optim
    encoder = copy.deepcopy(data.encoder)
    optimizer = build_optimizer(encoder, head, optim)
    ours = our_step(Network(encoder, head), optimizer, task_score(data.task), data.source, optim, precision)
    found = race(course, data.source.lengths(), ours, their_step(opponent, optim), optim)
    grouped = ", theirs grouped by length too" if course.their_pool > 1 else ""
    return found.measured(
        f"fine-tuning on {data.name}, {encoder.config.layers} layers of {encoder.config.width}, {precision}{grouped}",
        course,
    )


def building_speed(data: Classified, rounds: int, seed: int) -> Measured:
    """Batches a second."""
    _, opponent = _both(data)
    timing = compare(builds(data.source, opponent, rounds, seed), seed=seed)
    name = f"building fine-tuning batches of {BUILT}, {data.name}"
    return Measured(name, "batches/s", BUILDS / timing.ours, BUILDS / timing.theirs, timing.ratio)


def rows(source: SupervisedSource) -> list[dict[str, Any]]:
    """Every example as transformers' collator takes it."""
    assert source.label is not None
    found = []
    for first, last, label in zip(source.offsets[:-1], source.offsets[1:], source.label, strict=True):
        ids = source.ids[first:last].tolist()
        zeros = np.zeros(len(ids), dtype=int).tolist()  # single texts
        found.append({"input_ids": ids, "token_type_ids": zeros, "attention_mask": [1] * len(ids), "label": int(label)})
    return found


def _both(data: Classified) -> tuple[SequenceHead, Opponent]:
    """Our head, and their model of the same weights."""
    settings = data.recipe.head or usual_head(data.encoder.config, data.task)
    head = build_head(data.task, data.encoder, settings)
    assert isinstance(head, SequenceHead)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bert"
        write_bert(path, data.encoder, classifier=head, labels=data.task.labels, tokenizer=data.source.tokenizer)
        return head, classifier(path, rows(data.source))


def _mini(tokenizer: Tokenizer) -> BertConfig:
    """The shape of the recipe bert-mini, with the dropout that fine-tuning has."""
    recipe = resolve_recipe("pretrain", "bert-mini")
    assert isinstance(recipe, PretrainRecipe)
    usual = BertConfig()
    assert isinstance(recipe.encoder, BertConfig)
    return recipe.encoder.model_copy(
        update={
            "vocab_size": tokenizer.vocab_size,
            "dropout": usual.dropout,
            "attention_dropout": usual.attention_dropout,
        }
    )
