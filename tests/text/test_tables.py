"""A user's own table: what is found out from it, and what is refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.text.examples import Task
from psitext.text.tables import load_like, load_table
from psitext.text.tasks import load_split


def folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return root


def said(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    return str(caught.value)


CSV = "review,sentiment,stars,id\n" + "".join(
    f"text {n},{('good', 'bad')[n % 2]},{n % 4 + n / 100},{n}\n" for n in range(50)
)


def test_known_table_of_words_and_of_scores(tmp_path: Path) -> None:
    path = folder(tmp_path, {"reviews.csv.gz": CSV}) / "reviews.csv.gz"
    found, task = load_table(path, text="review", label="sentiment")
    assert (task.name, task.kind, task.labels, task.metrics) == (
        "reviews",
        "classification",
        ("bad", "good"),
        ("accuracy", "macro_f1"),
    )
    assert (len(found), found[1].text, found[1].label, found[1].line) == (50, "text 1", "bad", 3)
    assert load_like(path, task) == found
    _, ordered = load_table(path, text="review", label="sentiment", labels=["good", "bad"])
    assert ordered.labels == ("good", "bad")
    scores, task = load_table(path, text="review", label="stars")
    assert (task.kind, task.headline, scores[3].label) == ("regression", "pearson", 3.03)
    bare, task = load_table(path, text="review", pair="sentiment")
    assert (bare[0].pair, bare[0].label, task.label, task.labels) == ("good", None, None, ())


def test_known_table_of_numbers_without_a_header(tmp_path: Path) -> None:
    rows = "".join(f"{(10, 2, 0.5)[n % 3]}\ttext {n}\n" for n in range(30))
    path = folder(tmp_path, {"a.tsv": rows}) / "a.tsv"
    found, task = load_table(path, text="2", label="1")
    assert (task.kind, task.labels, len(found), found[0].text) == (
        "classification",
        ("0.5", "2", "10"),
        30,
        "text 0",
    )
    assert load_table(path, text="2", label="1", kind="regression")[1].kind == "regression"
    assert [e.label for e in load_like(path, task, labelled=False)] == [None] * 30


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "review,sentiment\na,b\n",
            ".csv has no columns 'reveiw' and 'y'; it has: review, sentiment (name them with --text and --label)",
        ),
        (
            "reveiw,y\na,1\nb,good\nc,1\nd,good\n",
            ".csv mixes numbers and words in its column 'y': '1' on line 2 and 'good' on line 3",
        ),
        ("reveiw,y\na,1\nb,\n", ".csv line 3 has an empty 'y'; fill it in, or leave the row out"),
        ("reveiw,y\na,1\nb,1\n", ".csv has but one label in its column 'y': '1'"),
        ("reveiw,y\n" + "".join(f"a,name{n}\n" for n in range(30)), "30 different values in 30 rows of 'y'"),
        ("reveiw,y\n", ".csv holds no rows"),
    ],
)
def test_known_bad_tables(tmp_path: Path, text: str, sentence: str) -> None:
    path = folder(tmp_path, {"a.csv": text}) / "a.csv"
    assert sentence in said(lambda: load_table(path, text="reveiw", label="y"))


def test_known_dev_table_with_a_label_of_its_own(tmp_path: Path) -> None:
    path = folder(tmp_path, {"train.csv": CSV, "dev.csv": "review,sentiment\na,good\nb,mixed\n"})
    _, task = load_table(path / "train.csv", text="review", label="sentiment")
    message = said(lambda: load_like(path / "dev.csv", task))
    assert message.endswith("dev.csv line 3 has the label 'mixed'; train knows bad, good")
    assert "has no column 'sentiment'" in said(
        lambda: load_like(folder(path, {"x.csv": "review\na\n"}) / "x.csv", task)
    )


@pytest.mark.filterwarnings("ignore")  # the library's own
def test_known_hub_table_and_task(tmp_path: Path) -> None:
    data = folder(tmp_path / "reviews", {"train.csv": CSV, "test.csv": "review,sentiment,stars,id\nfine,good,1,1\n"})
    found, task = load_table(f"hub:{data}", text="review", label="sentiment")
    assert (task.name, task.labels, len(found), found[0].line) == ("reviews", ("bad", "good"), 50, 1)
    assert [e.label for e in load_like(f"hub:{data}@test", task)] == ["good"]
    task = task.model_copy(
        update={"files": Task.model_validate(task.tree() | {"files": {"dev": f"hub:{data}@test"}}).files}
    )
    assert [e.text for e in load_split(task, "dev")] == ["fine"]
