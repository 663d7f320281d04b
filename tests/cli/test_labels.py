"""Labels from the command line: learnt from a file, asked for in two ways, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

import door
import tellers
from psitext.cli.generate import labels
from psitext.experiments import control
from psitext.train.adversarial import GanConfig

FIT = ("generate", "fit", "-m", "space", "--data", "who.csv", "--text", "said", "--label", "who")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence space, sentences that say who, and what was learnt of them."""
    folder = tmp_path_factory.mktemp("labels")
    tellers.space().save(folder / "space")
    rows = [f"{text},{who}" for text in tellers.SENTENCES for who in tellers.WHO if text.startswith(who)]
    (folder / "who.csv").write_text("\n".join(["said,who", *rows, ""]))
    (folder / "scores.csv").write_text("said,who\n" + "".join(f"a girl sits,{n / 7}\n" for n in range(12)))
    done = door.run(*FIT, "--steps", 150, "--posterior", "means", "--clarity", 1, "-o", "runs/who", cwd=folder)
    assert done.code == 0, done
    assert done.out.splitlines()[-2:] == [
        "labels: runs/who",
        "next: psitext generate label a girl --model runs/who",
    ]
    return folder


def test_law_choices_are_those_that_there_are() -> None:
    assert get_args(GanConfig.model_fields["posterior"].annotation) == labels.POSTERIORS


def test_known_what_is_written_is_what_the_functions_give(place: Path) -> None:
    found = control.load(place / "runs" / "who")
    done = door.run("generate", "label", "the dog", "-m", "runs/who", "-n", 5, "--seed", 2, cwd=place)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == found.write("the dog", 5, seed=2)
    done = door.run("generate", "label", "the dog", "a girl", "-m", "runs/who", "-n", 2, "-o", "o.jsonl", cwd=place)
    assert (done.code, done.out.strip()) == (0, "4 lines: o.jsonl"), done
    lines = [json.loads(line) for line in (place / "o.jsonl").read_text().splitlines()]
    assert [line["label"] for line in lines] == ["the dog"] * 2 + ["a girl"] * 2
    assert [line["text"] for line in lines[2:]] == found.write("a girl", 2)


def test_known_the_group_itself_takes_a_label(place: Path) -> None:
    short = door.run("generate", "--label", "the dog", "--model", "runs/who", "-n", 3, cwd=place)
    long = door.run("generate", "label", "the dog", "--model", "runs/who", "-n", 3, cwd=place)
    assert (short.code, short.out, short.err) == (0, long.out, "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("label", "the dgo", "-m", "runs/who"), "never saw a label 'the dgo'; did you mean 'the dog'?"),
        (
            ("--label", "wolf", "-m", "runs/who"),
            "never saw a label 'wolf'; it knows: a girl, one boy, the dog, two men",
        ),
        (("--label", "wolf"), "takes --label and --model together"),
        (("-m", "runs/who", "sample"), "options of `psitext generate sample` stand behind its name"),
        (("label", "the dog", "-m", "space"), "has no control.json"),
        (("label", "the dog", "-m", "nowhere"), "there is no model at nowhere"),
        (("label", "the dog", "-m", "runs/who", "--n", "0"), "--n is at least 1, not 0"),
        (("label", "the dog", "-m", "runs/who", "--scale", "-1"), "--scale is 0 or above, not -1"),
        (("label", "the dog", "-m", "runs/who", "--space", "nowhere"), "there is no model at nowhere"),
        (("fit", "-m", "space", "-o", "x"), "a file (--data) or of a task (--task); give one of them"),
        (("fit", "-m", "space", "-o", "x", "--task", "yelp", "--text", "t"), "columns of a file of your own"),
        (("fit", "-m", "space", "-o", "x", "--data", "who.csv", "--posterior", "mode"), "--posterior is one of"),
        (("fit", "-m", "space", "-o", "x", "--data", "who.csv", "--clarity", "-2"), "--clarity is 0 or above"),
        (("fit", "-m", "space", "-o", "x", "--data", "who.csv"), "has no columns 'text' and 'label'"),
        ((*FIT[1:5], "scores.csv", *FIT[6:], "-o", "x"), "no labels of single texts"),
        ((*FIT[1:], "-o", "space", "--steps", "1"), "space holds something else than a control"),
    ],
)
def test_known_bad_input(place: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = door.run("generate", *arguments, cwd=place)
    assert done.code == 2 and sentence in done.err and done.err.startswith("psitext: "), done
    assert len(done.err.splitlines()) == 1 and "Traceback" not in done.err and not (place / "x").exists()


def test_known_labels_of_a_space_that_ships(place: Path) -> None:
    """Its name stands for it wherever the command is given."""
    done = door.run(*FIT[:2], "-m", "optimus-tiny", *FIT[4:], "--steps", 5, "-o", "runs/shipped", cwd=place)
    assert done.code == 0, done
    assert json.loads((place / "runs" / "shipped" / "control.json").read_text())["model"] == "optimus-tiny"
    done = door.run("generate", "label", "the dog", "-m", "shipped", "-n", 2, cwd=place / "runs")
    assert (done.code, len(done.out.splitlines())) == (0, 2), done
