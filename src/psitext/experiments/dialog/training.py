"""Responses, from dialogues to a folder with two models: the space (``model/``) and the encoder of contexts
(``contexts/``).

Both are models like others: sentences can be sampled from the space, contexts encoded. A style leaves the latents of
its sentences beside them (``style.safetensors``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from psitext.config import recipe_hash
from psitext.errors import UserError
from psitext.experiments.dialog.methods import method_of, validation
from psitext.experiments.dialog.start import Halves, halves
from psitext.experiments.dialog.styling import shared_out
from psitext.experiments.runs import corpus, ranks, rows
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import CorpusConfig, RespondRecipe, resolve_recipe
from psitext.experiments.runs.training import train
from psitext.heads.decoding import DecodingHead
from psitext.model import TEXT, WRITTEN, Model, Sentences
from psitext.text.batches import Source
from psitext.text.dialogs import Dialogs, DialogSource, StyleSource, Turn, dialogs, gather_turns, turns
from psitext.text.dialogs.rows import DialogsConfig
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.text.twofold import Sentences as Gathered
from psitext.text.twofold import SentencesConfig, TwofoldSource, gather
from psitext.train import checkpoint, predict
from psitext.train.loop import Hook
from psitext.train.network import Network, parameter_count

CONTEXTS, STYLE = "contexts", "style.safetensors"
RUNS = Path("runs")
RECIPE = "respond"  # the recipe that others are laid over


def respond(
    init: str | Path,
    files: Sequence[str | Path] = (),
    *,
    dev: Sequence[str | Path] = (),
    style: Sequence[str | Path] = (),
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
    config: str = RECIPE,
    settings: Sequence[str] = (),
    hooks: Sequence[Hook] = (),
) -> Path:
    """Train responses on files of dialogues, from the sentence space ``init``; returns the run's folder.

    ``style`` names text to be able to answer in the style of; ``settings`` are ``"a.b=value"`` strings
    (``method.kind=cvae``). A run that is in ``out`` is gone on with.
    """
    named = {"files": [str(one) for one in files], "dev": [str(one) for one in dev]}
    given: dict[str, Any] = {"init": str(init), "dialogs": {key: value for key, value in named.items() if value}}
    if style:
        given["style"] = [{"files": [str(one) for one in style]}]
    recipe = resolve_recipe("respond", config, settings, given)
    assert isinstance(recipe, RespondRecipe)
    folder = Path(out) if out is not None else RUNS / recipe.name
    respond_run(placed(recipe, data_dir), folder, hooks)
    return folder


def placed(recipe: RespondRecipe, data_dir: str | Path | None = None) -> RespondRecipe:
    """The recipe with paths that hold from anywhere; relative ones of text start from ``data_dir``, or from here."""
    start = str(Path(data_dir if data_dir is not None else "").absolute())
    style = tuple(part if part.dir else part.model_copy(update={"dir": start}) for part in recipe.style)
    said = recipe.dialogs if recipe.dialogs.dir else recipe.dialogs.model_copy(update={"dir": start})
    here = recipe.init and Path(recipe.init).exists()
    init = str(Path(recipe.init).absolute()) if recipe.init and here else recipe.init
    return recipe.model_copy(update={"dialogs": said, "style": style, "init": init})


def respond_run(recipe: RespondRecipe, out: Path, hooks: Sequence[Hook] = ()) -> None:
    """Train a recipe's responses in ``out``, going on from what is there."""
    folder = RunFolder(out)
    with folder.claimed(recipe) as found:
        if not folder.finished:
            _trained(found, folder, hooks)


def read_turns(config: DialogsConfig, names: Sequence[str]) -> list[Turn]:
    """The turns of files. Errors: none is named; those of reading."""
    if not names:
        raise UserError("there are no dialogues; name files of them with dialogs.files")
    part = CorpusConfig(files=tuple(names), dir=config.dir)
    found = [path for name in names for path in corpus.paths(part, name)]
    return list(turns(dialogs(found, column=config.column, end=config.end, tidy=config.tidy), config.turns))


