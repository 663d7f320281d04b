"""Pre-training from text files to a model folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.config import recipe_hash
from psitext.experiments.runs import corpus, ranks
from psitext.experiments.runs.folder import TOKENIZER, TOKENS, RunFolder
from psitext.experiments.runs.recipes import PretrainRecipe, TokenizerConfig
from psitext.experiments.runs.training import train
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
    }
    text = TextConfig(max_len=recipe.encoder.max_len)
    model = Model(network.eval(), {TEXT: tokenizer}, text, recipe.head, facts=facts)
    if ranks.is_main():
        model.save(folder.model)
        folder.finish({"facts": facts, "counters": asdict(counters), "data": asdict(source.report(0))})
    ranks.wait()
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
