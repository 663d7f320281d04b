"""Responses from files to a folder: every method learns, goes on where it stopped, and leaves two models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import talks
from psitext.errors import UserError
from psitext.experiments.dialog import load_responder, respond, respond_run
from psitext.experiments.dialog.methods import METHODS
from psitext.experiments.runs.folder import RunFolder
from psitext.model import load
from psitext.train.checkpoint import read_tensors, tensors_of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talks.written(tmp_path_factory.mktemp("training"))


@pytest.mark.parametrize("kind", METHODS)
def test_smoke_every_method_learns_and_leaves_two_models(place: Path, tmp_path: Path, kind: str) -> None:
    respond_run(talks.recipe(place, method={"kind": kind}, train={"steps": 30, "evaluate_every": 10}), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    judged = [event for event in folder.events() if event["kind"] == "dev"]
    assert [event["step"] for event in judged] == [10, 20, 30]
    least = METHODS[kind].least
    assert judged[-1][least] < 0.9 * judged[0][least]
    result = folder.result()
    assert result["facts"]["turns"]["kept"] == 36
    assert result["facts"]["dialog"] == {"method": kind, "turns": 10, "context_len": talks.PLACES, "tidy": True}
    assert load(tmp_path / "run").encode(["no."]).vector.shape == (1, talks.LATENT), "the space is a model like others"
    found = load_responder(tmp_path / "run")
    assert found.method == kind and found.style is None
    assert len(found.respond(["where is the cat?"], 3)) == 3


def test_law_best_weights_are_kept_and_are_those_of_both_models(place: Path, tmp_path: Path) -> None:
    respond_run(talks.recipe(place, train={"steps": 6, "evaluate_every": 2, "optim": {"lr": 0.3}}), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    best = folder.result()["counters"]["best_step"]
    judged = {event["step"]: event["s2s"] for event in folder.events() if event["kind"] == "dev"}
    assert judged[best] == min(judged.values())
    kept = read_tensors(tmp_path / "run" / "checkpoints" / f"best-{best:08d}" / "model.safetensors")
    found = load_responder(tmp_path / "run")
    for part, module in (("contexts", found.contexts.encoder), ("sentences", found.space.encoder)):
        for name, value in tensors_of(module).items():
            assert torch.equal(value, kept[f"encoder.{part}.{name}"]), name


def test_law_a_run_that_was_stopped_is_the_run_that_was_not(place: Path, tmp_path: Path) -> None:
    style = [{"files": ["style.txt"], "dir": str(place)}]
    whole = talks.recipe(place, style=style, train={"checkpoint_every": 2})
    respond_run(whole, tmp_path / "through")

    def stop(event: Any) -> None:
        if event["kind"] == "train" and event["step"] == 4:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        respond_run(whole, tmp_path / "stopped", [stop])
    respond_run(whole, tmp_path / "stopped")
    first, second = load_responder(tmp_path / "through"), load_responder(tmp_path / "stopped")
    for one, other in ((first.space, second.space), (first.contexts, second.contexts)):
        theirs = tensors_of(other.network)
        assert all(torch.equal(value, theirs[name]) for name, value in tensors_of(one.network).items())
    assert first.style is not None and second.style is not None
    assert first.style.shape == (12, talks.LATENT) and torch.equal(first.style, second.style)


def test_law_other_dialogues_are_another_run(place: Path, tmp_path: Path) -> None:
    def stop(event: Any) -> None:
        raise RuntimeError("killed")

    (tmp_path / "own.tsv").write_text((place / "said.tsv").read_text())
    own = talks.recipe(place, dialogs={"files": [str(tmp_path / "own.tsv")]}, train={"checkpoint_every": 1})
    with pytest.raises(RuntimeError):
        respond_run(own, tmp_path / "run", [stop])
    with (tmp_path / "own.tsv").open("a") as file:
        file.write("\nis it ? __eou__ no . __eou__\t1")
    with pytest.raises(UserError, match=r"not those that the run .* began with"):
        respond_run(own, tmp_path / "run")


def test_smoke_in_one_call(place: Path, tmp_path: Path) -> None:
    small = ["train.steps=2", "train.precision=fp32", "dialogs.context_len=24", "dialogs.max_len=24"]
    folder = respond(
        place / "space", ["said.tsv"], style=["style.txt"], data_dir=place, out=tmp_path / "run",
        settings=[*small, "dialogs.max_tokens=20"],
    )  # fmt: skip
    recipe = RunFolder(folder).recipe()
    assert recipe is not None and recipe.verb == "respond"
    assert load_responder(folder).style is not None


def test_known_mistakes(place: Path, tmp_path: Path) -> None:
    fits = ["dialogs.context_len=24", "dialogs.max_len=24", "dialogs.max_tokens=20"]
    with pytest.raises(UserError, match="no dialogues; name files"):
        respond(place / "space", out=tmp_path / "a", settings=fits)
    with pytest.raises(UserError, match=r"method\.kind = 'fusion', not 'cvae'"):
        talks.recipe(place, method={"kind": "cvae"}, style=[{"files": ["style.txt"]}])
    with pytest.raises(UserError, match="style_share is a share"):
        talks.recipe(place, style_share=0.5)
    with pytest.raises(UserError, match="is no run of responses"):
        load_responder(place / "space")
    assert not (tmp_path / "a").exists(), "a mistake leaves nothing"


def test_known_what_a_run_leaves_out_is_noted(place: Path, tmp_path: Path) -> None:
    def notes(name: str, **changes: Any) -> list[str]:
        respond_run(talks.recipe(place, train={"steps": 1}, **changes), tmp_path / name)
        return list(RunFolder(tmp_path / name).result()["facts"]["notes"])

    style = [{"files": ["style.txt"], "dir": str(place)}]
    assert notes("whole") == []
    assert notes("style", style=style, dialogs={"max_words": 11, "context_len": 12}) == [
        "style: trained on 8 of 12 sentences (left out: 4 of too many words)",
        "24 of 36 contexts were longer than 12 tokens, and lost the oldest",
    ]
    assert notes("short", dialogs={"max_words": 2, "dev": []}) == [
        "responses: trained on 12 of 36 sentences (left out: 24 of too many words)",
        "there were no dialogues to judge by (--dev): nothing judged this run, and its last weights are kept",
    ]
    with pytest.raises(
        UserError, match=r"no sentence is left.* --set dialogs\.max_words=\.\.\., max_tokens or max_len"
    ):
        notes("none", style=style, dialogs={"max_words": 8})
