"""A run's folder: claimed by one recipe, undone after a mistake, exact after a crash."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import toys
from psitext.cli.terminal import described
from psitext.errors import UserError
from psitext.experiments.run import resume
from psitext.experiments.runs import folder as runs
from psitext.experiments.runs.folder import RunFolder, Stopped, no_run
from psitext.files import Unwritten, write_atomic
from psitext.train.loop import Event

RECIPE = toys.finetuning(task="toy-tags")


def settled(steps: int = 9) -> object:
    return RECIPE.model_copy(update={"train": RECIPE.train.with_budget(steps=steps)})


def test_law_a_folder_belongs_to_one_recipe(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    assert folder.recipe() is None and not folder.finished
    with folder.claimed(RECIPE) as found:
        assert found is RECIPE
        assert folder.recipe() == RECIPE, "written before anything else"
        folder.settle(settled())  # type: ignore[arg-type]
    for again in (RECIPE, settled()):
        with folder.claimed(again) as found:  # type: ignore[type-var]
            assert found == settled()
    other = RECIPE.model_copy(update={"task": "toy-nsp"})
    for strange in (other, settled(8), toys.pretraining()):
        refused = pytest.raises(UserError, match="holds a run of another recipe; give --out")
        with refused, folder.claimed(strange):  # type: ignore[type-var]
            pass
    tree = json.loads((folder.path / "recipe.json").read_text())
    assert set(tree) == {"recipe", "given", "versions", "commit", "threads"}


def test_law_a_mistake_before_the_first_step_undoes_the_claim(tmp_path: Path) -> None:
    def fail(folder: RunFolder, *, after: str | None = None, error: type[BaseException] = UserError) -> None:
        with folder.claimed(RECIPE):
            (folder.path / "tokenizer.json").write_text("{}")
            if after:
                write_atomic(folder.path / after, "{}\n")
            raise error("no such column")

    absent, empty = RunFolder(tmp_path / "absent"), RunFolder(tmp_path / "empty")
    empty.path.mkdir()
    for folder in (absent, empty):
        with pytest.raises(UserError, match="no such column"):
            fail(folder)
    assert not absent.path.exists()
    assert list(empty.path.iterdir()) == []
    deep = RunFolder(tmp_path / "empty" / "runs" / "deep")
    with pytest.raises(UserError, match="no such column"):
        fail(deep)
    assert list(empty.path.iterdir()) == [], "folders above it stayed"
    for after in ("metrics.jsonl", "checkpoints/step-1/model.safetensors"):
        begun = RunFolder(tmp_path / after.split("/")[0])
        with pytest.raises(UserError, match="no such column"):
            fail(begun, after=after)
        assert begun.recipe() == RECIPE and (begun.path / after).exists()
        with pytest.raises(UserError, match="no such column"):
            fail(begun)  # a later mistake undoes nothing that was there before
        assert begun.recipe() == RECIPE and (begun.path / after).exists()
    crashed = RunFolder(tmp_path / "crashed")
    with pytest.raises(RuntimeError):
        fail(crashed, error=RuntimeError)
    assert crashed.recipe() == RECIPE, "a fault of psitext's own leaves what there is to see"


def test_known_an_interrupted_preparation_says_how_to_go_on(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    stopped = pytest.raises(Stopped, match=r"interrupted; `psitext resume .*run` goes on from there")
    with stopped as caught, folder.claimed(RECIPE):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert folder.recipe() == RECIPE
    assert str(Stopped(Path("runs/x"), 1234)) == "stopped after step 1,234; `psitext resume runs/x` goes on from there"


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"recipe": 3}', '{"recipe": {"verb": "cook"}}', '{"a": 1}'])
def test_known_recipes_that_are_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(content)
    with pytest.raises(UserError, match=r"recipe.json is (no recipe of a run|of a run to 'cook')") as caught:
        RunFolder(tmp_path).recipe()
    assert "\n" not in str(caught.value)


def test_known_foreign_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="holds files that are no run's"), RunFolder(tmp_path).claimed(RECIPE):
        pass
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("thesis.txt", "years of work")]


def test_law_one_process_at_a_time(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    for _ in range(2):
        with folder.claimed(RECIPE):
            before = sorted(folder.path.iterdir())
            assert [file.name for file in before] == [".lock", "recipe.json"]
            refused = pytest.raises(UserError, match=rf"another process \(\d+\) is at work in {folder.path}; wait")
            with refused, RunFolder(folder.path).claimed(RECIPE):
                raise AssertionError("two are in")
            assert sorted(folder.path.iterdir()) == before
        assert [file.name for file in folder.path.iterdir()] == ["recipe.json"]
    (folder.path / "model").mkdir()
    folder.finish({})
    folder.path.chmod(0o500)  # a finished run is only read
    with folder.claimed(RECIPE), folder.claimed(RECIPE):
        assert not (folder.path / ".lock").exists()
    folder.path.chmod(0o700)


def test_law_what_kills_left_goes_when_the_run_goes_on(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for name in (".lock", ".recipe.json.77.part"):  # killed before there was a run
        (tmp_path / name).write_text("7")
    with folder.claimed(RECIPE):
        for name in (".result.json.77.part", ".metrics.jsonl.8.part"):
            (tmp_path / name).write_text("half")
        for name in (".model.77.part", ".model.77.old"):
            shutil.copytree(toys.trained("words") / "model", tmp_path / name)
    with folder.claimed(RECIPE):
        assert sorted(file.name for file in tmp_path.iterdir()) == [".lock", "recipe.json"]


def test_law_a_recipe_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: str) -> None:
        raise UserError(f"cannot write {path}: the disk is full; nothing was changed")

    monkeypatch.setattr(runs, "write_atomic", full)
    with pytest.raises(UserError, match="the disk is full"), RunFolder(tmp_path / "new" / "run").claimed(RECIPE):
        pass
    assert list(tmp_path.iterdir()) == []


def fill(folder: RunFolder, began: bool) -> None:
    """A disk that is full, after the first event of a run or before."""
    if began:
        folder.log({"kind": "train", "step": 1})
    raise Unwritten(Path("x"), "the disk is full")


def test_law_a_full_disk_says_what_is_kept_of_a_run(tmp_path: Path) -> None:
    """A run that has begun to train stays and can go on; one that has not leaves nothing."""
    place = tmp_path / "run"
    for began, left in (
        (False, "nothing was changed"),
        (True, f"the run in {place} is kept, and `psitext resume {place}`"),
    ):
        with (
            pytest.raises(UserError, match=f"cannot write x: the disk is full; {left}"),
            RunFolder(place).claimed(RECIPE),
        ):
            fill(RunFolder(place), began)
        assert place.exists() is began


def test_law_events_beyond_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for step in (1, 2, 3):
        folder.log({"kind": "train", "step": step, "loss": 0.1 + 0.2})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('[]\n7\n{"step": 9}\n{"kind": "dev", "step": "x"}\n')
        file.write('{"kind": "tra')  # what a crash leaves
    with (tmp_path / "metrics.jsonl").open("ab") as raw:
        raw.write(b'in", "step": 2, "name": "\xff\xfe"}\n\x00\xf0\n')
    assert [event["step"] for event in folder.events()] == [1, 2, 3]
    assert folder.rewind() == 0
    assert folder.events() == []
    run = RunFolder(toys.trained("words"))
    before = (run.path / "metrics.jsonl").read_bytes()
    assert run.rewind() == 100
    shutil.copytree(run.path, tmp_path / "harmed")
    shutil.rmtree(tmp_path / "harmed" / "checkpoints" / "best-00000100")
    assert RunFolder(tmp_path / "harmed").rewind() == 100
    assert (tmp_path / "harmed" / "checkpoints" / "best-00000100").is_dir()
    assert (run.path / "metrics.jsonl").read_bytes() == before


def test_law_damaged_checkpoints_are_told_when_a_run_goes_on_from_before(tmp_path: Path) -> None:
    """Nobody shall lose days without a word; the run's numbers are those that it would have had."""
    run = RunFolder(tmp_path / "run")
    shutil.copytree(toys.trained("words"), run.path)
    shutil.rmtree(run.path / "model")
    (run.path / "result.json").unlink()
    for path in run.path.glob("checkpoints/step-*/model.safetensors"):
        path.write_bytes(path.read_bytes()[:100])
    told: list[Event] = []
    resume(run.path, hooks=[told.append])
    assert told[0] == {"kind": "rewound", "step": 0, "damaged": "step-00000100"}
    assert "goes on from step 0, since what is later is damaged: step-00000100" in described(told[0])
    assert run.result()["scores"] == RunFolder(toys.trained("words")).result()["scores"]


def test_known_results(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(UserError, match="holds no finished run"):
        folder.result()
    folder.finish({"scores": {"dev": {"accuracy": 0.5}}})
    assert not folder.finished, "without a model"
    folder.model.mkdir()
    assert folder.finished and folder.result()["scores"]["dev"]["accuracy"] == 0.5


def test_known_a_folder_of_several_seeds_names_them(tmp_path: Path) -> None:
    assert str(no_run(tmp_path, " to go on with")).endswith("holds no run to go on with: it has no recipe.json")
    for number in (10, 9):
        (tmp_path / f"seed-{number}").mkdir()
        (tmp_path / f"seed-{number}" / "recipe.json").write_text("{}")
    said = str(no_run(tmp_path, " to go on with"))
    assert f"name one of {tmp_path}/seed-9, {tmp_path}/seed-10 (the same finetune command" in said
