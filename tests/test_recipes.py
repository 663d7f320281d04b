"""Every TOML file that ships is read, checked and built: recipes of runs, tasks, queues of a paper."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from psitext.assemble import build_encoder, build_head, build_pretraining_head
from psitext.config import RECIPES, read_recipe, recipe_names
from psitext.errors import UserError
from psitext.experiments.queue import jobs, queue_names, read_queue
from psitext.experiments.runs.recipes import VERBS, PretrainRecipe, Recipe, resolve_recipe
from psitext.text.tasks import TASKS, load_task

RECORDS = set((RECIPES / "tasks").glob("*.toml"))


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


def test_law_every_file_is_a_recipe_a_task_or_a_queue_under_a_name_of_its_own() -> None:
    # Recipes are known by their file's name alone, so two of one name would hide each other here.
    named: list[Path] = [*recipe_names().values(), *RECORDS, *queue_names().values()]
    assert sorted(named) == sorted(RECIPES.rglob("*.toml"))


@pytest.mark.parametrize("name", recipe_names())
def test_smoke_recipe_is_built(name: str) -> None:
    recipe = resolved(name)
    if recipe.encoder is None:
        return
    with torch.device("meta"):  # shapes without memory, so that the largest preset is built too
        encoder = build_encoder(recipe.encoder)
        if isinstance(recipe, PretrainRecipe):
            head: torch.nn.Module = build_pretraining_head(encoder, recipe.head)
        else:
            head = build_head(load_task("sst2"), encoder, recipe.head)
    assert {parameter.device.type for part in (encoder, head) for parameter in part.parameters()} == {"meta"}


def test_law_every_record_is_a_task() -> None:
    assert TASKS.keys() == {path.stem for path in RECORDS}
    assert all(load_task(name) is task for name, task in TASKS.items())


@pytest.mark.parametrize("name", queue_names())
def test_smoke_queue_names_tasks_and_recipes_that_exist(name: str) -> None:
    queue = read_queue(name)
    assert all(load_task(job.task).name == job.task for job in jobs(queue))
    for variant in queue.runs:
        resolve_recipe("finetune", variant.recipe, variant.set)
