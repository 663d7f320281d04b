"""What a run is made of: the two kinds of recipe, checked as a whole before anything is read or built."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from psitext.assemble import HAVE_TOKENS, EncoderConfig, HeadConfig, SpaceConfig
from psitext.config import Config, build, merged, read_recipe, read_toml, with_overrides
from psitext.encoders.bert import BertConfig
from psitext.encoders.vae import VaeConfig
from psitext.encoders.words import WordsConfig
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig, DecoderConfig
from psitext.heads.pretraining import PretrainingConfig as PretrainingHeadConfig
from psitext.score.dialog import FusionConfig, MethodConfig
from psitext.score.elbo import ObjectiveConfig
from psitext.text.dialogs import DialogsConfig
from psitext.text.pretraining.source import PretrainingConfig as SamplesConfig
from psitext.text.supervised import TextConfig
from psitext.text.twofold import SentencesConfig
from psitext.train.settings import TrainConfig


class CorpusConfig(Config):
    """A part of the text to pre-train on: files of one layout."""

    files: tuple[str, ...]  # paths and patterns (books/*.txt), hub:<name>, or toy:<stories> for the embedded corpus
    dir: str | None = None  # what relative paths start from; None = the data folder, where one is given
    column: str = "text"  # by name, or by number from 1 in tables without a header
    lines: bool = False  # a line, or a field of a table, is one sentence, however many stops it has
    tidy: bool = False  # spaces before punctuation, which tokenised text has, are taken out
    unwrap: bool = False  # join hard-wrapped lines of plain text


class TokenizerConfig(Config):
    """The tokenizer: one to load, or one to train on the run's own text."""

    load: str | None = None  # vocab.txt, tokenizer.json or a folder with either
    kind: Literal["wordpiece", "bpe", "words", "plain-words"] = "wordpiece"
    vocab_size: int = Field(default=8_192, ge=32)
    lowercase: bool = True


class PretrainRecipe(Config):
    """Pre-training: masked words, and next sentences or sentence order."""

    verb: Literal["pretrain"] = "pretrain"
    name: str = "pretrain"
    corpus: tuple[CorpusConfig, ...] = ()
    tokenizer: TokenizerConfig = TokenizerConfig()
    encoder: EncoderConfig = BertConfig()
    head: PretrainingHeadConfig = PretrainingHeadConfig()
    samples: SamplesConfig = SamplesConfig()
    train: TrainConfig = TrainConfig(epochs=1, batch_tokens=8_192)
    init: str | None = None  # go on from this model's weights and tokenizer; its sizes are then the encoder's

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.encoder.family not in HAVE_TOKENS:
            raise ValueError(
                f"a {self.encoder.family} encoder keeps no states of words in their context, so there is nothing to "
                "pre-train"
            )
        if self.encoder.family == "bert" and self.head.logits == "modulus":
            raise ValueError("head.logits = 'modulus' is for complex encoders; a bert's logits are real")
        if self.head.next_sentence != (self.samples.pairs != "none"):
            raise ValueError(
                "head.next_sentence and samples.pairs contradict each other: pairs give labels to a next-sentence head"
            )
        if not self.head.next_sentence and self.encoder.pool == "pooled" and self.init is None:
            raise ValueError(
                "nothing would train the pooler without next sentences; set encoder.pool to 'cls' or 'mean'"
            )
        if self.samples.max_len > self.encoder.max_len:
            raise ValueError(
                f"samples of {self.samples.max_len} tokens do not fit an encoder of {self.encoder.max_len} positions"
            )
        return self


class LabelledConfig(Config):
    """Labelled text: a task's own splits, or the user's files."""

    dir: str | None = None  # where a task's data sets lie
    train: str | None = None  # a file of one's own instead
    dev: str | None = None
    text: str = "text"
    pair: str | None = None
    label: str = "label"
    limit: int | None = Field(default=None, gt=0)  # at most so many training examples, drawn by the data seed
    per_label: int | None = Field(default=None, gt=0)  # or so many of every label, drawn likewise
    seed: int = Field(default=0, ge=0)  # of that draw and of a dev split made from train; not of the run

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if self.limit is not None and self.per_label is not None:
            raise ValueError("limit and per_label both say how many examples to train on; leave one of them out")
        return self


