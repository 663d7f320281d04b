"""Pre-training and the building of its batches, against BertForPreTraining and DataCollatorForLanguageModeling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.encoders.bert import Bert
from psitext.experiments.bench.racing import Course, our_step, race, their_step
from psitext.experiments.bench.timing import Measured, Steps, compare
from psitext.experiments.pretrain import make_tokenizer
from psitext.experiments.runs import corpus
from psitext.experiments.runs.recipes import CorpusConfig, PretrainRecipe, TokenizerConfig, resolve_recipe
from psitext.heads.pretraining import PretrainingHead
from psitext.hf.bert import write_bert
from psitext.hf.opponents import Opponent, pretrainer
from psitext.nn.numerics import Precision
from psitext.score.losses import pretraining
from psitext.text.batches import Ints, Source
from psitext.text.pretraining.source import PretrainingSource
from psitext.text.tokenizer import Tokenizer
from psitext.train.network import Network
from psitext.train.optim import build_optimizer

TOY, BOOKS = "toy:8000", "books/books_00.jsonl.gz"
BUILDS, BUILT = 20, 64  # batches built in a round, and sequences of each: about the 8,192 tokens of the recipe


@dataclass(frozen=True, slots=True)
class Text:
    """Tokenised text to pre-train on, and the recipe whose settings count."""

    name: str
    recipe: PretrainRecipe
    tokenizer: Tokenizer
    source: PretrainingSource


def read_text(data_dir: Path | None, folder: Path, recipe_name: str = "bert-mini", toy: str = TOY) -> Text:
    """A book shelf of the data folder where there is one, else the embedded corpus, as a token store in ``folder``."""
    books = data_dir is not None and (data_dir / BOOKS).is_file()
    parts = (CorpusConfig(files=(BOOKS if books else toy,), dir=str(data_dir) if books else None),)
    recipe = resolve_recipe("pretrain", recipe_name)
    assert isinstance(recipe, PretrainRecipe)
    tokenizer = make_tokenizer(TokenizerConfig(vocab_size=8_192), lambda: (s for s in corpus.read(parts) if s))
    store = corpus.store(parts, tokenizer, folder)
    return Text(
        "books" if books else "toy corpus", recipe, tokenizer, PretrainingSource(store, tokenizer, recipe.samples)
    )


def training_speed(text: Text, vocab_size: int, course: Course, precision: Precision = "fp32") -> Measured:
    """Real tokens a second, ours in ``precision``, theirs in float32, from the same weights on the same texts."""
    recipe, source = text.recipe, text.source
    encoder = build_encoder(recipe.encoder.model_copy(update={"vocab_size": vocab_size}))
    head = build_pretraining_head(encoder, recipe.head)
    assert isinstance(encoder, Bert)
    assert isinstance(head, PretrainingHead)
    with TemporaryDirectory() as folder:
        write_bert(Path(folder) / "bert", encoder, pretraining=head, tokenizer=text.tokenizer)
        opponent = pretrainer(Path(folder) / "bert", rows(source), source.config.mask)
    optim = recipe.train.optim
    optimizer = build_optimizer(encoder, head, optim)
    ours = our_step(Network(encoder, head), optimizer, pretraining(), source, optim, precision)
    found = race(course, source.lengths(0), ours, their_step(opponent, optim), optim)
    return found.measured(
        f"pre-training on {text.name}, V = {vocab_size:,}, {precision}",
        course,
    )


def building_speed(text: Text, rounds: int, seed: int) -> Measured:
    """Batches a second, masks and next-sentence labels included."""
    source = text.source
    encoder = build_encoder(
        text.recipe.encoder.model_copy(update={"vocab_size": text.tokenizer.vocab_size, "layers": 0})
    )
    with TemporaryDirectory() as folder:
        head = build_pretraining_head(encoder, text.recipe.head)
        assert isinstance(encoder, Bert)
        assert isinstance(head, PretrainingHead)
        write_bert(Path(folder) / "bert", encoder, pretraining=head, tokenizer=text.tokenizer)
        opponent = pretrainer(Path(folder) / "bert", rows(source), source.config.mask)
    timing = compare(builds(source, opponent, rounds, seed), seed=seed)
    return Measured(
        f"building pre-training batches of {BUILT}, {text.name}",
        "batches/s",
        BUILDS / timing.ours,
        BUILDS / timing.theirs,
        timing.ratio,
    )


def builds(source: Source, opponent: Opponent, rounds: int, seed: int) -> Iterator[tuple[Steps, Steps]]:
    """Rounds of building the same batches in both ways, one after the other."""

    def ours(batches: Sequence[Ints]) -> None:
        for batch in batches:
            source.build(batch, 0)

    def theirs(batches: Sequence[Ints]) -> None:
        for batch in batches:
            opponent.build(batch)

    for chunk in Course(rounds, BUILDS, BUILT, seed=seed).chunks(len(source.lengths(0))):
        batches = np.split(chunk, BUILDS)
        yield [partial(ours, batches)], [partial(theirs, batches)]


def rows(source: PretrainingSource) -> list[dict[str, Any]]:
    """Every sample of the first epoch as transformers' collator takes it."""
    table = source.table(0)
    found: list[dict[str, Any]] = []
    for samples in np.array_split(np.arange(len(table)), max(len(table) // 1_000, 1)):
        found += _rows(source, samples)
    return found


def _rows(source: PretrainingSource, samples: Ints) -> Iterator[dict[str, Any]]:
    lengths, ids, segments = source.texts(samples, 0)
    follows = source.table(0).next[samples]
    special = ~source.rule.maskable[ids]
    ends = np.cumsum(lengths)
    for end, length, label in zip(ends.tolist(), lengths.tolist(), follows.tolist(), strict=True):
        part = slice(end - length, end)
        yield {
            "input_ids": ids[part].tolist(),
            "token_type_ids": segments[part].tolist(),
            "attention_mask": [1] * length,
            "special_tokens_mask": special[part].astype(int).tolist(),
            "next_sentence_label": label if label >= 0 else -100,
        }
