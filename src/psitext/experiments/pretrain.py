"""Pre-training from text files to a model folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.config import Tree, merged, read_recipe, recipe_hash, with_overrides
from psitext.errors import UserError
from psitext.experiments.runs import corpus, ranks
from psitext.experiments.runs.folder import TOKENIZER, TOKENS, RunFolder
from psitext.experiments.runs.recipes import PretrainRecipe, Recipe, TokenizerConfig, resolve_recipe
from psitext.experiments.runs.training import train
from psitext.experiments.runs.validation import pretraining_losses
from psitext.heads.pretraining import PretrainingConfig, PretrainingHeads
from psitext.model import TEXT, Model, load
from psitext.score.losses import pretraining
from psitext.text.pretraining.source import PretrainingConfig as SamplesConfig
from psitext.text.pretraining.source import split
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train import checkpoint
from psitext.train.loop import Hook
from psitext.train.network import Network, parameter_count


def pretrain_run(recipe: PretrainRecipe, out: Path, hooks: Sequence[Hook] = ()) -> Model:
    """Train a recipe's model in ``out``, going on from what is there; returns the finished model."""
    folder = RunFolder(out)
    with folder.claimed(recipe) as found:
        return load(folder.model) if folder.finished else _trained(found, folder, hooks)


def _trained(recipe: PretrainRecipe, folder: RunFolder, hooks: Sequence[Hook]) -> Model:
    with ranks.main_first():  # it makes both; the others, and a resumed run, find them made
        tokenizer = kept_tokenizer(folder, lambda: _tokenizer(recipe))
        store = corpus.store(recipe.corpus, tokenizer, folder.path / TOKENS)
    source, held_out = split(store, tokenizer, recipe.samples, seed=recipe.train.seed)
    encoder = recipe.encoder.model_copy(update={"vocab_size": tokenizer.vocab_size})
    recipe = recipe.model_copy(update={"encoder": encoder})
    network = _network(recipe)
    score = pretraining(recipe.head.next_sentence)
    validation = None if held_out is None else partial(pretraining_losses, held_out, score)
    recipe, counters = train(folder, recipe, network, score, source, validation, hooks)
    facts = {
        "name": recipe.name,
        "recipe": recipe_hash(recipe),
        "parameters": parameter_count(network),
        "steps": counters.step,
        "tokens trained on": counters.tokens,
        "training loss": None if counters.loss is None else round(counters.loss, 4),
    } | _notes(recipe, len(store.documents) - 1, held_out is None)
    text = TextConfig(max_len=recipe.encoder.max_len)
    model = Model(network.eval(), {TEXT: tokenizer}, text, recipe.head, facts=facts)
    if ranks.is_main():
        model.save(folder.model)
        folder.finish({"facts": facts, "counters": asdict(counters), "data": asdict(source.report(0))})
    ranks.wait()
    return model


def _notes(recipe: PretrainRecipe, documents: int, unjudged: bool) -> dict[str, list[str]]:
    """What a reader of the model must know of its text."""
    if not unjudged or recipe.samples.held_out == 0:
        return {}
    have = "1 document" if documents == 1 else f"{documents} documents"
    return {"notes": [f"nothing was held out to judge by: the text has {have}; in plain text an empty line ends one"]}


def pretraining_recipe(name: str, settings: Sequence[str], given: Mapping[str, Any]) -> Recipe:
    """A recipe of the verb pretrain, as ``resolve_recipe`` has it; going on from a model, it is of the model's size."""
    tree = with_overrides(merged(read_recipe(name), given), settings)
    if tree.get("verb") == "pretrain" and isinstance(tree.get("init"), str):
        given = merged(given, {"init": tree["init"], **_begun(tree["init"])})
    return resolve_recipe("pretrain", name, settings, given)


def _begun(init: str) -> Tree:
    """What a recipe has of the model that it goes on from: the encoder's settings, how its words are read out, and
    samples that are not longer than it reads.
    """
    model = load(init)
    if model.writes:
        raise UserError(
            f"{init} writes: a recipe of its kind goes on from it, --config optimus-mini (a sentence space) or "
            "gpt2-mini (a language model)"
        )
    encoder, head = model.encoder.config, model.head
    tree: Tree = {"encoder": encoder.tree()}
    if isinstance(head, PretrainingConfig):
        tree["head"] = {"tied": head.tied, "logits": head.logits}
    if encoder.max_len < SamplesConfig().max_len:
        tree["samples"] = {"max_len": encoder.max_len}
    return tree


def _network(recipe: PretrainRecipe) -> Network:
    encoder = build_encoder(recipe.encoder, recipe.train.seed)
    head = build_pretraining_head(encoder, recipe.head, recipe.train.seed)
    if recipe.init:
        given = load(recipe.init)
        checkpoint.load_tensors(encoder, checkpoint.tensors_of(given.encoder), recipe.init)
        _go_on(head, given.network.head, recipe.init)
    return Network(encoder, head)


def _go_on(head: PretrainingHeads, given: nn.Module, origin: str) -> None:
    """Give a head the weights of what both have of the two predictions; what is left starts anew."""
    if isinstance(given, PretrainingHeads) and type(given) is type(head):
        checkpoint.load_tensors(head.words, checkpoint.tensors_of(given.words), origin)
        if head.next is not None and given.next is not None:
            checkpoint.load_tensors(head.next, checkpoint.tensors_of(given.next), origin)


def _tokenizer(recipe: PretrainRecipe) -> Tokenizer:
    if recipe.init:
        return load(recipe.init).tokenizer
    return make_tokenizer(recipe.tokenizer, lambda: (s for s in corpus.read(recipe.corpus) if s is not None))


def kept_tokenizer(folder: RunFolder, make: Callable[[], Tokenizer]) -> Tokenizer:
    """The run's own tokenizer, made once; a resumed run reads the one it started with."""
    path = folder.path / TOKENIZER
    if not path.exists():
        make().save(path)
    return Tokenizer.load(path)


def make_tokenizer(config: TokenizerConfig, texts: Callable[[], Iterable[str]]) -> Tokenizer:
    """Load the tokenizer that the settings name, or train one on ``texts()``."""
    if config.load:
        return Tokenizer.load(Path(config.load))
    return train_tokenizer(config.kind, texts(), config.vocab_size, lowercase=config.lowercase)