class LiftConfig(Config):
    """A real BERT made complex before it is fine-tuned: it computes the same function to begin with."""

    into: Literal["qbert", "cvbert"] = "qbert"  # the family decides how its states are read where no head is named
    how: Literal["zero-imaginary", "widely-linear"] = "zero-imaginary"  # as many dimensions, or half as many


class FinetuneRecipe(Config):
    """Fine-tuning: an encoder, from somewhere or from nothing, and a head for a task."""

    verb: Literal["finetune"] = "finetune"
    name: str = "finetune"
    task: str | None = None  # a task by name or TOML file; None with data.train
    data: LabelledConfig = LabelledConfig()
    init: str | None = None  # a run, a model folder, a model by name, or hf:<folder or hub id>
    fresh: bool = False  # with init: its architecture and tokenizer, but new weights (the control without pre-training)
    lift: LiftConfig | None = None  # with init: makes a real BERT complex
    encoder: EncoderConfig | None = None  # without init: an encoder from nothing
    tokenizer: TokenizerConfig = TokenizerConfig()  # without init: trained on the training texts
    tokenizer_text: tuple[str, ...] = ()  # or on this text, named as corpus.files of a pre-training names it
    # Without init, of an encoder that reads word vectors: a model whose static token vectors they are made of, and
    # whose tokenizer cuts the texts. They are frozen then, unless encoder.words says "joint".
    words_from: str | None = None
    pool: Literal["pooled", "cls", "mean"] | None = None  # what the sentence vector is; None = as the encoder has it
    encoder_layers: int | None = Field(default=None, gt=0)  # with init: only so many layers of a BERT, from below
    head: HeadConfig | None = None  # None = affine for a bert, measurement for a qbert or qcls, modulus for a cvbert
    text: TextConfig = TextConfig()
    train: TrainConfig = TrainConfig(epochs=3, batch_sequences=32)
    class_weights: Literal["none", "balanced"] | tuple[float, ...] = "none"
    calibrate: bool = True  # fit the temperature on dev

    @model_validator(mode="before")
    @classmethod
    def _given_words_stay(cls, tree: Any) -> Any:
        encoder = tree.get("encoder") if isinstance(tree, Mapping) else None
        if not isinstance(encoder, Mapping) or tree.get("words_from") is None:
            return tree
        return {**tree, "encoder": {"words": "frozen", **encoder}}

    @field_validator("class_weights", mode="before")
    @classmethod
    def _weights_of_classes(cls, value: Any) -> Any:
        if value in ("none", "balanced"):
            return value
        numbers = list(value) if isinstance(value, list | tuple) else []
        plain = all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)
        if not plain or not all(0 <= one < math.inf for one in numbers) or not any(numbers):
            raise ValueError("it takes 'none', 'balanced', or a list of numbers >= 0 that are not all 0")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.task is not None and self.data.train is not None:
            raise ValueError("task (--task) and data.train (--data) both say what to train on; leave one of them out")
        return self

    @model_validator(mode="after")
    def _words_fit(self) -> Self:
        if self.words_from is None:
            return self
        if self.init is not None:
            raise ValueError(
                "words_from (--words) gives an encoder from nothing its word vectors, and init (--init) names an "
                "encoder that has some; leave one of them out"
            )
        if not isinstance(self.encoder, WordsConfig):
            family = "none" if self.encoder is None else f"a {self.encoder.family}"
            raise ValueError(
                "words_from (--words) gives word vectors to a rac, automaton, recurrent or vectors encoder "
                f"(--encoder rac), and this recipe has {family}"
            )
        return self

    @model_validator(mode="after")
    def _tokenizer_fits(self) -> Self:
        there = {"init (--init)": self.init, "words_from (--words)": self.words_from}
        named = [name for name, value in {**there, "tokenizer.load": self.tokenizer.load}.items() if value is not None]
        if self.tokenizer_text and named:
            raise ValueError(
                f"tokenizer_text is what a tokenizer is trained on, and {named[0]} gives one that is there; leave one "
                "of them out"
            )
        return self

    @model_validator(mode="after")
    def _lift_fits(self) -> Self:
        if self.lift is not None and self.init is None:
            raise ValueError(
                "lift (--encoder) makes the real BERT complex that init (--init) names; a complex encoder from nothing "
                "is an [encoder] table with family = 'qbert'"
            )
        if self.lift is not None and self.pool == "pooled":
            raise ValueError("a complex encoder has no pooler; with lift (--encoder), pool is 'cls' or 'mean'")
        return self

    @model_validator(mode="after")
    def _layers_fit(self) -> Self:
        if self.encoder_layers is not None and self.init is None:
            raise ValueError(
                "encoder_layers counts the layers of the BERT that init (--init) names, which is not given"
            )
        return self


