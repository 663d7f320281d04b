"""A run that is killed, at whatever moment, and goes on, is the run that was never killed: bit for bit."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import door
import toys
from psitext.randomness import below


def start(verb: str, out: str, cwd: Path) -> door.Child:
    return door.start(verb, "--config", f"{verb}.toml", "-o", out, cwd=cwd)


def whole(verb: str, folder: Path) -> Path:
    """The folder with the verb's recipe and a run ``whole`` that nothing disturbed."""
    recipe = toys.PRETRAIN if verb == "pretrain" else f'task = "{toys.task_file(folder, "sentiment")}"' + toys.FINETUNE
    (folder / f"{verb}.toml").write_text(recipe, encoding="utf-8")
    done = start(verb, "whole", folder).wait()
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module", params=["pretrain", "finetune"])
def verb(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def place(verb: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole(verb, tmp_path_factory.mktemp(verb))


def logged(run: Path) -> int:
    """Steps that the run has logged."""
    file = run / "metrics.jsonl"
    return len(file.read_bytes().splitlines()) if file.exists() else 0


def assert_same_run(run: Path, other: Path) -> None:
    assert door.files(run / "model") == door.files(other / "model")
    assert toys.events(run) == toys.events(other)
    results = [json.loads((folder / "result.json").read_text()) for folder in (run, other)]
    for result in results:
        result.pop("seconds", None)
        result["counters"].pop("seconds")
    assert results[0] == results[1]
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == sorted(
        path.name for path in (other / "checkpoints").iterdir()
    )


def test_law_kill_at_any_step_and_resume_equals_the_run_that_was_not_killed(verb: str, place: Path) -> None:
    at = sorted(below(12, 0, verb, "kill", index).item() for index in range(3))
    child = start(verb, "killed", place)
    for events in at:
        door.until(lambda: logged(place / "killed") > events)  # noqa: B023 - it is called at once
        child.kill(signal.SIGKILL)
        done = child.wait()
        assert done.code == -signal.SIGKILL or (place / "killed" / "result.json").exists()
        child = door.start("resume", "killed", cwd=place)
    done = child.wait()
    assert done.code == 0, done.err
    assert_same_run(place / "killed", place / "whole")


def test_law_ctrl_c_saves_says_how_to_go_on_and_changes_nothing(verb: str, place: Path) -> None:
    child = start(verb, "stopped", place)
    for events in (1, 6):
        door.until(lambda: logged(place / "stopped") > events)  # noqa: B023 - it is called at once
        child.kill(signal.SIGINT)
        done = child.wait()
        assert done.code == 130
        step = json.loads(newest(place / "stopped").joinpath("counters.json").read_text())["step"]
        assert done.err.splitlines()[-1] == (
            f"psitext: stopped after step {step}; `psitext resume stopped` goes on from there"
        )
        child = door.start("resume", "stopped", cwd=place)
    done = child.wait()
    assert done.code == 0, done.err
    assert_same_run(place / "stopped", place / "whole")


def newest(run: Path) -> Path:
    return max((run / "checkpoints").glob("step-*"))


def test_law_a_truncated_checkpoint_is_passed_over(verb: str, place: Path) -> None:
    run, harm = place / "harmed", "model.safetensors"
    child = start(verb, run.name, place)
    door.until(lambda: len(list((run / "checkpoints").glob("step-*"))) == 2)
    child.kill(signal.SIGKILL)
    child.wait()
    half = newest(run)
    content = (half / harm).read_bytes()
    (half / harm).write_bytes(content[: len(content) // 2])
    # What a kill in the middle of writing leaves: a hidden folder that holds a part of a checkpoint.
    shutil.copytree(half, run / "checkpoints" / ".step-00000099.1.part")
    done = door.run("resume", run.name, cwd=place)
    assert done.code == 0, done.err
    assert_same_run(run, place / "whole")


KILLED_AT_8 = """
import os, signal
from psitext.train import checkpoint
save = checkpoint.save
def last(*given, **named):
    path = save(*given, **named)
    if path.name == "step-00000008":
        os.kill(os.getpid(), signal.SIGKILL)
    return path
checkpoint.save = last
"""


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_law_harmed_best_weights_change_nothing(verb: str, place: Path, how: str) -> None:
    run = place / f"best-{how}"
    door.start(verb, "--config", f"{verb}.toml", "-o", run.name, cwd=place, before=KILLED_AT_8).wait()
    (best,) = (run / "checkpoints").glob("best-*")
    content = bytearray((best / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (best / "model.safetensors").write_bytes(content)
    if how == "gone":
        shutil.rmtree(best)
    done = door.run("resume", run.name, cwd=place)  # from step 4, which knows of no best weights yet
    assert done.code == 0, done.err
    assert_same_run(run, place / "whole")


def test_known_best_weights_that_nothing_makes_again_are_asked_for(verb: str, place: Path) -> None:
    run = place / "lost"
    door.start(verb, "--config", f"{verb}.toml", "-o", run.name, cwd=place, before=KILLED_AT_8).wait()
    for lost in ("best-00000006", "step-00000004"):
        shutil.rmtree(run / "checkpoints" / lost)
    before = door.files(run)
    done = door.run("resume", run.name, cwd=place)
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "psitext: lost/checkpoints/best-00000006 is missing or damaged, and every checkpoint that is left needs it; "
        "put a copy of it back, or delete lost/checkpoints to train from the start"
    )
    assert door.files(run).keys() == before.keys() - {".lock"}


def test_law_two_at_once_do_not_meet(verb: str, place: Path) -> None:
    first = start(verb, "twice", place)
    door.until(lambda: logged(place / "twice") > 0)
    first.kill(signal.SIGSTOP)
    for second in (start(verb, "twice", place), door.start("resume", "twice", cwd=place)):
        done = second.wait()
        assert (done.code, done.err.splitlines()[-1]) == (
            2,
            f"psitext: another process ({first.pid}) is at work in twice; wait until it has ended",
        )
    first.kill(signal.SIGCONT)
    done = first.wait()
    assert done.code == 0, done.err
    assert_same_run(place / "twice", place / "whole")


def test_law_a_result_without_its_model_is_no_finished_run(verb: str, place: Path) -> None:
    run = place / "bare"
    shutil.copytree(place / "whole", run)
    shutil.rmtree(run / "model")
    (run / ".result.json.77.part").write_text("{")
    assert door.run("resume", run.name, cwd=place).code == 0
    assert_same_run(run, place / "whole")
    assert sorted(file.name for file in run.iterdir()) == sorted(file.name for file in (place / "whole").iterdir())


def test_law_a_kill_while_a_run_prepares_leaves_one_that_can_go_on(verb: str, place: Path) -> None:
    child = start(verb, "early", place)
    door.until(lambda: (place / "early" / "recipe.json").exists())
    child.kill(signal.SIGKILL)
    child.wait()
    assert not (place / "early" / "metrics.jsonl").exists()
    assert start(verb, "early", place).wait().code == 0
    assert_same_run(place / "early", place / "whole")


def test_known_a_finished_run_is_done_and_another_recipe_is_refused(verb: str, place: Path) -> None:
    before = door.files(place / "whole")
    assert start(verb, "whole", place).wait().code == 0
    assert door.run("resume", "whole", cwd=place).code == 0
    for changed in (["--seed", "5"], ["--set", "train.steps=25"], ["--set", "encoder.width=16"]):
        done = door.run(verb, "--config", f"{verb}.toml", "-o", "whole", *changed, cwd=place)
        assert (done.code, done.err) == (
            2,
            "psitext: whole holds a run of another recipe; give --out another folder, or `psitext resume whole`\n",
        )
    assert door.files(place / "whole") == before


def test_law_a_real_process_killed_and_resumed(tmp_path: Path) -> None:
    """The same from fresh interpreters, as a user starts them."""
    whole("pretrain", tmp_path)
    command = [sys.executable, "-m", "psitext", "pretrain", "--config", "pretrain.toml", "-o", "killed"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, env=door.environment(), **quiet) as child:
        door.until(lambda: logged(tmp_path / "killed") > 5)
        child.kill()
    done = door.real("resume", "killed", cwd=tmp_path)
    assert done.code == 0, done.err
    assert_same_run(tmp_path / "killed", tmp_path / "whole")
