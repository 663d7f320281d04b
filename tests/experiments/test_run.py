"""The calls of the public API."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import psitext
import toys
from psitext.errors import UserError
from psitext.experiments import run
from psitext.experiments.runs.folder import RunFolder


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a recipe of each kind and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(toys.PRETRAIN, encoding="utf-8")
    (tmp_path / "tune.toml").write_text(toys.FINETUNE, encoding="utf-8")
    toys.table(tmp_path / "own.csv", [("text", "label"), *toys.words_and_labels(40)])
    return tmp_path


def test_law_the_lines_of_the_readme(inside: Path) -> None:
    seen: list[object] = []
    first = psitext.pretrain("small.toml", seed=3, settings=["train.steps=4"], hooks=[seen.append])
    assert first.folder == Path("runs/small") and seen
    recipe = RunFolder(first.folder).recipe()
    assert recipe is not None and (recipe.train.seed, recipe.train.steps) == (3, 4)
    model = psitext.finetune(init=first, data="own.csv", settings=["train.steps=4", "train.batch_sequences=8"])
    assert model.predict(["good so"])[0].label in ("up", "down")
    assert RunFolder(Path("runs/own")).finished
    again = psitext.load(model.save("my-model"))
    assert again.predict(["good so"]) == model.predict(["good so"])
    assert psitext.load(first.folder).encode(["good"]).vector.shape == (1, 32)


def test_known_default_places(inside: Path) -> None:
    def place(task: str | None = None, **given: str) -> str:
        return str(run.default_folder(run.finetune_recipe(task, config="tune.toml", **given)))  # type: ignore[arg-type]

    assert place("sst2") == "runs/sst2"
    assert place(data="own.csv") == "runs/own"
    assert place(data="data/reviews.csv.gz") == "runs/reviews"
    assert place() == "runs/tune"
    toys.task_file(inside, "tags")
    assert place("tags.toml") == "runs/tags"


def test_law_a_recipe_holds_wherever_it_is_resumed(inside: Path, tmp_path: Path) -> None:
    first = run.pretrain("small.toml", settings=["train.steps=2"], data="own.csv", text="text", out="first")
    corpus = RunFolder(first.folder).recipe().corpus  # type: ignore[union-attr]
    assert corpus[0].files == (str(inside / "own.csv"),) and corpus[0].column == "text"
    recipe = run.finetune_recipe(None, init="first", data="own.csv", config="finetune")
    assert (recipe.init, recipe.data.train) == (str(inside / "first"), str(inside / "own.csv"))
    assert run.finetune_recipe("sst2", init="hf:first").init == f"hf:{inside / 'first'}"
    assert run.finetune_recipe("sst2", init="hf:owner/name").init == "hf:owner/name"
    toys.task_file(inside, "tags")
    assert run.finetune_recipe("tags.toml").task == str(inside / "tags.toml")
    loaded = run.finetune_recipe("sst2", config="tune.toml", settings=["tokenizer.load=first/tokenizer.json"])
    assert loaded.tokenizer.load == str(inside / "first" / "tokenizer.json")
    assert run.absolute("hub:owner/name") == "hub:owner/name" and run.absolute("toy:9") == "toy:9"


def test_law_resume_from_elsewhere(inside: Path, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(event: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        run.finetune(data="own.csv", config="tune.toml", out="out", hooks=[stop])
    os.chdir("/")
    model = run.resume(inside / "out")
    whole = run.finetune(data=inside / "own.csv", config=str(inside / "tune.toml"), out=inside / "whole")
    assert model.predict(["good so"]) == whole.predict(["good so"])
    with pytest.raises(UserError, match="holds no run to go on with"):
        run.resume(inside)


def test_known_budgets_and_seeds_from_the_call(inside: Path) -> None:
    recipe = run.finetune_recipe("sst2", config="tune.toml", seed=7, minutes=3)
    assert (recipe.train.minutes, recipe.train.epochs, recipe.train.steps) == (3, None, None)
    recipe = run.finetune_recipe("sst2", config="tune.toml", seed=7, settings=["train.minutes=2"])
    assert (recipe.train.seed, recipe.train.minutes, recipe.train.steps) == (7, 2, None)
    assert run.with_seed(recipe, 9).train.seed == 9
    with pytest.raises(UserError, match="there is no text to pre-train on"):
        run.pretrain("bert-tiny", out="out")
    assert not Path("out").exists()


def test_smoke_tensorboard(inside: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run.finetune(data="own.csv", config="tune.toml", out="out", tensorboard=True)
    found = reader.EventAccumulator(str(inside / "out" / "tensorboard")).Reload()
    events = toys.events(Path("out"))
    losses = [(event["step"], event["loss"]) for event in events if event["kind"] == "train"]
    assert [(one.step, pytest.approx(one.value, rel=1e-6)) for one in found.Scalars("train/loss")] == losses
    assert {"dev/accuracy", "train/lr", "train/tokens"} <= set(found.Tags()["scalars"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: psitext.load(None), "load takes the name or path of a model, not a NoneType"),  # type: ignore[arg-type]
        (lambda: psitext.load(""), "the name of the model is empty"),
        (lambda: psitext.pretrain({}), "config takes a name or a path, not a dict"),  # type: ignore[arg-type]
        (lambda: psitext.pretrain(data=3), "data takes a path or a list of paths, not a int"),  # type: ignore[arg-type]
        (lambda: psitext.finetune("sst2", init=3), "init takes a name or a path, not a int"),  # type: ignore[arg-type]
        (lambda: psitext.finetune("sst2", data="own.csv"), "both say what to train on"),
        (lambda: psitext.finetune("sst2", settings="train.steps=4"), "settings is a list of strings"),
    ],
)
def test_known_calls_with_things_of_another_kind(inside: Path, call: Callable[[], object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        call()
    assert not Path("runs").exists()
