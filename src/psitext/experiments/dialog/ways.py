"""Rows of tables 4 and 5: a responder trained by a recipe, tested, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.experiments.dialog.responder import load_responder
from psitext.experiments.dialog.scoring import DialogTest, drawn, scored
from psitext.experiments.dialog.styling import Judges, judges, shared_out
from psitext.experiments.dialog.training import RECIPE, placed, read_turns, respond_run
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import RespondRecipe, resolve_recipe
from psitext.model import load
from psitext.train.loop import Hook


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: what a result line says of one run."""

    metrics: dict[str, float]
    rows: dict[str, int]
    seconds: float  # of the training
    notes: dict[str, Any]


def recipe_for(
    name: str,
    settings: Sequence[str],
    init: str | None,
    data_dir: Path | None = None,
    inits: Mapping[str, str] | None = None,
    config: str = RECIPE,
) -> RespondRecipe:
    """The complete recipe of a row; ``init`` is a name that ``inits`` knows, or a model as elsewhere."""
    start = None if init is None else (inits or {}).get(init, init)
    found = resolve_recipe("respond", config, settings, {"name": name, "init": start})
    assert isinstance(found, RespondRecipe)
    return found if data_dir is None else placed(found, data_dir)


def row(
    recipe: RespondRecipe,
    test: DialogTest,
    out: Path,
    inits: Mapping[str, str] | None = None,
    hooks: Sequence[Hook] = (),
) -> Row:
    """Train in ``out`` (or go on there) and test. Errors: as training and reading."""
    respond_run(recipe, out, hooks)
    folder = RunFolder(out)
    result = folder.result()
    began = time.monotonic()
    turns = drawn(read_turns(recipe.dialogs, test.files), test.limit)
    known = _judges(recipe, test, inits or {})
    responder = load_responder(out)
    found = scored(responder, turns, test, known)
    facts = result["facts"]
    notes: dict[str, Any] = {
        "steps": result["counters"]["step"],
        "best step": result["counters"]["best_step"],
        "parameters": facts["parameters"],
        "test seconds": round(time.monotonic() - began, 1),
        "shown": found.shown,
    }
    rows = {"train": int(facts["turns"]["kept"]), "test": len(turns)}
    if known is not None:
        notes |= known.accuracy
        notes["said"] = known.intensity([turn.response for turn in turns])
        if test.style:  # the same model, asked for no style
            notes["no style"] = scored(responder, turns, test.model_copy(update={"style": 0.0}), known).metrics
        rows |= known.rows
    return Row(found.metrics, rows, float(result["counters"]["seconds"]), notes)


def _judges(recipe: RespondRecipe, test: DialogTest, inits: Mapping[str, str]) -> Judges | None:
    """Judges of the recipe's style, from what of its text the space was not trained on; None where there is nothing
    left or nothing to hold it against.
    """
    if recipe.style_share == 1 or not (test.against or test.against_dialogs):
        return None
    _, left = shared_out(recipe.style, recipe.style_share)
    start = recipe.dialogs.dir
    against = [part if part.dir else part.model_copy(update={"dir": start}) for part in test.against]
    others = [shared_out([part], 1.0)[0] for part in against]
    if test.against_dialogs:
        said = read_turns(recipe.dialogs, test.against_dialogs)
        others.append([turn.response for turn in said])
    encoder = None if test.judge is None else load(inits.get(test.judge, test.judge))
    return judges(left, others, encoder, test.judge_sentences)
