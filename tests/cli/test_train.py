"""Training from the command line: any text, any budget, several seeds."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path
from typing import Any

import pytest

import door
import toys
from psitext.text import toy

STORIES = list(toy.stories(80))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train")
    (folder / "pt.toml").write_text(toys.PRETRAIN, encoding="utf-8")
    (folder / "ft.toml").write_text(toys.FINETUNE, encoding="utf-8")
    toys.table(folder / "own.csv", [("review", "mood"), *toys.words_and_labels(60)])
    text = "\n\n".join("\n".join(story) for story in STORIES)
    (folder / "a.txt").write_text(text, encoding="utf-8")
    (folder / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    toys.table(folder / "c.csv", [("id", "body"), *((i, f'"{" ".join(s)}"') for i, s in enumerate(STORIES))])
    lines = [json.dumps({"text": " ".join(story)}) for story in STORIES]
    (folder / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


DATA = {
    "plain": ["--data", "a.txt"],
    "csv": ["--data", "c.csv", "--text", "body"],
    "jsonl": ["--data", "d.jsonl"],
    "two": ["a.txt", "b.txt.gz"],
}


def pretrained(place: Path, name: str, *settings: str) -> dict[str, Any]:
    """What ``recipe.json`` and ``result.json`` hold after a run on this text."""
    done = door.run("pretrain", "--config", "pt.toml", *DATA[name], *settings, "-o", f"run-{name}", cwd=place)
    assert done.code == 0, done.err
    assert done.out == f"model: run-{name}/model\nnext: psitext finetune --task toy-sentiment --init run-{name}\n"
    assert all(line.startswith("pretrain: step ") for line in done.err.splitlines())
    files = {file: json.loads((place / f"run-{name}" / f"{file}.json").read_text()) for file in ("recipe", "result")}
    return files["recipe"] | files["result"]


def test_smoke_pretrain_for_two_seconds(place: Path) -> None:
    run = pretrained(place, "plain", "--minutes", "0.033", "--seed", "3")
    assert run["given"]["train"]["minutes"] == 0.033 and run["recipe"]["train"]["minutes"] is None
    assert run["recipe"]["train"]["seed"] == 3
    assert run["counters"]["step"] == run["recipe"]["train"]["steps"]


@pytest.mark.parametrize("name", ["csv", "jsonl", "two"])
def test_smoke_pretrain_on_any_layout(place: Path, name: str) -> None:
    assert pretrained(place, name, "--set", "train.steps=3")["counters"]["step"] == 3


def test_smoke_finetune_for_two_seconds(place: Path) -> None:
    """The minutes take the place of the recipe's steps, for every seed, and are worked out into steps."""
    data = "--config ft.toml --data own.csv --text review --label mood".split()
    done = door.run("finetune", *data, "--minutes", "0.033", "--seeds", "2", "-o", "short", cwd=place)
    assert done.code == 0, done.err
    for seed in (0, 1):
        run = json.loads((place / "short" / f"seed-{seed}" / "recipe.json").read_text())
        assert run["given"]["train"]["minutes"] == 0.033 and run["given"]["train"]["steps"] is None
        assert run["recipe"]["train"]["minutes"] is None and run["recipe"]["train"]["steps"] >= 1


def test_known_several_seeds_with_their_spread(place: Path) -> None:
    command = "finetune --config ft.toml --data own.csv --text review --label mood -o many --set train.steps=4".split()
    done = door.run(*command, "--seeds", "2", "--seed", "5", cwd=place)
    assert done.code == 0, done.err
    assert "model: many/seed-5/model" in done.out and "model: many/seed-6/model" in done.out
    assert "mean" in done.out and "95 % interval" in done.out and "majority" in done.out
    seeds = [json.loads((place / f"many/seed-{n}/recipe.json").read_text())["recipe"]["train"]["seed"] for n in (5, 6)]
    assert seeds == [5, 6]
    again = door.run(*command, "--seeds", "2", "--seed", "5", cwd=place)
    assert (again.code, again.out, again.err) == (0, done.out, "")


