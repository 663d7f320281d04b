"""Sentences to vectors, against sentence-transformers: same weights, texts and pooling, from text to array.

Both sort by length; psitext fills batches by tokens, sentence-transformers by 32 texts, its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from psitext.assemble import build_encoder
from psitext.encoders.bert import Bert, BertConfig
from psitext.errors import UserError
from psitext.experiments.bench.timing import Measured, compare
from psitext.experiments.pretrain import make_tokenizer
from psitext.experiments.runs.recipes import PretrainRecipe, TokenizerConfig, resolve_recipe
from psitext.hf.bert import write_bert
from psitext.hf.opponents import sentence_encoder
from psitext.model import TEXT, Model, Sentences, load, shipped, with_pool
from psitext.nn.numerics import FLOAT32_GAP
from psitext.text.supervised import TextConfig
from psitext.text.tasks import load_task, read_split
from psitext.train.network import Network

SENTENCES = 512  # of a round
POOLS = {"mean": "mean", "cls": "[CLS]"}
TINY = "bert-tiny"


@dataclass(frozen=True, slots=True)
class Encoded:
    """What is encoded, and by which model."""

    texts: Sequence[str]
    model: Model
    named: str

    def write(self, ours: Path, theirs: Path) -> None:
        """The model as a folder of psitext and, its weights in one of transformers, where [CLS] is the vector."""
        model = with_pool(self.model, "cls")
        assert isinstance(model.encoder, Bert)
        model.save(ours)
        write_bert(theirs, model.encoder, tokenizer=model.tokenizer)


def read(data_dir: Path | None, init: str | None, sentences: int = SENTENCES) -> Encoded:
    """Sentences of SST-2 where the data folder has it, else the embedded reviews; ``init``, or bert-tiny: the one that
    comes with psitext, or a fresh one of its recipe, since no time depends on what it has learnt.
    """
    task = load_task("toy-sentiment" if data_dir is None else "sst2")
    texts = [example.text for example in read_split(task, "train", data_dir, limit=sentences).examples]
    model = load(init or TINY) if init is not None or TINY in shipped.names() else fresh(texts)
    if not isinstance(model.encoder, Bert):
        raise UserError(f"{init} is no BERT, which is what sentence-transformers is raced with")
    shape = model.encoder.config
    return Encoded(texts, model, f"{task.name}, {shape.layers} layers of {shape.width}")


def fresh(texts: Sequence[str]) -> Model:
    """A BERT of the recipe bert-tiny that has learnt nothing, with a tokenizer of these texts."""
    recipe = resolve_recipe("pretrain", TINY)
    assert isinstance(recipe, PretrainRecipe)
    assert isinstance(recipe.encoder, BertConfig)
    tokenizer = make_tokenizer(TokenizerConfig(vocab_size=recipe.tokenizer.vocab_size), lambda: iter(texts))
    encoder = build_encoder(recipe.encoder.model_copy(update={"vocab_size": tokenizer.vocab_size}))
    text = TextConfig(max_len=min(128, recipe.encoder.max_len))
    return Model(Network(encoder, Sentences()).eval(), {TEXT: tokenizer}, text, facts={"name": TINY})


def encoding_speed(data: Encoded, rounds: int, seed: int) -> Iterator[Measured]:
    """Sentences a second, for every pool. Errors: AssertionError where the two sides find other vectors."""
    texts = list(data.texts)
    for pool, called in POOLS.items():
        model = with_pool(data.model, pool)
        with TemporaryDirectory() as folder:
            assert isinstance(model.encoder, Bert)
            write_bert(Path(folder) / "bert", model.encoder, tokenizer=model.tokenizer)
            theirs = sentence_encoder(Path(folder) / "bert", pool)
            gap = float(np.abs(model.encode(texts).numpy() - theirs(texts)).max())
            if not gap < FLOAT32_GAP:
                raise AssertionError(f"the vectors of the two sides differ by {gap:g}")
            sides = [partial(model.encode, texts)], [partial(theirs, texts)]
            timing = compare([sides] * (rounds + 1), seed=seed)
        yield Measured(
            f"encoding {data.named}, {called}, against sentence-transformers",
            "sentences/s",
            len(texts) / timing.ours,
            len(texts) / timing.theirs,
            timing.ratio,
        )
