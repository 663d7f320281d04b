"""The calls of the public API: ``pretrain`` and ``finetune`` in a line, ``resume`` from a folder alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.errors import UserError
from psitext.experiments.finetune import finetune_run
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, PretrainRecipe, resolve_recipe
from psitext.model import Model
from psitext.train.loop import Hook

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder and its model."""

    folder: Path
    model: Model


def pretrain(
    config: str | None = None,
    *,
    data: str | Path | Sequence[str | Path] = (),
    text: str | None = None,
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    hooks: Sequence[Hook] = (),
) -> Run:
    """Pre-train by a recipe (a name that ``psitext recipes`` lists, or a TOML file) on text files.

    ``text`` names the column of tables; ``data_dir`` is where a recipe's own relative paths start. ``minutes``
    takes the place of the recipe's budget; ``settings`` are ``"a.b=value"`` strings laid over the recipe. A run
    that is already in ``out`` is gone on with, a finished one is returned as it is.
    """
    files = [data] if isinstance(data, str | Path) else list(data)
    given: dict[str, Any] = {}
    if files:
        given["corpus"] = [{"files": [absolute(name) for name in files], **({"column": text} if text else {})}]
    train = {key: value for key, value in (("minutes", minutes), ("seed", seed)) if value is not None}
    recipe = resolve_recipe("pretrain", config or "bert-mini", settings, given | ({"train": train} if train else {}))
    assert isinstance(recipe, PretrainRecipe)
    if not recipe.corpus:
        raise UserError(
            "there is no text to pre-train on; name files with --data (or a [[corpus]] table in the recipe)"
        )
    recipe = with_data_dir(recipe, data_dir)
    folder = Path(out) if out is not None else RUNS / recipe.name
    return Run(folder, pretrain_run(recipe, folder, hooks))


def finetune(
    task: str | None = None,
    *,
    init: str | Path | Run | None = None,
    config: str | None = None,
    data: str | Path | None = None,
    dev: str | Path | None = None,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    hooks: Sequence[Hook] = (),
) -> Model:
    """Fine-tune for a task by name, or on a file with a text and a label column; returns the model with the best
    dev score.
    """
    recipe = finetune_recipe(
        task, init=init, config=config, data=data, dev=dev, text=text, pair=pair, label=label, data_dir=data_dir,
        seed=seed, settings=settings,
    )  # fmt: skip
    folder = Path(out) if out is not None else RUNS / (recipe.task or Path(recipe.data.train or "own").stem)
    return finetune_run(recipe, folder, hooks)


def finetune_recipe(
    task: str | None,
    *,
    init: str | Path | Run | None = None,
    config: str | None = None,
    data: str | Path | None = None,
    dev: str | Path | None = None,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    data_dir: str | Path | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
) -> FinetuneRecipe:
    """The recipe that ``finetune`` runs, checked and complete."""
    columns = {
        "train": None if data is None else absolute(data),
        "dev": None if dev is None else absolute(dev),
        "dir": None if data_dir is None else absolute(data_dir),
        "text": text,
        "pair": pair,
        "label": label,
    }
    given: dict[str, Any] = {"data": {key: value for key, value in columns.items() if value is not None}}
    if task is not None:
        given["task"] = task
    if init is not None:
        given["init"] = str(init.folder if isinstance(init, Run) else init)
    if seed is not None:
        given["train"] = {"seed": seed}
    recipe = resolve_recipe("finetune", config or "finetune", settings, given)
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def with_data_dir(recipe: PretrainRecipe, data_dir: str | Path | None) -> PretrainRecipe:
    """The recipe with a place to start from for every part of its corpus that names none."""
    start = absolute(data_dir if data_dir is not None else Path())
    parts = tuple(part if part.dir else part.model_copy(update={"dir": start}) for part in recipe.corpus)
    return recipe.model_copy(update={"corpus": parts})


def resume(folder: str | Path, hooks: Sequence[Hook] = ()) -> Model:
    """Go on with the run in a folder, from its newest good checkpoint; its frozen recipe says all that is needed."""
    path = Path(folder)
    recipe = RunFolder(path).recipe()
    if recipe is None:
        raise UserError(f"{path} holds no run to go on with: it has no recipe.json")
    if isinstance(recipe, PretrainRecipe):
        return pretrain_run(recipe, path, hooks)
    return finetune_run(recipe, path, hooks)


def absolute(name: str | Path) -> str:
    """A path that still holds when the run is resumed from elsewhere; hub and toy names stay as they are."""
    text = str(name)
    return text if text.startswith(("hub:", "toy:")) else str(Path(text).absolute())
