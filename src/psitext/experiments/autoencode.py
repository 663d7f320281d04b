"""Sentence spaces and language models, from sentences to a model folder.

Source: Li et al. 2020 (Optimus), section 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from psitext.assemble import SpaceConfig, SpaceEncoder, build_decoder, build_space
from psitext.config import recipe_hash
from psitext.encoders.bert import Bert
from psitext.encoders.vae import Vae, VaeConfig
from psitext.errors import UserError
from psitext.experiments.latents.monitor import latent_validation
from psitext.experiments.latents.start import first_layers, whitened
from psitext.experiments.pretrain import kept_tokenizer, make_tokenizer
from psitext.experiments.runs import corpus, ranks, rows
from psitext.experiments.runs.folder import WRITER, RunFolder
from psitext.experiments.runs.recipes import AutoencodeRecipe
from psitext.experiments.runs.training import train
from psitext.heads.decoding import CausalConfig, Decoder, DecoderConfig, DecodingHead
from psitext.model import TEXT, WRITTEN, Model, decoder_of, load, with_pool
from psitext.score.elbo import elbo
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer, learn
from psitext.text.twofold import Counts, gather, split
from psitext.train import checkpoint
from psitext.train.loop import Hook
from psitext.train.network import Network, parameter_count


def autoencode_run(recipe: AutoencodeRecipe, out: Path, hooks: Sequence[Hook] = ()) -> Model:
    """Train a recipe's space in ``out``, going on from what is there; returns the finished model."""
    folder = RunFolder(out)
    with folder.claimed(recipe) as found:
        return load(folder.model) if folder.finished else _trained(found, folder, hooks)


@dataclass(frozen=True)
class Start:
    """The two halves that a run starts from. A tokenizer is None where the run learns its own."""

    encoder: SpaceConfig
    decoder: DecoderConfig
    reader: Tokenizer | None
    writer: CausalTokenizer | None
    build: Callable[[SpaceConfig, DecoderConfig], tuple[SpaceEncoder, Decoder]]  # once the vocabularies are known


def _trained(recipe: AutoencodeRecipe, folder: RunFolder, hooks: Sequence[Hook]) -> Model:
    began = time.monotonic()
    start = _from_model(recipe) if recipe.init else _from_halves(recipe)
    with ranks.main_first():  # it makes both; the others, and a resumed run, find them made
        reads = start.encoder.family != "nothing"
        reader = kept_tokenizer(folder, lambda: start.reader or _reader(recipe)) if reads else None
        writer = _kept_writer(folder, start, recipe)
    sentences = gather(_texts(recipe), reader, writer, recipe.sentences)
    rows.check_texts(folder, sentences.texts)
    source, held_out = split(sentences, reader, writer, recipe.sentences, seed=recipe.train.seed)
    encoder, decoder = start.build(*_with_vocabularies(start, reader, writer, recipe))
    if recipe.freeze_decoder:
        decoder.freeze(recipe.freeze_decoder)
    network = Network(encoder, DecodingHead(decoder, noise=recipe.objective.noise))
    if recipe.whiten:
        whitened(network, source)
    score = elbo(recipe.objective, decoder.config.latent)
    judge = None if held_out is None else partial(latent_validation, held_out, recipe.objective)
    settled, counters = train(folder, recipe, network, score, source, judge, hooks)
    facts = {
        "name": recipe.name,
        "recipe": recipe_hash(settled),
        "parameters": parameter_count(network),
        "sentences": asdict(sentences.counts),
        "steps": counters.step,
        "best step": counters.best_step,
        "tokens trained on": counters.tokens,
        "training loss": None if counters.loss is None else round(counters.loss, 4),
        "notes": _notes(recipe, sentences.counts, held_out is None),
    }
    text = TextConfig(max_len=recipe.sentences.max_len)
    tokenizers: dict[str, Tokenizer | CausalTokenizer] = {**({TEXT: reader} if reader else {}), WRITTEN: writer}
    model = Model(network.eval(), tokenizers, text, decoder.config, facts=facts)
    if ranks.is_main():
        model.save(folder.model)
        seconds = round(time.monotonic() - began, 1)
        folder.finish({"facts": facts, "counters": asdict(counters), "seconds": seconds})
    ranks.wait()
    return model


def _notes(recipe: AutoencodeRecipe, counts: Counts, unjudged: bool) -> list[str]:
    """What a reader of the scores must know: what was left out, and that nothing judged the space."""
    left_out = [] if counts.kept == counts.read else [f"trained on {counts.in_words}"]
    if not unjudged or not recipe.sentences.held_out:
        return left_out
    return [
        *left_out,
        "no sentence could be held out, since there are too few different ones: nothing judged this model on text that "
        "it has not seen, and its last weights are kept; more text helps",
    ]


def _texts(recipe: AutoencodeRecipe) -> corpus.Texts:
    if not recipe.corpus:
        raise UserError("there are no sentences to train on; name files with --data (or a [[corpus]] table)")
    return corpus.read(recipe.corpus)


def _reader(recipe: AutoencodeRecipe) -> Tokenizer:
    return make_tokenizer(recipe.tokenizer, lambda: (text for text in _texts(recipe) if text is not None))


def _kept_writer(folder: RunFolder, start: Start, recipe: AutoencodeRecipe) -> CausalTokenizer:
    path = folder.path / WRITER
    if not path.exists():
        (start.writer or _writer(recipe)).save(path)
    return CausalTokenizer.load(path)


