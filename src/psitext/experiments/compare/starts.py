"""What contenders start from: every model that one names is looked at before anything is trained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psitext.errors import UserError
from psitext.experiments.compare.rows import Rows
from psitext.experiments.compare.settings import CompareConfig, Contender
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.model import load
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer

LOOKED_AT = 300  # training texts whose words are looked up
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Start:
    """How a model reads, and the share of the words of some training texts that its tokenizer has whole."""

    text: TextConfig
    known_words: float


def anchored(init: str) -> str:
    """The name of a model with a path that holds from anywhere; one that is no path here stays as it is."""
    prefix, path = ("hf:", init[3:]) if init.startswith("hf:") else ("", init)
    return f"{prefix}{Path(path).absolute()}" if path and Path(path).exists() else init


def look_at(contenders: Sequence[Contender], rows: Rows) -> dict[str, Start]:
    """Every model that a contender starts from, loaded once. Errors: one that cannot be, with whose it is."""
    found: dict[str, Start] = {}
    for one in contenders:
        if one.init is None or one.init in found:
            continue
        try:
            model = load(one.init)
            found[one.init] = Start(model.text, known_words(model.tokenizer, rows))
        except UserError as error:
            others = [other.name for other in contenders if other.init == one.init]
            leave = " ".join(f"--without {name}" for name in others)
            which = f"{' and '.join(others)} would start from {one.init} (leave out with {leave})"
            raise UserError(f"{which}: {error}") from None
    return found


def known_words(tokenizer: Tokenizer, rows: Rows) -> float:
    """The share of words that are one token of a vocabulary, in the first training texts; a language that it was not
    learnt from has few.
    """
    counts, whole = 0, 0
    for one in rows.train[:LOOKED_AT]:
        words = _WORD.findall(one.text)
        if not words:
            continue
        ids, owner = tokenizer.encode_words(words)
        pieces = np.bincount(owner, minlength=len(words))
        unknown = np.bincount(owner[ids == tokenizer.unk], minlength=len(words))
        whole += int(np.sum((pieces == 1) & (unknown == 0)))
        counts += len(words)
    return whole / counts if counts else 0.0


def strange(starts: dict[str, Start], config: CompareConfig) -> list[str]:
    """A sentence for every model that does not know the language of the texts."""
    return [
        f"{Path(init.removeprefix('hf:')).name} knows only {start.known_words:.0%} of the words of the training texts "
        "whole: it was taught another language, or other subjects; expect little of what starts from it"
        for init, start in starts.items()
        if start.known_words < config.known_words
    ]


def recipe_of(one: Contender, start: Start | None, task: Path, seed: int) -> FinetuneRecipe:
    """The fine-tuning of a contender on the task's file, or what its frozen model is read by."""
    given = {**one.recipe, "task": str(task.absolute()), "name": one.name}
    given["train"] = {**one.recipe.get("train", {}), "seed": seed}
    if one.init is not None and start is not None:
        kept = start.text.model_copy(update={"max_len": min(start.text.max_len, one.max_len)})
        given |= {"init": one.init, "text": {**kept.tree(), **one.recipe.get("text", {})}}
    else:
        given["text"] = {"max_len": one.max_len, **one.recipe.get("text", {})}
    recipe = resolve_recipe("finetune", one.config, (), given)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe
