"""What a comparison compares, as data: the contenders of a preset (``recipes/compare/*.toml``), and its limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from psitext.config import RECIPES, Config, build, read_toml
from psitext.errors import UserError, near

How = Literal["majority", "bag-of-words", "frozen", "finetune"]
WAYS: tuple[How, ...] = ("majority", "bag-of-words", "frozen", "finetune")  # cheap ones first
TRAINED: tuple[How, ...] = ("frozen", "finetune")  # what has an encoder, and so takes time
FLOOR = "majority"  # what every contender is judged against
THESE = "{name}"  # in the name and title of what is made of --also: what the user gave
TAKEN = ("rows",)  # names of other things in a comparison's folder, where every contender has one


class Contender(Config):
    """One way to answer.

    ``frozen`` reads the states of ``init`` as they are, by logistic (or ridge) regression; ``finetune`` trains by the
    recipe ``config`` with ``recipe`` laid over it, from ``init`` or from nothing.
    """

    name: str
    title: str
    how: How
    init: str | None = None  # a model by name, a run, a model folder, or hf:<folder or hub id>
    config: str = "finetune"
    recipe: dict[str, Any] = Field(default_factory=dict)
    least_steps: int = Field(default=1, gt=0)  # few rows are gone over more often than the recipe's epochs, up to this
    max_len: int = Field(default=128, ge=8)  # tokens of a text, or fewer where the model reads fewer
    most_rows: int | None = Field(default=None, gt=0)  # at most so many training rows

    @model_validator(mode="after")
    def _starts_somewhere(self) -> Self:
        if self.how == "frozen" and self.init is None:
            raise ValueError("states are those of a model, and init names none")
        if self.how not in TRAINED and self.init is not None:
            raise ValueError(f"{self.how} starts from no model")
        return self


class CompareConfig(Config):
    """A preset: the contenders, cheap ones first, and what a comparison accepts."""

    contenders: tuple[Contender, ...]
    also: tuple[Contender, ...] = ()  # what is made of every model that is given besides
    seeds: int = Field(default=3, gt=0)
    minutes: float = Field(default=15, gt=0)  # for all of it
    held_out: float = Field(default=0.2, gt=0, lt=1)  # of the rows, to judge by, where no file is given for that
    least_rows: int = Field(default=20, ge=4)
    least_dev: int = Field(default=50, gt=0)  # with fewer rows to judge by nothing is recommended
    most_rows: int = Field(default=200_000, gt=0)
    most_characters: int = Field(default=200_000_000, gt=0)
    most_missing: float = Field(default=0.5, ge=0, lt=1)  # share of the rows without text or label
    least_a_label: float = Field(default=5.0, gt=0)  # rows a label on average, from more than few_labels labels on
    few_labels: int = Field(default=20, gt=1)
    known_words: float = Field(default=0.5, ge=0, le=1)  # below it a model is said not to know the language
    least_steps: int = Field(default=40, gt=0)  # a training that the time leaves fewer steps for is left out

    @field_validator("contenders")
    @classmethod
    def _right_names(cls, value: tuple[Contender, ...]) -> tuple[Contender, ...]:
        names = [one.name for one in value]
        if not names or len(set(names)) < len(names):
            raise ValueError("there must be contenders, each under a name of its own")
        if wrong := [name for name in names if name != _safe(name)]:
            raise ValueError(f"{wrong[0]!r} is no name for a contender: letters, digits, '-', '_', '+' and '.' are")
        return value


def presets() -> dict[str, Path]:
    """The presets that come with psitext, by name."""
    return {path.stem: path for path in sorted((RECIPES / "compare").glob("*.toml"))}


def read_preset(name: str) -> CompareConfig:
    """A preset by name, or one in a TOML file. Errors: an unknown name; what ``config.build`` finds wrong."""
    known = presets()
    if not name.endswith(".toml") and name not in known:
        raise UserError(f"no comparison called {name!r}{near(name, known) or '; there are: ' + ', '.join(known)}")
    path = known.get(name, Path(name))
    return build(CompareConfig, read_toml(path), str(path))


def chosen(
    config: CompareConfig, also: Sequence[str] = (), only: Sequence[str] = (), without: Sequence[str] = ()
) -> tuple[Contender, ...]:
    """The contenders of a preset and those made of ``also``, as far as ``only`` and ``without`` leave them.

    What is made of a model of the user's stands behind what is done in the same way. Majority is always among them,
    because the verdict rests on it. Errors: a name that none has; nothing left.
    """
    every = list(config.contenders)
    for init, name in zip(also, _short_names(also, [one.name for one in every]), strict=True):
        every += [
            one.model_copy(
                update={"name": one.name.replace(THESE, name), "title": one.title.replace(THESE, name), "init": init}
            )
            for one in config.also
        ]
    every.sort(key=lambda one: WAYS.index(one.how))  # stable: within a way the preset's order stays
    names = [one.name for one in every]
    for option, given in (("--only", only), ("--without", without)):
        wrong = next((name for name in given if name not in names), None)
        if wrong is not None:
            raise UserError(
                f"{option}: there is no contender {wrong!r}{near(wrong, names) or '; there are: ' + ', '.join(names)}"
            )
    kept = tuple(one for one in every if (not only or one.name in only) and one.name not in without)
    if not kept:
        raise UserError("--only and --without leave no contender")
    return with_floor(kept, every)


def with_floor(kept: Sequence[Contender], every: Sequence[Contender] = ()) -> tuple[Contender, ...]:
    """Contenders with majority among them, first where it was left out."""
    if any(one.name == FLOOR for one in kept):
        return tuple(kept)
    usual = Contender(name=FLOOR, title=FLOOR, how="majority")
    return (next((one for one in every if one.name == FLOOR), usual), *kept)


def _safe(name: str) -> str:
    """A name that can be a folder's: no path, not hidden."""
    clean = re.sub(r"[^\w.+-]", "-", name).lstrip(".-")
    return f"{clean}-model" if clean in TAKEN else clean or "model"


def _short_names(also: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The last part of every path, with a number behind it where it is taken."""
    names: list[str] = []
    for path in also:
        short = _safe(Path(path.removeprefix("hf:")).name)
        tries = [short, *(f"{short}-{number}" for number in range(2, len(also) + len(taken) + 3))]
        names.append(next(one for one in tries if one not in (*taken, *names)))
    return names