class AutoencodeRecipe(Config):
    """A sentence space, or a language model: an encoder with a posterior (or none), and a decoder.

    ``encoder_from`` names a BERT whose weights the trunk starts from (hf:<folder or hub id>, a run, a model folder),
    ``decoder_from`` a causal language model; the shapes and tokenizers are then theirs. ``init`` names an autoencoder
    to go on from, whole.
    """

    verb: Literal["autoencode"] = "autoencode"
    name: str = "autoencode"
    corpus: tuple[CorpusConfig, ...] = ()
    sentences: SentencesConfig = SentencesConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()  # reads
    writer: TokenizerConfig = TokenizerConfig(kind="bpe", lowercase=False)
    encoder: SpaceConfig = VaeConfig()
    encoder_from: str | None = None
    encoder_layers: int | None = Field(default=None, gt=0)  # only so many of its layers, from below
    pool: Literal["pooled", "cls", "mean"] | None = None  # what the posterior is made from; None = as the BERT has it
    decoder: DecoderConfig = CausalConfig()
    decoder_from: str | None = None
    freeze_decoder: int = Field(default=0, ge=0)  # so many layers of a causal decoder, from below, with its words
    objective: ObjectiveConfig = ObjectiveConfig()
    train: TrainConfig = TrainConfig(epochs=1, batch_sequences=64)
    init: str | None = None
    whiten: bool = False  # with init: latents scaled to variance 1, which changes no reconstruction; log-variances to 0

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.init is not None and (self.encoder_from or self.decoder_from):
            raise ValueError(
                "init is a whole autoencoder; leave out encoder_from (--encoder) and decoder_from (--decoder)"
            )
        if self.encoder.family != "vae" and self.encoder_from:
            raise ValueError(
                f"encoder_from (--encoder) is the trunk of a 'vae', and the encoder's family is {self.encoder.family!r}"
            )
        if self.decoder.kind != "causal" and self.decoder_from:
            raise ValueError(
                "decoder_from (--decoder) is a causal transformer; leave it out, or set decoder.kind to 'causal'"
            )
        if self.encoder_layers is not None and not self.encoder_from:
            raise ValueError("encoder_layers counts the layers of encoder_from (--encoder), which is not given")
        if self.whiten and not self.init:
            raise ValueError("whiten scales the latents of init, which is not given")
        if self.init is None and self.decoder.latent != self.encoder.latent:
            raise ValueError(
                f"the encoder makes latents of {self.encoder.latent} numbers, the decoder reads {self.decoder.latent}"
            )
        return self


class RespondRecipe(Config):
    """Responses to dialogues: a sentence space, and an encoder of contexts into it.

    ``init`` names the space, an autoencoder with a BERT; the context encoder starts as a copy of its encoder. With
    ``fresh`` only shapes and tokenizers are its own: the control without a pre-trained space.
    """

    verb: Literal["respond"] = "respond"
    name: str = "respond"
    init: str | None = None
    fresh: bool = False
    dialogs: DialogsConfig = DialogsConfig()
    style: tuple[CorpusConfig, ...] = ()  # text in whose style it shall be able to answer
    style_share: float = Field(default=1.0, gt=0, le=1)  # of that text; the rest is for judges of the style
    method: MethodConfig = FusionConfig()
    freeze_layers: int = Field(default=0, ge=0)  # of both encoders, from below, with their embeddings
    train: TrainConfig = TrainConfig(epochs=3, batch_sequences=64)

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.style and self.method.kind != "fusion":
            raise ValueError(
                f"a style is fused into the space; it goes with method.kind = 'fusion', not {self.method.kind!r}"
            )
        if self.style_share < 1 and not self.style:
            raise ValueError("style_share is a share of the text of style, which is not given")
        if self.train.freeze:
            raise ValueError(
                "train.freeze would keep the context encoder from learning; freeze_layers freezes its lower ones"
            )
        return self