def _writer(recipe: AutoencodeRecipe) -> CausalTokenizer:
    wanted = recipe.writer
    if wanted.load:
        return CausalTokenizer.load(Path(wanted.load))
    if wanted.kind not in ("bpe", "words"):
        raise UserError(f"writer.kind is 'bpe' or 'words', not {wanted.kind!r}, which loses the spaces of a sentence")
    texts = (text for text in _texts(recipe) if text is not None)
    return learn(wanted.kind, texts, wanted.vocab_size, lowercase=wanted.lowercase)


def _with_vocabularies(
    start: Start, reader: Tokenizer | None, writer: CausalTokenizer, recipe: AutoencodeRecipe
) -> tuple[SpaceConfig, DecoderConfig]:
    """Both shapes with as many embeddings as their tokenizers have tokens; a checkpoint may have more, never fewer."""
    encoder, decoder = start.encoder, start.decoder
    if reader is not None and start.reader is None:
        size = {"vocab_size": reader.vocab_size}
        inside = {"trunk": encoder.trunk.model_copy(update=size)} if isinstance(encoder, VaeConfig) else size
        encoder = encoder.model_copy(update=inside)
    ends = {"bos": writer.bos, "eos": writer.eos, "pad": writer.pad}
    vocabulary = {} if start.writer is not None else {"vocab_size": writer.vocab_size}
    decoder = decoder.model_copy(update={**ends, **vocabulary})
    for what, config, key, before in (("encoder", encoder, "max_len", 0), ("decoder", decoder, "max_tokens", 1)):
        limit = getattr(recipe.sentences, key) + before  # what is written follows a mark that begins it
        if limit > config.max_len:
            raise UserError(
                f"sentences of {limit} tokens do not fit the {config.max_len} positions of the {what}; set "
                f"sentences.{key} to {config.max_len - before} at most"
            )
    return encoder, decoder


def _from_model(recipe: AutoencodeRecipe) -> Start:
    """A whole autoencoder, or a language model, to go on from."""
    assert recipe.init is not None
    given = load(recipe.init)
    head = given.network.head
    if not isinstance(head, DecodingHead):
        raise UserError(f"{recipe.init} is no autoencoder: it does not write; give it as --encoder")
    if recipe.encoder.family != "nothing" and head.decoder.config.latent == 0:
        raise UserError(f"{recipe.init} is a language model, which has no space to go on with; give it as --decoder")
    encoder: SpaceEncoder = given.network.encoder  # type: ignore[assignment]
    reader = given.tokenizer if encoder.config.family != "nothing" else None
    halves = (encoder, head.decoder)
    return Start(encoder.config, head.decoder.config, reader, given.writer, lambda first, second: halves)


def _from_halves(recipe: AutoencodeRecipe) -> Start:
    """A trunk and a decoder, each from a checkpoint or from nothing."""
    seed = recipe.train.seed
    encoder, decoder, reader, writer = recipe.encoder, recipe.decoder, None, None
    trunk: Bert | None = None
    if recipe.encoder_from:
        trunk, reader = _trunk(recipe)
        assert isinstance(encoder, VaeConfig)
        encoder = encoder.model_copy(update={"trunk": trunk.config})
    tensors = None
    if recipe.decoder_from:
        assert isinstance(decoder, CausalConfig)
        decoder, tensors, writer = _language_model(recipe.decoder_from, decoder)

    def build(first: SpaceConfig, second: DecoderConfig) -> tuple[SpaceEncoder, Decoder]:
        halves = build_space(first, seed), build_decoder(second, seed)
        if trunk is not None:
            assert isinstance(halves[0], Vae)
            checkpoint.load_tensors(halves[0].trunk, checkpoint.tensors_of(trunk), str(recipe.encoder_from))
        if tensors is not None:
            fresh = {name: value for name, value in checkpoint.tensors_of(halves[1]).items() if name in INJECTED}
            checkpoint.load_tensors(halves[1], tensors | fresh, str(recipe.decoder_from))
        return halves

    return Start(encoder, decoder, reader, writer, build)


INJECTED = ("memory.weight", "embedding.weight")  # what a language model has none of, and a decoder of a space has


def _trunk(recipe: AutoencodeRecipe) -> tuple[Bert, Tokenizer]:
    """The BERT of ``encoder_from``, of as many layers and with the sentence vector that the recipe asks for."""
    assert recipe.encoder_from is not None
    given = load(recipe.encoder_from, pool=recipe.pool)
    if isinstance(given.encoder, Vae):
        given = with_pool(given, recipe.pool or given.encoder.config.pool)
    if not isinstance(given.encoder, Bert):
        raise UserError(f"{recipe.encoder_from} is a {given.encoder.config.family}; a sentence space reads with a BERT")
    return first_layers(given.encoder, recipe.encoder_layers), given.tokenizer


def _language_model(source: str, wanted: CausalConfig) -> tuple[CausalConfig, dict[str, torch.Tensor], CausalTokenizer]:
    """The shape, weights and tokenizer of a causal language model, with the latent and injection that are wanted."""
    given = load(source)
    decoder = decoder_of(given)
    if not isinstance(decoder.config, CausalConfig):
        raise UserError(f"{source} writes with {decoder.config.in_words}; give a causal transformer")
    tensors = {name: value for name, value in checkpoint.tensors_of(decoder).items() if name not in INJECTED}
    own = {name: getattr(wanted, name) for name in ("latent", "injection", "init_std", "position_shift", "dropout")}
    return decoder.config.model_copy(update=own), tensors, given.writer
