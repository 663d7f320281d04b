"""From a run's folder to a model that ships: rounded to bfloat16, under another sentence vector where the plan says so,
with its card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from psitext.experiments import run as runs
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.shipping.card import card, headline, judged_again, origin, scored, sources
from psitext.experiments.shipping.plan import SHIPS, Ship, ship
from psitext.model import folder, load
from psitext.model.shipped import catalog
from psitext.train.network import parameter_count

Tell = Callable[[str], None]


def make(out: Path, data: Path | None, results: Path | None, names: Sequence[str], tell: Tell) -> None:
    """Train what is missing in ``out``, a folder of runs, and pack all that ships, or what is in ``names`` of it.

    A model is packed again each time, which changes nothing but its card where the run is the same.
    """
    for wanted in [ship(name) for name in names] or SHIPS:
        if not RunFolder(out / wanted.name).finished:
            tell(f"{wanted.name}: training by the recipe {wanted.recipe}")
            train(wanted, out, data)
        if wanted.purpose:
            path = pack(wanted, out / wanted.name, catalog.FOLDER / wanted.name, results)
            tell(f"{wanted.name}: {path}")


def train(wanted: Ship, out: Path, data: Path | None) -> None:
    """Run the recipe of a model, from the runs beside it that it starts from; goes on where it was stopped."""
    starts = {"encoder": wanted.encoder, "decoder": wanted.decoder, "words": wanted.words}
    given: dict[str, Any] = {key: str(out / name) for key, name in starts.items() if name is not None}
    verb: Callable[..., Any] = runs.pretrain if wanted.verb == "pretrain" else runs.finetune
    verb(config=wanted.recipe, out=out / wanted.name, data_dir=data, **given)


def pack(wanted: Ship, run: Path, path: Path, results: Path | None) -> Path:
    """Write the folder of a shipped model, ``path``, from the folder of its finished run.

    Errors: a run that has not finished; one whose text is not what may ship.
    """
    found = origin(RunFolder(run))
    model = load(run, pool=wanted.pool)
    facts: Mapping[str, Any] = {
        "name": wanted.name,
        "recipe": found.facts["recipe"],
        "seed": found.recipe.train.seed,
        "steps": found.result["counters"]["step"],
        "tokens trained on": found.result["counters"]["tokens"],
        "hours": round(found.hours, 3),
        "parameters": parameter_count(model.network),
        catalog.TEXT: " and ".join(sources(found, terms=False)),
        catalog.SCORE: headline(wanted.headline, found, results),
    }
    folder.write(replace(model, facts=facts), path, narrow=True, words=card(wanted, found, model, results))
    return path


def judge_again(path: Path, results: Path, names: Sequence[str], tell: Tell) -> None:
    """Put today's result lines on the cards of the models in ``path`` (of all, or of ``names``); needs no run, and
    changes no weight.
    """
    for wanted in [ship(name) for name in names] or [one for one in SHIPS if one.purpose]:
        model, at = load(path / wanted.name), path / wanted.name
        score = scored(wanted.headline, results) or model.facts[catalog.SCORE]
        words = judged_again((at / folder.CARD).read_text(encoding="utf-8"), wanted, results)
        facts = {**model.facts, catalog.SCORE: score}
        folder.write(replace(model, facts=facts), at, narrow=True, words=words)
        tell(f"{wanted.name}: {score}")