Recipe = PretrainRecipe | FinetuneRecipe | AutoencodeRecipe | RespondRecipe
VERBS: dict[str, type[PretrainRecipe] | type[FinetuneRecipe] | type[AutoencodeRecipe] | type[RespondRecipe]] = {
    "pretrain": PretrainRecipe,
    "finetune": FinetuneRecipe,
    "autoencode": AutoencodeRecipe,
    "respond": RespondRecipe,
}


# A command and the verbs of the recipes that it runs.
COMMANDS = {"pretrain": ("pretrain", "autoencode"), "finetune": ("finetune",), "respond": ("respond",)}


def resolve_recipe(
    command: str, name: str | None, settings: Sequence[str] = (), given: Mapping[str, Any] | None = None
) -> Recipe:
    """A recipe by name or path, with what the caller gave laid over it, checked as a whole.

    ``given`` holds nested values (from flags or keyword arguments), laid over the file; ``settings`` (``a.b=c``)
    come last.
    """
    tree, given = read_recipe(name) if name else {}, given or {}
    verb = str(tree.get("verb", command))
    if verb not in COMMANDS[command]:
        raise UserError(f"{name} is a recipe to {verb}, not to {command}")
    own = written(name, settings)
    if verb == "pretrain" and {"init", "encoder"} <= given.keys():  # a model's sizes, in place of the recipe's
        given = merged(given, {"encoder": own.get("encoder", {})})
        tree.pop("encoder", None)
    tree = with_overrides(merged(tree, given), settings)
    tree = {"name": Path(name).stem if name else verb, "verb": verb, **tree}
    recipe = build(VERBS[verb], _of_one_latent(tree, own), name or f"psitext {verb}", settings)
    _all_is_used(recipe, own)
    return recipe


def written(name: str | None, settings: Sequence[str]) -> Mapping[str, Any]:
    """What a caller has written: a recipe of their own, without what it extends, and settings laid over it."""
    own = read_toml(Path(name)) if name and Path(name).suffix == ".toml" else {}
    return with_overrides(own, settings)


def _of_one_latent(tree: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """A space's recipe in which the width of the latent, where the caller has set it on one side, is both sides'."""
    said = {side: _at(own, f"{side}.latent") for side in ("encoder", "decoder")}
    given = [value for value in said.values() if value is not None]
    if len(given) != 1 or tree["verb"] != "autoencode" or _at(tree, "encoder.family") == "nothing":
        return tree
    return merged(tree, {side: {"latent": given[0]} for side in said})


# Keys of a recipe that say nothing once another one names a model that has its own, but for those that still count.
TAKEN: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "encoder_from": ("--encoder", ("encoder.trunk", "tokenizer"), ()),
    "decoder_from": (
        "--decoder",
        ("decoder", "writer"),
        ("latent", "injection", "init_std", "position_shift", "dropout", "kind"),
    ),
    "words_from": ("--words", ("tokenizer",), ()),
    "init": ("--init", ("encoder", "decoder", "tokenizer", "writer"), ("family", "kind")),
}


def _all_is_used(recipe: Recipe, own: Mapping[str, Any]) -> None:
    """Refuse sizes and tokenizers that a caller has written beside a model that has its own: they would be dropped."""
    for key, (option, tables, used) in TAKEN.items():
        source = getattr(recipe, key, None)
        if source is None or (key == "init" and not isinstance(recipe, AutoencodeRecipe)):
            continue
        for table in tables:
            found = _at(own, table)
            lost = [name for name in found if name not in used] if isinstance(found, Mapping) else []
            if lost:
                raise UserError(
                    f"{table}.{lost[0]} says nothing beside {key} ({option}): {source} comes with its own; leave it out"
                )


def _at(tree: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    found: Any = tree
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
