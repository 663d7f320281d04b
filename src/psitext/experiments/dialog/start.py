"""What a run of responses starts from: the two halves of a sentence space, and a copy of its encoder for contexts."""

from __future__ import annotations

from dataclasses import dataclass

from psitext.assemble import build_decoder, build_space
from psitext.encoders.fusion import freeze_lower
from psitext.encoders.vae import Vae, VaeConfig
from psitext.errors import UserError
from psitext.experiments.runs.recipes import RespondRecipe
from psitext.heads.decoding import Decoder
from psitext.model import decoder_of, load
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.train import checkpoint

SPEAKERS = 2  # segments that a context encoder knows


@dataclass(frozen=True)
class Halves:
    """Two encoders into one space, and a decoder out of it."""

    sentences: Vae
    contexts: Vae
    decoder: Decoder
    reader: Tokenizer
    writer: CausalTokenizer


def halves(recipe: RespondRecipe) -> Halves:
    """The halves of ``recipe.init``, with its weights or, ``fresh``, without.

    Errors: no space, or one that is not read by a BERT; contexts, responses or frozen layers that do not fit it.
    """
    if recipe.init is None:
        raise UserError("responses start from a sentence space: name one with init (`psitext pretrain` makes one)")
    given = load(recipe.init)
    decoder = decoder_of(given)
    if not isinstance(given.encoder, Vae):
        raise UserError(
            f"{recipe.init} reads with a {given.encoder.config.family}; contexts take a BERT, that of a 'vae'"
        )
    _check(recipe, given.encoder.config, decoder)
    sentences, seed = given.encoder, recipe.train.seed
    if recipe.fresh:
        fresh = build_space(sentences.config, seed)
        assert isinstance(fresh, Vae)
        sentences, decoder = fresh, build_decoder(decoder.config, seed)
    contexts = _for_contexts(sentences, seed)
    for one in (sentences, contexts):
        freeze_lower(one.trunk, recipe.freeze_layers)
    return Halves(sentences, contexts, decoder, given.tokenizer, given.writer)


def _for_contexts(sentences: Vae, seed: int) -> Vae:
    """A copy of an encoder, with segments for two speakers where it has one."""
    trunk = sentences.config.trunk
    wider = trunk.model_copy(update={"segments": max(trunk.segments, SPEAKERS)})
    made = build_space(sentences.config.model_copy(update={"trunk": wider}), seed + 2)
    assert isinstance(made, Vae)
    new, old = checkpoint.tensors_of(made), checkpoint.tensors_of(sentences)
    kept = {name: value for name, value in old.items() if value.shape == new[name].shape}
    checkpoint.load_tensors(made, new | kept, "the encoder of the space")
    return made


def _check(recipe: RespondRecipe, encoder: VaeConfig, decoder: Decoder) -> None:
    dialogs = recipe.dialogs
    for what, setting, tokens, places in (
        ("contexts", "context_len", dialogs.context_len, encoder.max_len),
        ("responses that are read", "max_len", dialogs.max_len, encoder.max_len),
        ("responses that are written", "max_tokens", dialogs.max_tokens + 1, decoder.config.max_len),
    ):
        if tokens > places:
            raise UserError(f"{what} of {tokens} tokens do not fit {places} positions; set dialogs.{setting} lower")
    if recipe.freeze_layers > encoder.trunk.layers:
        raise UserError(f"freeze_layers is {recipe.freeze_layers}, and the encoder has {encoder.trunk.layers}")
