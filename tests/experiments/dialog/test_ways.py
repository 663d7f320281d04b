"""Rows of tables 4 and 5, from training to numbers, at a size for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import talks
from psitext.errors import UserError
from psitext.experiments.dialog import ways
from psitext.experiments.dialog.scoring import DialogTest
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import CorpusConfig

pytest.importorskip("nltk")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talks.written(tmp_path_factory.mktemp("ways"))


def test_smoke_a_row_of_table_4(place: Path, tmp_path: Path) -> None:
    test = DialogTest(files=("said.tsv",), limit=5, answers=3)
    row = ways.row(talks.recipe(place, train={"steps": 4}), test, tmp_path / "run")
    assert row.metrics.keys() == {"recall", "precision", "f1", "distinct", "length"}
    assert row.rows == {"train": 36, "test": 5}
    assert row.notes["steps"] == 4 and len(row.notes["shown"]) == 5
    again = ways.row(talks.recipe(place, train={"steps": 4}), test, tmp_path / "run")
    assert again.metrics == row.metrics and again.seconds == row.seconds, "what is trained is not trained again"


def test_smoke_a_row_of_table_5_has_judges_of_their_own_text(place: Path, tmp_path: Path) -> None:
    lines = [f"pray , dear watson , see what {one} {two} has done ." for one in "abcdefgh" for two in "klmnop"]
    (tmp_path / "style.txt").write_text("\n\n".join("\n".join(lines[at : at + 8]) for at in range(0, 48, 8)))
    other = CorpusConfig(files=("other.txt",), dir=str(place))
    recipe = talks.recipe(
        place, style=[{"files": ["style.txt"], "dir": str(tmp_path)}], style_share=0.5, train={"steps": 4}
    )
    test = DialogTest(files=("said.tsv",), limit=5, answers=3, style=0.5, against=(other,))
    row = ways.row(recipe, test, tmp_path / "run")
    assert {"ngram"} < row.metrics.keys() and "neural" not in row.metrics
    assert row.rows["judges train"] + row.rows["judges test"] == 24 + 16, (
        "half of the style, and the other, which is less"
    )
    assert 0 <= row.notes["ngram accuracy"] <= 1
    assert row.notes["said"].keys() == {"ngram"} and row.notes["no style"].keys() == row.metrics.keys()
    assert row.notes["no style"] != row.metrics
    assert RunFolder(tmp_path / "run").result()["facts"]["style"]["kept"] == 24


def test_known_recipes_of_rows(tmp_path: Path) -> None:
    settings = ["method.kind=cvae", "train.seed=3", 'dialogs.files=["a.tsv"]']
    found = ways.recipe_for("CVAE", settings, "space", tmp_path, {"space": "runs/s32"})
    assert (found.name, found.init, found.method.kind, found.train.seed) == ("CVAE", "runs/s32", "cvae", 3)
    assert found.dialogs.dir == str(tmp_path) and found.dialogs.files == ("a.tsv",)
    assert ways.recipe_for("CVAE", [], "space").init == "space"
    with pytest.raises(UserError, match="kind"):
        ways.recipe_for("x", ["method.kind=gan"], None)
