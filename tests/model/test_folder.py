"""A model's folder: everything comes back, damage shows, nothing foreign is overwritten."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import door
import toys
from disk import largest_file
from psitext.errors import UserError
from psitext.files import sha256
from psitext.model import Model, load
from psitext.text.examples import Example
from psitext.train import checkpoint

NAMES = ["words", "pairs", "scores", "tags", "questions"]


def example(name: str) -> Example:
    return Example("good fine", "it was good" if name in ("pairs", "questions") else None, words=("good", "fine"))


@pytest.mark.parametrize("name", [*NAMES, "pretrained"])
def test_law_a_round_trip_is_exact(name: str, tmp_path: Path) -> None:
    model = load(toys.pretrained() if name == "pretrained" else toys.trained(name))
    model = replace(model, temperature=1 / 3)
    again = load(model.save(tmp_path / "model"))
    ours, theirs = checkpoint.tensors_of(model.network), checkpoint.tensors_of(again.network)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    for part in ("text", "head", "task", "temperature"):
        assert getattr(again, part) == getattr(model, part)
    assert json.dumps(again.facts, sort_keys=True) == json.dumps(dict(model.facts), sort_keys=True)
    assert again.tokenizer.fingerprint == model.tokenizer.fingerprint
    assert again.encoder.config == model.encoder.config
    if name == "pretrained":
        assert torch.equal(model.encode(["a good day"]).vector, again.encode(["a good day"]).vector)
    else:
        assert model.predict([example(name)]) == again.predict([example(name)])
    again.save(tmp_path / "again")
    assert door.files(tmp_path / "again") == door.files(tmp_path / "model")


def test_law_logits_are_bitwise_equal_after_a_round_trip(tmp_path: Path) -> None:
    model = load(toys.trained("words"))
    again = load(model.save(tmp_path / "model"))
    examples = [Example(text) for text, _ in toys.words_and_labels(20)]
    assert np.array_equal(model.logits(examples), again.logits(examples))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    shutil.copytree(toys.trained("words") / "model", tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizers/text.json"])
def test_law_damage_is_named(saved: Path, name: str) -> None:
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / name).write_bytes(content)
    with pytest.raises(UserError, match=rf"{saved / name} is damaged: its checksum is not the one it was saved with"):
        load(saved)
    (saved / name).unlink()
    with pytest.raises(UserError, match=f"{name} is missing|is not a model"):
        load(saved)


@pytest.mark.parametrize("place", ["", "model"])
def test_known_lost_checksums_are_what_is_missing(place: str, tmp_path: Path) -> None:
    """From the run's folder and from the model's, whatever asks."""
    shutil.copytree(toys.trained("words"), tmp_path / "run")
    (tmp_path / "run" / "model" / "checksums.json").unlink()
    with pytest.raises(UserError, match=r"run/model/checksums.json is missing; a fresh copy of the model is needed"):
        load(tmp_path / "run" / place)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "3", '{"config.json": 7}', '{"nothing.bin": "00"}'])
def test_known_checksums_that_are_none(saved: Path, content: str) -> None:
    (saved / "checksums.json").write_text(content)
    wrong = "checksums.json does not name model.safetensors" if content in ("[]", "{}") else r"is damaged|is missing"
    with pytest.raises(UserError, match=wrong) as caught:
        load(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizers/text.json", "tokenizers/mine.json"])
def test_known_whatever_is_loaded_has_a_checksum(saved: Path, name: str) -> None:
    """One that is left out would be read unchecked; so would a tokenizer that was put beside ours."""
    shutil.copy(saved / "tokenizers" / "text.json", saved / "tokenizers" / "mine.json")
    sums = json.loads((saved / "checksums.json").read_text())
    sums["tokenizers/mine.json"] = sums["tokenizers/text.json"]
    del sums[name]
    (saved / "checksums.json").write_text(json.dumps(sums))
    with pytest.raises(UserError) as caught:
        load(saved)
    wanted = f"{saved / 'checksums.json'} does not name {name}; a fresh copy of the model is needed"
    assert str(caught.value) == wanted


def test_known_the_card_is_for_readers_who_may_add_to_it(saved: Path) -> None:
    card = (saved / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# finetune\n") and "Task: words (classification; labels: down, up)." in card
    assert "scores: dev accuracy 1, macro_f1 1" in card and "{" not in card
    (saved / "card.md").write_text(card + "\nUse with care.\n", encoding="utf-8")
    assert load(saved).task is not None


def change(saved: Path, **values: object) -> None:
    """Other settings, with the checksum that goes with them."""
    tree = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(tree | values))
    sums = json.loads((saved / "checksums.json").read_text())
    (saved / "checksums.json").write_text(json.dumps(sums | {"config.json": sha256(saved / "config.json")}))


def test_known_changed(saved: Path) -> None:
    """Settings that were changed on purpose, with their checksum, are checked like any others."""
    tree = json.loads((saved / "config.json").read_text())
    cases: list[tuple[dict[str, object], str]] = [
        ({"format": 2}, "has format 2; this psitext reads format 1"),
        ({"encoder": {**tree["encoder"], "family": "nobody"}}, "names no known family 'nobody'"),
        ({"encoder": {**tree["encoder"], "width": 64}}, "does not fit this model: 'encoder.* is .*, not .*64"),
        ({"encoder": {**tree["encoder"], "layers": 2}}, r"it lacks 'encoder.blocks.1.* \(\d+ missing, 0 unknown\)"),
        ({"encoder": {**tree["encoder"], "depth": 2}}, "has an unknown key 'depth'"),
        ({"head": {"for": "cooking", "settings": {}}}, "has a head for 'cooking', which this psitext does not know"),
    ]
    for values, sentence in cases:
        change(saved, **values)
        with pytest.raises(UserError, match=sentence):
            load(saved)
        change(saved, **tree)
    assert load(saved).task is not None


WRONG_TYPES: list[tuple[str, object, str]] = [
    ("encoder", None, "encoder"),
    ("encoder", "x", "encoder"),
    ("encoder", [], "encoder"),
    ("head", None, "head"),
    ("head", "x", "head"),
    ("head", {"settings": None}, "head.for"),
    ("head", {"for": "task"}, "head.settings"),
    ("head", {"for": "task", "settings": None}, "head.settings"),
    ("head", {"for": "pretraining", "settings": None}, "head.settings"),
    ("head", {"for": [], "settings": {}}, "head.for"),
    ("task", "x", "task"),
    ("task", None, "task"),
    ("task", {}, "'name'"),
    ("task", [], "task"),
    ("text", None, "text"),
    ("text", 3, "text"),
    ("facts", None, "facts"),
    ("temperature", None, "temperature"),
    ("temperature", "x", "temperature"),
    ("temperature", "1.5", "temperature"),
    ("temperature", True, "temperature"),
    ("temperature", -1, "temperature"),
    ("temperature", 0, "temperature"),
    ("temperature", float("nan"), "temperature"),
    ("temperature", float("inf"), "temperature"),
]


@pytest.mark.parametrize(("key", "value", "named"), WRONG_TYPES, ids=str)
def test_known_tables_of_another_type(saved: Path, key: str, value: object, named: str) -> None:
    change(saved, **{key: value})
    with pytest.raises(UserError) as caught:
        load(saved)
    said = str(caught.value)
    assert said.startswith(f"{saved if value == {} else saved / 'config.json'}") and named in said and "\n" not in said
    assert key != "temperature" or isinstance(value, str | bool | None) or "more than 0" in said or "finite" in said


@pytest.mark.parametrize("key", ["encoder", "head", "task", "text", "temperature", "facts"])
def test_known_tables_that_are_missing(saved: Path, key: str) -> None:
    tree = json.loads((saved / "config.json").read_text())
    del tree[key]
    (saved / "config.json").write_text(json.dumps(tree))
    change(saved)
    with pytest.raises(UserError, match=f"config.json lacks '{key}'"):
        load(saved)


def test_known_a_temperature_may_be_a_whole_number(saved: Path) -> None:
    change(saved, temperature=2)
    assert load(saved).temperature == 2


@pytest.mark.parametrize("path", [None, 3, b"model"])
def test_known_a_path_that_is_none(saved: Path, path: object) -> None:
    with pytest.raises(UserError, match=f"a model is saved to the path of a folder, not to a {type(path).__name__}"):
        load(saved).save(path)  # type: ignore[arg-type]


def test_law_saving_replaces_a_model_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    model = load(saved)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("years of work")
    for place in ("own", "own/thesis.txt"):
        with pytest.raises(UserError, match="holds something else than a model; name another folder"):
            model.save(tmp_path / place)
    assert (tmp_path / "own" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    load(model.save(tmp_path / "empty"))
    replace(model, temperature=2.0).save(saved)
    assert load(saved).temperature == 2.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "model", "own"]


def test_law_a_full_disk_leaves_the_older_model(saved: Path) -> None:
    model, before = load(saved), door.files(saved)
    with (
        largest_file(4_000),
        pytest.raises(UserError, match=rf"cannot write {saved}.*: .*; what was there is as it was"),
    ):
        replace(model, temperature=2.0).save(saved)
    assert door.files(saved.parent) == {f"model/{name}": content for name, content in before.items()}


def test_known_where_no_model_is(tmp_path: Path) -> None:
    model: Model = load(toys.trained("words"))  # a run's folder is as good as its model's
    assert model.task is not None
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.json").write_text("{}")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "config.json").write_text("{}")
    sentences = {
        "absent": "there is no model at .*absent",
        "run": "has not finished, so it holds no model yet; `psitext resume .*run` goes on with it",
        "theirs": "is not a psitext model; a Hugging Face folder is loaded as hf:",
        ".": "is not a model: it has no config.json",
    }
    for name, sentence in sentences.items():
        with pytest.raises(UserError, match=sentence):
            load(tmp_path / name)
