"""Models that come with psitext: names that find them, typos, lists and cards, and how much room they take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

import door
import toys
from psitext.errors import UserError
from psitext.model import folder, load, shipped
from psitext.model.shipped import catalog
from psitext.train import checkpoint

PLANNED = {"bert-tiny", "qbert-tiny", "rac-tiny", "optimus-tiny"}


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped models with two in it, in a place of their own."""
    for name in ("small-bert", "sentiment"):
        model = load(toys.pretrained() if name == "small-bert" else toys.trained("words"))
        facts = {**model.facts, "parameters": 7, catalog.TEXT: "generated stories", catalog.SCORE: "stsb 0.5"}
        model.facts.clear() if isinstance(model.facts, dict) else None
        model.facts.update(facts)  # type: ignore[attr-defined]
        folder.write(model, tmp_path / "shipped" / name, narrow=True, words=f"# {name}\n")
    (tmp_path / "other").symlink_to(tmp_path / "shipped" / "sentiment")
    monkeypatch.setattr(catalog, "FOLDER", tmp_path / "shipped")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "shipped"


def test_law_weights_are_bfloat16_in_the_file_and_float32_in_the_model(ours: Path) -> None:
    whole, narrow = load(toys.pretrained()), load("small-bert")
    with safe_open(ours / "small-bert" / checkpoint.MODEL, framework="pt") as file:
        assert {file.get_slice(name).get_dtype() for name in file.keys()} == {"BF16"}  # noqa: SIM118 - no mapping
    given, found = checkpoint.tensors_of(whole.network), checkpoint.tensors_of(narrow.network)
    assert given.keys() == found.keys()
    for name, value in found.items():
        assert value.dtype == torch.float32
        assert torch.equal(value, given[name].bfloat16().float())
        assert torch.allclose(value, given[name], rtol=2**-8, atol=0)


def test_law_a_path_comes_before_a_name(ours: Path, tmp_path: Path) -> None:
    assert load("small-bert").task is None
    (tmp_path / "small-bert").symlink_to(ours / "sentiment")
    assert load("small-bert").task is not None
    assert shipped.located("small-bert") == Path("small-bert")


def test_law_the_empty_name_is_no_folder() -> None:
    with pytest.raises(UserError, match=r"^the name of the model is empty; give a run, .* `psitext models` lists$"):
        shipped.located("")


@pytest.mark.parametrize("name", ["../other", "./small-bert", "small-bert/", "small-bert/../sentiment", ".", "*"])
def test_law_a_name_is_no_path(ours: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "deeper" / "down"
    elsewhere.mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    assert shipped.located(name) == Path(name)
    if name != ".":
        with pytest.raises(UserError, match="there is no model at"):
            load(name)


def test_known_near_names(ours: Path) -> None:
    with pytest.raises(UserError, match=r"^there is no model at smal-bert; did you mean 'small-bert'\?$"):
        load("smal-bert")
    with pytest.raises(UserError, match=r"did you mean 'small-bert'"):
        load("SMALL-BERT")
    with pytest.raises(UserError, match=r"^there is no model at nothing-like-it; `psitext models` lists names$"):
        load("nothing-like-it")
    with pytest.raises(UserError, match=r"is called 'sentimnt'; did you mean 'sentiment'\?"):
        shipped.card("sentimnt")
    with pytest.raises(UserError, match=r"is called 'xyz'; there is: sentiment, small-bert"):
        shipped.card("xyz")


def test_law_damage_shows(ours: Path) -> None:
    file = ours / "small-bert" / checkpoint.MODEL
    file.write_bytes(file.read_bytes()[:-1] + b"\0\1")
    with pytest.raises(UserError, match="damaged"):
        load("small-bert")
    (ours / "sentiment" / catalog.SETTINGS).write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match="sentiment is damaged"):
        shipped.entries()


def test_known_entries_and_cards(ours: Path) -> None:
    first, second = shipped.entries()
    assert (first.name, first.family, second.name, second.family) == ("sentiment", "bert", "small-bert", "bert")
    assert (second.parameters, second.trained_on, second.score) == (7, "generated stories", "stsb 0.5")
    assert second.bytes == sum(file.stat().st_size for file in (ours / "small-bert").rglob("*") if file.is_file())
    assert shipped.card("small-bert") == "# small-bert\n"


def test_law_a_list_needs_no_torch() -> None:
    code = (
        "import sys; from psitext.model import shipped; from psitext.cli import early; shipped.entries(); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


@pytest.mark.parametrize(
    "command",
    [
        ("encode", "a text", "--model"),
        ("predict", "a text", "--model"),
        ("evaluate", "--task", "toy-sentiment", "--model"),
        ("export", "-o", "out", "--model"),
        ("finetune", "--task", "toy-sentiment", "--init"),
        ("pretrain", "--data", "toy:20", "--encoder"),
        ("pretrain", "--data", "toy:20", "--decoder"),
        ("explain", "text", "a text", "--model"),
        ("circuit", "cost"),
        ("generate", "sample", "--model"),
        ("compress", "--chi", "2", "-o", "out"),
    ],
    ids=" ".join,
)
def test_known_a_typo_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    if not shipped.names():
        pytest.skip("no model is packed yet")
    name = shipped.names()[0]
    done = door.run(*command, name + "y", cwd=tmp_path)
    assert done.code == 2, done
    assert done.err.startswith(f"psitext: there is no model at {name}y; did you mean '{name}'"), done


@pytest.mark.skipif(not catalog.names(), reason="no model is packed yet")
def test_law_what_ships_is_small_whole_and_described() -> None:
    assert set(catalog.names()) == PLANNED
    assert {path.name for path in catalog.FOLDER.iterdir()} == set(catalog.names())
    assert sum(file.stat().st_size for file in catalog.FOLDER.rglob("*") if file.is_file()) <= 25_000_000
    for entry in shipped.entries():
        model = load(entry.name)
        assert sum(one.numel() for one in model.network.parameters()) == entry.parameters
        text = shipped.card(entry.name)
        assert all(part in text for part in ("## Training", "## Scores", "## Limits", "recipe: `shipped-", "seed"))
        tree = json.loads((catalog.FOLDER / entry.name / catalog.SETTINGS).read_text(encoding="utf-8"))
        assert tree["facts"]["name"] == entry.name and entry.trained_on and entry.score
        assert str(tree["facts"]["recipe"]) in text
        settings = (catalog.FOLDER / entry.name / catalog.SETTINGS).read_text(encoding="utf-8")
        paths = [word for word in (text + settings).replace('"', " ").split() if word.startswith(("/", "~"))]
        assert paths == [], "a place on the machine that packed it"


def test_smoke_commands_take_a_name(tmp_path: Path) -> None:
    done = door.run("encode", "a gripping, funny film", "--model", "bert-tiny", cwd=tmp_path)
    assert done.code == 0, done
    assert len(json.loads(done.out)["vector"]) == 128
    done = door.run("models", cwd=tmp_path)
    assert done.code == 0 and all(line.split()[0] in PLANNED for line in done.out.splitlines())
    assert door.run("models", "bert-tiny", cwd=tmp_path).out == shipped.card("bert-tiny")