def _trained(recipe: RespondRecipe, folder: RunFolder, hooks: Sequence[Hook]) -> None:
    began = time.monotonic()
    given, method = halves(recipe), method_of(recipe.method)
    said = gather_turns(read_turns(recipe.dialogs, recipe.dialogs.files), given.reader, given.writer, recipe.dialogs)
    style = _style(recipe, given)
    rows.check_texts(folder, [*(_line(turn) for turn in said.turns), *(style.texts if style else ())])
    score = method.score(recipe.method, style is not None)
    judge = None
    if recipe.dialogs.dev:
        unlimited = recipe.dialogs.model_copy(update={"limit": None})
        held_out = gather_turns(read_turns(unlimited, unlimited.dev), given.reader, given.writer, unlimited)
        judge = partial(validation, _source(held_out, style, given, 0), score, method.least)
    network = method.network(given, recipe.method)
    source = _source(said, style, given, recipe.train.seed)
    settled, counters = train(folder, recipe, network, score, source, judge, hooks)
    facts = {
        "name": recipe.name,
        "recipe": recipe_hash(settled),
        "parameters": parameter_count(network),
        "turns": asdict(said.responses.counts),
        "contexts cut": int((said.contexts.cut > 0).sum()),
        "notes": _notes(recipe, said, style),
        "steps": counters.step,
        "best step": counters.best_step,
        "tokens trained on": counters.tokens,
        "training loss": None if counters.loss is None else round(counters.loss, 4),
        "dialog": {
            "method": recipe.method.kind,
            "turns": recipe.dialogs.turns,
            "context_len": recipe.dialogs.context_len,
            "tidy": recipe.dialogs.tidy,
        },
    }
    if style is not None:
        facts["style"] = asdict(style.counts)
    if ranks.is_main():
        _keep(folder, recipe, given, style, facts)
        folder.finish({"facts": facts, "counters": asdict(counters), "seconds": round(time.monotonic() - began, 1)})
    ranks.wait()


def _notes(recipe: RespondRecipe, said: Dialogs, style: Gathered | None) -> list[str]:
    """What a reader of the answers must know: what was left out or cut, and that nothing judged the run."""
    found = [
        f"{what}: trained on {counts.in_words}"
        for what, counts in (("responses", said.responses.counts), ("style", style.counts if style else None))
        if counts is not None and counts.kept < counts.read
    ]
    cut = int((said.contexts.cut > 0).sum())
    if cut:
        context = "1 context was" if cut == 1 else f"{cut:,} of {len(said.turns):,} contexts were"
        found.append(f"{context} longer than {recipe.dialogs.context_len} tokens, and lost the oldest")
    if not recipe.dialogs.dev:
        found.append(
            "there were no dialogues to judge by (--dev): nothing judged this run, and its last weights are kept"
        )
    return found


def _source(said: Dialogs, style: Gathered | None, given: Halves, seed: int) -> Source:
    plain = DialogSource(said, given.reader, given.writer)
    return plain if style is None else StyleSource(plain, style, seed)


def _style(recipe: RespondRecipe, given: Halves) -> Gathered | None:
    """The style's sentences that the space is trained with, within the limits of responses."""
    if not recipe.style:
        return None
    own, _ = shared_out(recipe.style, recipe.style_share)
    dialogs = recipe.dialogs
    limits = SentencesConfig(max_words=dialogs.max_words, max_tokens=dialogs.max_tokens, max_len=dialogs.max_len)
    return gather(own, given.reader, given.writer, limits, "dialogs")


def _keep(
    folder: RunFolder, recipe: RespondRecipe, given: Halves, style: Gathered | None, facts: Mapping[str, Any]
) -> None:
    """Write the two models; the space last, since it says that the run has finished."""
    reads = TextConfig(max_len=recipe.dialogs.context_len)
    contexts = Model(Network(given.contexts.eval(), Sentences()), {TEXT: given.reader}, reads, facts=facts)
    contexts.save(folder.path / CONTEXTS)
    if style is not None:
        source = TwofoldSource(style, given.reader, given.writer)
        latents = np.stack(predict.run(Network(given.sentences, Sentences()), source, predict.vectors))
        checkpoint.write_tensors({"latent": torch.from_numpy(latents)}, folder.path / STYLE)
    network = Network(given.sentences, DecodingHead(given.decoder)).eval()
    tokenizers: dict[str, Tokenizer | CausalTokenizer] = {TEXT: given.reader, WRITTEN: given.writer}
    text = TextConfig(max_len=recipe.dialogs.max_len)
    Model(network, tokenizers, text, given.decoder.config, facts=facts).save(folder.model)


def _line(turn: Turn) -> str:
    return "\t".join((*turn.context, turn.response))
