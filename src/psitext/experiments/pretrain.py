"""Pre-training from text files to a model folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.config import recipe_hash
from psitext.experiments.runs import corpus
from psitext.experiments.runs.folder import TOKENIZER, TOKENS, RunFolder
from psitext.experiments.runs.recipes import PretrainRecipe, TokenizerConfig
from psitext.experiments.runs.training import Stopped, train
from psitext.experiments.runs.validation import pretraining_losses
from psitext.model import TEXT, Model, load
from psitext.score.losses import pretraining
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
    frozen = folder.claim(recipe)
    if folder.finished:
        return load(folder.model)
    recipe = frozen if isinstance(frozen, PretrainRecipe) else recipe
    tokenizer = _tokenizer(recipe, folder)
    train_source, held_out = split(
        corpus.store(recipe.corpus, tokenizer, out / TOKENS),
        tokenizer,
        recipe.samples,
        seed=recipe.train.seed,
    )
    recipe = recipe.model_copy(
        update={"encoder": recipe.encoder.model_copy(update={"vocab_size": tokenizer.vocab_size})}
    )
    network = _network(recipe)
    score = pretraining(recipe.head.next_sentence)
    validation = None if held_out is None else partial(pretraining_losses, held_out, score)
    recipe, outcome = train(folder, recipe, network, score, train_source, validation, hooks, resumed=frozen is not None)
    if not outcome.finished:
        raise Stopped(out, outcome.counters.step)
    facts = {
        "name": recipe.name,
        "recipe": recipe_hash(recipe),
        "parameters": parameter_count(network),
        "steps": outcome.counters.step,
        "tokens trained on": outcome.counters.tokens,
        "training seconds": round(outcome.counters.seconds, 1),
        "training loss": round(outcome.loss, 4),
    }
    text = TextConfig(max_len=recipe.encoder.max_len)
    model = Model(network.eval(), {TEXT: tokenizer}, text, recipe.head, facts=facts)
    model.save(folder.model)
    folder.finish({"facts": facts, "counters": asdict(outcome.counters), "data": asdict(train_source.report(0))})
    return model


def _network(recipe: PretrainRecipe) -> Network:
    encoder = build_encoder(recipe.encoder, recipe.train.seed)
    network = Network(encoder, build_pretraining_head(encoder, recipe.head, recipe.train.seed))
    if recipe.init:
        given = load(recipe.init)
        checkpoint.load_tensors(encoder, checkpoint.tensors_of(given.encoder), recipe.init)
        if type(given.network.head) is type(network.head):
            checkpoint.load_tensors(network.head, checkpoint.tensors_of(given.network.head), recipe.init)
    return network


def _tokenizer(recipe: PretrainRecipe, folder: RunFolder) -> Tokenizer:
    """The run's own tokenizer, made once; a resumed run reads the one it started with."""
    path = folder.path / TOKENIZER
    if path.exists():
        return Tokenizer.load(path)
    if recipe.init:
        tokenizer = load(recipe.init).tokenizer
    else:
        tokenizer = make_tokenizer(recipe.tokenizer, lambda: (s for s in corpus.read(recipe.corpus) if s is not None))
    tokenizer.save(path)
    return tokenizer


def make_tokenizer(config: TokenizerConfig, texts: Callable[[], Iterable[str]]) -> Tokenizer:
    """Load the tokenizer that the settings name, or train one on ``texts()``."""
    if config.load:
        return Tokenizer.load(Path(config.load))
    return train_tokenizer(config.kind, texts(), config.vocab_size, lowercase=config.lowercase)