def test_known_a_real_bert_lifted_and_read_by_moduli(place: Path) -> None:
    data = "--data own.csv --text review --label mood --set train.steps=2".split()
    command = ["finetune", "--init", str(toys.pretrained()), *data]
    done = door.run(*command, "--encoder", "qbert", "--head", "modulus", "-o", "lifted", cwd=place)
    assert done.code == 0, done.err
    config = json.loads((place / "lifted" / "model" / "config.json").read_text(encoding="utf-8"))
    assert (config["encoder"]["family"], config["head"]["settings"]["kind"]) == ("qbert", "modulus")
    for option, name in (("--encoder", "qbrt"), ("--head", "modulo")):
        refused = door.run(*command, option, name, cwd=place)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith(f"psitext: {option} is one of ") and f"not '{name}'; did you mean" in refused.err


def test_law_the_seed_of_the_recipe_holds_without_an_option(place: Path) -> None:
    command = "finetune --config ft.toml --data own.csv --text review --label mood --set train.steps=2".split()
    done = door.run(*command, "--set", "train.seed=8", "-o", "seeded", cwd=place)
    assert done.code == 0, done.err
    assert json.loads((place / "seeded/recipe.json").read_text())["recipe"]["train"]["seed"] == 8


def test_known_resume_of_a_finished_run_shows_its_scores(place: Path) -> None:
    command = "finetune --config ft.toml --data own.csv --text review --label mood --set train.steps=2 -o done".split()
    assert door.run(*command, "--tensorboard", cwd=place).code == 0
    assert any((place / "done" / "tensorboard").iterdir())
    shown = door.run("resume", "done", cwd=place)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("model: done/model\n") and "accuracy" in shown.out


def test_known_ctrl_c_while_a_run_prepares(place: Path) -> None:
    """Reading text and learning a tokenizer can take long; an interruption there is no loss either."""
    child = door.start("pretrain", "--config", "pt.toml", "--data", "toy:20000", "-o", "early", cwd=place)
    door.until(lambda: (place / "early" / "recipe.json").exists())
    child.kill(signal.SIGINT)
    done = child.wait()
    assert (done.code, done.err) == (130, "psitext: interrupted; `psitext resume early` goes on from there\n")
    assert not (place / "early" / "metrics.jsonl").exists()


def test_known_a_loss_that_is_no_number(place: Path) -> None:
    """It stops the run, keeps the checkpoint before, and the run can go on with another recipe elsewhere."""
    command = "finetune --config ft.toml --data own.csv --text review --label mood -o wild".split()
    settings = [
        "train.optim.lr=1e9",
        "train.optim.head_lr=1e9",
        "train.optim.clip=0",
        "train.optim.warmup=0",
        "train.checkpoint_every=1",
    ]
    done = door.run(*command, *(part for one in settings for part in ("--set", one)), cwd=place)
    assert done.code == 2, done
    *_, last = done.err.splitlines()
    assert last.startswith("psitext: the ") and " at step " in last and "lower train.optim.lr" in last
    assert "Warning" not in done.err and "Traceback" not in done.err
    kept = [path.name for path in (place / "wild" / "checkpoints").glob("step-*")]
    assert kept and not (place / "wild" / "model").exists()


def test_known_ctrl_c_in_one_of_several_seeds(place: Path) -> None:
    """The same command goes on with all of them; their common folder is no run, and says whose it is."""
    data = "--config ft.toml --data own.csv --text review --label mood".split()
    command = ["finetune", *data, "--set", "train.steps=300", "--seeds", "2", "-o", "spread"]
    child = door.start(*command, cwd=place)
    door.until(lambda: (place / "spread" / "seed-0" / "metrics.jsonl").exists())
    child.kill(signal.SIGINT)
    done = child.wait()
    assert done.code == 130, done
    last = done.err.splitlines()[-1]
    assert last.startswith("psitext: stopped after step ")
    assert last.endswith("; the same command, with all 2 seeds, goes on from there")
    for verb in ("resume", "report"):
        refused = door.run(verb, "spread", cwd=place)
        assert refused.code == 2 and refused.out == ""
        assert refused.err.startswith("psitext: spread holds a run for each seed; name one of spread/seed-0 (")
