"""What contenders start from: every model that one names is looked at before anything is trained, and whether it has
learnt from the rows that judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psitext.errors import UserError
from psitext.experiments.compare.rows import Rows, key
from psitext.experiments.compare.settings import CompareConfig, Contender
from psitext.experiments.finetune import read_labelled
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.model import load
from psitext.model.shipped import located
from psitext.text.rows import HUB
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer

FEW = 0.01  # share of the rows that judge that a model may have been trained on
DEEP = 8  # runs that a run started from, one after the other
LOOKED_AT = 300  # training texts whose words are looked up
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Start:
    """How a model reads, and the share of the words of some training texts that its tokenizer has whole."""

    text: TextConfig
    known_words: float
    task: str | None = None  # whose labels it has learnt


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
            learnt = model.task.name if model.task is not None else None
            found[one.init] = Start(model.text, known_words(model.tokenizer, rows), learnt)
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


def leak(init: str, rows: Rows) -> str:
    """In a few words, how a model learnt from rows that judge; empty where its runs' records show nothing of it."""
    path = located(init)
    for _ in range(DEEP):
        recipe = _recipe_behind(path)
        if recipe is None:
            return ""
        if told := _seen(recipe, rows):
            return told
        if recipe.init is None:
            return ""
        path = located(recipe.init)
    return ""


def _recipe_behind(path: Path) -> FinetuneRecipe | None:
    """The recipe of the fine-tuning that a path is, or is the model of."""
    for folder in (path, path.parent):
        try:
            recipe = RunFolder(folder).recipe() if (folder.resolve() / "recipe.json").is_file() else None
        except UserError:  # of another version, or damaged
            recipe = None
        if isinstance(recipe, FinetuneRecipe):
            return recipe
    return None


def _seen(recipe: FinetuneRecipe, rows: Rows) -> str:
    """What a recipe's training rows and those that judge have in common; where they cannot be read, by their files."""
    file = recipe.data.train
    try:
        trained = set() if (file or "").startswith(HUB) else set(map(key, read_labelled(recipe).train))
    except UserError:
        trained = set()
    if not trained:
        same = file is not None and Path(file).resolve() in {Path(one.source).resolve() for one in rows.dev}
        return f"it was trained on {file}, whose rows judge here" if same else ""
    both = sum(key(one) in trained for one in rows.dev)
    few = both <= FEW * len(rows.dev)  # short texts occur in many tables
    return "" if few else f"it was trained on {both:,} of the {len(rows.dev):,} rows that judge"


def suspicions(starts: dict[str, Start], leaks: dict[str, str]) -> list[str]:
    """A sentence for every model that learnt from rows that judge, or from labelled rows that may be those."""
    found = []
    for init, start in starts.items():
        name = Path(init.removeprefix("hf:")).name
        if leaks.get(init):
            found.append(
                f"LEAK: {name} has seen the answers: {leaks[init]}; what starts from it scores too well, stands last "
                "and is not recommended"
            )
        elif start.task is not None:
            found.append(
                f"{name} was trained on labelled rows ({start.task}) that may be among these; if they are, its scores "
                "do not count"
            )
    return found


def check_also(also: Sequence[str], contenders: Sequence[Contender]) -> list[str]:
    """A sentence for every further model that no contender starts from. Errors: one that is no model."""
    used = {one.init for one in contenders}
    unused = [init for init in also if init not in used]
    for init in unused:
        load(init)
    return [f"--only and --without leave out what --also {init} adds" for init in unused]


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
