"""Names of models that come with psitext, where each lies, and what its folder says of it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.errors import Unknown, UserError, near

FOLDER = Path(__file__).parents[2] / "shipped"
SETTINGS, CARD = "config.json", "card.md"
# Facts that packing adds to a model's own, for a line of a list; see experiments/shipping.
TEXT, SCORE = "trained on", "score"


@dataclass(frozen=True, slots=True)
class Entry:
    """A model in a list."""

    name: str
    family: str  # of its encoder; of a sentence space also what it writes with
    parameters: int
    bytes: int  # of its folder
    trained_on: str
    score: str


def names() -> list[str]:
    """The names, in order."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{SETTINGS}"))


def located(source: str | Path) -> Path:
    """The path of a model: ``source`` itself where something lies there, else the shipped model of exactly that name,
    else ``source`` again. A name is never taken for a path, so none leads out of the folder.

    Errors: the empty name, which as a path would be the folder that one is in.
    """
    name = str(source)
    if not name:
        raise UserError(
            "the name of the model is empty; give a run, a model folder, hf:<folder or hub id>, or a name that "
            "`psitext models` lists"
        )
    return FOLDER / name if not os.path.exists(name) and name in names() else Path(source)  # noqa: PTH110 - never an error


def missing(source: str | Path) -> Unknown:
    """The error of a model that is not there, with the shipped models of like names."""
    return Unknown(f"there is no model at {source}", str(source), names(), "; `psitext models` lists names")


def entries() -> list[Entry]:
    """Every shipped model, by name. Errors: a folder whose settings cannot be read."""
    return [_entry(FOLDER / name) for name in names()]


def card(name: str) -> str:
    """The model card of a shipped model, Markdown. Errors: no model of that name."""
    if name not in names():
        known: Sequence[str] = names()
        listed = f"; there is: {', '.join(known)}" if known else ""
        raise UserError(f"no model that comes with psitext is called {name!r}{near(name, known) or listed}")
    return (FOLDER / name / CARD).read_text(encoding="utf-8")


def _entry(path: Path) -> Entry:
    try:
        tree: dict[str, Any] = json.loads((path / SETTINGS).read_text(encoding="utf-8"))
        facts, family = dict(tree["facts"]), str(tree["encoder"]["family"])
        if tree["head"]["for"] == "writing":
            family += f", writes with {tree['head']['settings'].get('model', tree['head']['settings']['kind'])}"
        return Entry(
            name=path.name,
            family=family,
            parameters=int(facts["parameters"]),
            bytes=sum(file.stat().st_size for file in path.rglob("*") if file.is_file()),
            trained_on=str(facts.get(TEXT, "")),
            score=str(facts.get(SCORE, "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}: {error}); install psitext again") from None
