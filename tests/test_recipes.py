"""Every recipe that ships is read, checked and built; no two share the short name people call them by."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.config import RECIPES, read_recipe, recipe_names
from psitext.errors import UserError
from psitext.experiments.runs.recipes import VERBS, PretrainRecipe, Recipe, resolve_recipe
from psitext.text.tasks import TASKS, load_task

RECORDS = RECIPES / "tasks"  # tasks, not runs: data records with a schema of their own
RUNS = [name for name, path in recipe_names().items() if RECORDS not in path.parents]


def resolved(name: str) -> Recipe:
    """The recipe under the verb it names; one that names none must be right for some verb."""
    tree = read_recipe(name)
    wrong = []
    for verb in [tree["verb"]] if "verb" in tree else VERBS:
        try:
            return resolve_recipe(verb, name)
        except UserError as error:
            wrong.append(f"{verb}: {error}")
    pytest.fail("; ".join(wrong))


def test_law_short_names_are_unique() -> None:
    counts = Counter(path.stem for path in RECIPES.rglob("*.toml"))
    assert counts, "no recipe ships"
    assert [name for name, count in counts.items() if count > 1] == []


def test_law_every_record_is_a_task() -> None:
    assert TASKS.keys() == {path.stem for path in RECORDS.glob("*.toml")}
    assert all(load_task(name) is task for name, task in TASKS.items())


@pytest.mark.parametrize("name", RUNS)
def test_smoke_recipe_is_built(name: str) -> None:
    recipe = resolved(name)
    with torch.device("meta"):  # shapes without memory, so that the largest preset is built too
        if recipe.encoder is not None:
            encoder = build_encoder(recipe.encoder)
            assert sum(parameter.numel() for parameter in encoder.parameters()) > 0
            if isinstance(recipe, PretrainRecipe):
                build_pretraining_head(encoder, recipe.head)
