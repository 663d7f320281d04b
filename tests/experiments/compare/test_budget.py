"""How many steps a contender is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import contenders
import toys
from psitext.errors import UserError
from psitext.experiments.compare import budget
from psitext.experiments.compare.budget import Plan, planned, wanted_steps
from psitext.experiments.compare.settings import read_preset
from psitext.experiments.runs.recipes import FinetuneRecipe


@pytest.fixture
def recipe(tmp_path: Path) -> FinetuneRecipe:
    return toys.finetuning(["train.steps=10"], task=str(toys.task_file(tmp_path, "sentiment")))


def test_known_steps_of_epochs_and_of_few_rows(recipe: FinetuneRecipe) -> None:
    one = read_preset("usual").contenders[-1]
    epochs = recipe.model_copy(update={"train": recipe.train.with_budget(epochs=3)})  # 16 rows a batch
    assert wanted_steps(one, epochs, 16_000) == 3_000
    assert wanted_steps(one, epochs, 16_001) == 3_003
    assert wanted_steps(one, epochs, 100) == one.least_steps == 150
    assert wanted_steps(one, recipe, 100) == 10, "steps that are asked for are made"
    tokens = epochs.model_copy(update={"train": epochs.train.with_budget(minutes=3)})
    with pytest.raises(UserError, match=r"contender 'qbert': a comparison takes train\.epochs or train\.steps"):
        wanted_steps(one, tokens, 100)


@pytest.mark.parametrize(
    ("seconds", "steps"), [(1000.0, 150), (155.0, 150), (105.0, 89), (51.0, 40), (45.0, None), (3.0, None)]
)
def test_law_steps_fit_into_the_time_or_are_none(
    seconds: float, steps: int | None, recipe: FinetuneRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "_tried", lambda recipe, steps: (1.0, 5.0))  # a second a step, and five besides
    one = read_preset("usual").contenders[-1]
    epochs = recipe.model_copy(update={"train": recipe.train.with_budget(epochs=3)})
    found = planned(tmp_path, one, epochs, 100, seconds, least=40)
    assert (found and found.steps) == steps
    assert (tmp_path / "plan.json").is_file() == (steps is not None)
    if found is not None:
        assert found.seconds <= seconds and found.cut == (steps != 150)
        assert planned(tmp_path, one, epochs, 100, 1.0, least=40) == found, "a plan that was made stays"


def test_known_a_plan_that_is_damaged_is_said(recipe: FinetuneRecipe, tmp_path: Path) -> None:
    one = read_preset("usual").contenders[-1]
    (tmp_path / "plan.json").write_text(json.dumps({"steps": 3}))
    with pytest.raises(UserError, match=r"plan\.json is damaged; delete it"):
        planned(tmp_path, one, recipe, 100, 1.0, least=40)


def test_smoke_a_few_steps_are_timed(tmp_path: Path) -> None:
    one = next(
        one for one in read_preset(str(contenders.preset(tmp_path / "few.toml"))).contenders if one.name == "rac"
    )
    recipe = toys.finetuning(["train.steps=6"], task=str(toys.task_file(tmp_path, "sentiment")))
    found = planned(tmp_path, one, recipe, 320, 600.0, least=1)
    assert found == Plan(6, 6, found.seconds if found else 0.0) and found.seconds > 0
    assert [file.name for file in tmp_path.iterdir() if file.is_dir()] == [], "the trial leaves nothing"
