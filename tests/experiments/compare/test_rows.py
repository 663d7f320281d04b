"""The rows of a comparison: who judges whom, what is left out, and what a table cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toys
from psitext.errors import UserError
from psitext.experiments.compare.rows import TASK, Columns, Rows, divided, read_rows, write_rows
from psitext.experiments.compare.settings import CompareConfig, read_preset
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_task, read_split

CONFIG = read_preset("usual")
PLAIN = Columns("text", "label")


def table(path: Path, *lines: str, header: str = "text,label") -> str:
    path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
    return str(path)


def many(count: int) -> list[str]:
    return [f"{'good' if index % 2 else 'bad'} thing {index},{'up' if index % 2 else 'down'}" for index in range(count)]


def config(**changes: object) -> CompareConfig:
    return CONFIG.model_copy(update=changes)


EXAMPLES = st.lists(
    st.builds(Example, st.sampled_from([f"text {n}" for n in range(30)]), label=st.sampled_from("abc")), max_size=80
)


@given(EXAMPLES, st.randoms())
def test_law_every_row_is_on_one_side_and_equal_texts_are_on_the_same(every: list[Example], random: object) -> None:
    train, dev = divided(every, 0.2)
    assert sorted(map(repr, [*train, *dev])) == sorted(map(repr, every))
    assert {one.text for one in train}.isdisjoint(one.text for one in dev)
    assert train == [one for one in every if one.text in {other.text for other in train}], "in their order"


def test_law_a_share_of_every_label_is_held_out_whatever_the_order() -> None:
    every = [Example(f"text {index}", label="abc"[min(index // 50, 2)]) for index in range(200)]
    dev = divided(every, 0.2)[1]
    assert [sum(one.label == name for one in dev) for name in "abc"] == [10, 10, 20]
    again = divided(every[::-1], 0.2)[1]
    assert {one.text for one in again} == {one.text for one in dev}
    scores = [Example(f"text {index}", label=index / 7) for index in range(100)]
    assert len(divided(scores, 0.2)[1]) == 20


def test_known_rows_without_text_or_label_are_left_out_and_counted(tmp_path: Path) -> None:
    path = table(tmp_path / "own.csv", *many(40), "good,", ",up", "   ,down")
    found = read_rows(path, PLAIN, CONFIG)
    assert len(found.train) + len(found.dev) == 40
    assert found.notes == ("3 of 43 rows of own.csv have no text or no label and are left out",)
    assert min(one.line for one in [*found.train, *found.dev]) == 2 and found.train[0].source == path
    records = [{"text": f"good {n}", "label": ("up", "down")[n % 2]} for n in range(40)]
    records += [{"text": None, "label": "up"}, {"text": "bad"}]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    assert read_rows(str(tmp_path / "own.jsonl"), PLAIN, CONFIG).notes[0].startswith("2 of 42 rows of own.jsonl")
    path = table(tmp_path / "bare.csv", *many(30), *["so,"] * 31)
    with pytest.raises(
        UserError, match=r"31 of the 61 rows of .*bare\.csv have an empty 'text' or 'label'; fill them in"
    ):
        read_rows(path, PLAIN, CONFIG)


def test_known_repeated_texts_are_said(tmp_path: Path) -> None:
    path = table(tmp_path / "own.csv", *many(40), *many(4), "Good  thing 1,down")
    notes = read_rows(path, PLAIN, CONFIG).notes
    assert notes[0].startswith("5 rows repeat the text of another")
    assert notes[1] == "1 texts occur with more than one label"
    dev = table(tmp_path / "dev.csv", "GOOD thing 3,up", "good thing new,up")
    found = read_rows(path, PLAIN, CONFIG, dev=dev)
    assert (len(found.train), len(found.dev)) == (45, 2)
    assert found.notes[-1].startswith("1 of the 2 rows to judge by have a text that is trained on, too")


def test_known_kinds_and_metrics(tmp_path: Path) -> None:
    words = read_rows(table(tmp_path / "own.csv", *many(40)), PLAIN, CONFIG, metric="matthews")
    assert (words.task.kind, words.task.headline) == ("classification", "matthews")
    assert words.task.metrics == ("matthews", "accuracy", "macro_f1")
    with pytest.raises(UserError, match=r"--metric: 'acuracy' does not measure .*; did you mean 'accuracy'"):
        read_rows(str(tmp_path / "own.csv"), PLAIN, CONFIG, metric="acuracy")
    stars = [f"word {index},{index % 12}" for index in range(120)]
    path = table(tmp_path / "stars.csv", *stars)
    found = read_rows(path, PLAIN, CONFIG)
    assert found.task.labels == tuple(map(str, range(12))), "by size"
    assert found.notes == ("'label' holds 12 numbers, taken as classes; --kind regression makes scores of them",)
    scores = read_rows(path, Columns("text", "label", kind="regression"), CONFIG)
    assert (scores.task.kind, scores.task.headline, scores.notes) == ("regression", "pearson", ())
    far = [f"word {index},{index}.5" for index in range(120)]
    notes = read_rows(table(tmp_path / "far.csv", *far), PLAIN, CONFIG).notes
    assert len(notes) == 1 and notes[0].startswith("scores lie far from 0 or 1 (mean ")
    same = table(tmp_path / "same.csv", *[f"word {index},1" for index in range(40)])
    with pytest.raises(UserError, match="all scores of same are 1; there is nothing to learn"):
        read_rows(same, Columns("text", "label", kind="regression"), CONFIG)


def test_law_a_smaller_sample_is_inside_a_larger_one_and_memory_stays_small(tmp_path: Path) -> None:
    path = table(tmp_path / "own.csv", *many(3000))
    texts = []
    for limit in (30, 60, 60):
        found = read_rows(path, PLAIN, config(most_rows=100), limit=limit)
        both = sorted([*found.train, *found.dev], key=lambda one: one.line)
        assert len(both) == limit
        texts.append([one.text for one in both])
    assert set(texts[0]) < set(texts[1]) and texts[1] == texts[2]
    for small in (config(most_rows=100), config(most_characters=1000)):
        with pytest.raises(UserError, match=r"own\.csv has more than the .* rows and .* --limit 20000 takes a sample"):
            read_rows(path, PLAIN, small)


NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=6)


@given(labels=st.lists(NAMES.map(str.strip).filter(bool), min_size=2, max_size=4, unique=True), column=NAMES)
def test_law_written_rows_are_read_back_as_they_are(
    labels: list[str], column: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    task = Task(
        name="own", kind="classification", text=f"a{column}", pair=f"b{column}", label=f"c{column}",
        labels=tuple(labels), metrics=("accuracy",),
    )  # fmt: skip
    rows = [Example(f'a "{column}" \\ b'.strip(), "so", name) for name in labels]
    read = load_task(str(write_rows(Rows(task, rows, rows[:1]), folder)))
    assert read.labels == task.labels
    for split, wanted in (("train", rows), ("dev", rows[:1])):
        found = read_split(read, split, folder).examples
        assert [(one.text, one.pair, one.label) for one in found] == [(one.text, one.pair, one.label) for one in wanted]


def test_known_scores_are_written_exactly(tmp_path: Path) -> None:
    rows = toys.scored(40)
    path = toys.table(tmp_path / "own.csv", [("text", "label"), *rows])
    found = read_rows(str(path), PLAIN, CONFIG)
    task = load_task(str(write_rows(found, tmp_path / "rows")))
    assert task.kind == "regression" and (tmp_path / "rows" / TASK).is_file()
    again = [one.label for one in read_split(task, "train", tmp_path).examples]
    assert np.array_equal(again, [one.label for one in found.train])


ODD = {
    "all rows one text": (
        ["same thing,up", "same thing,down"] * 20,
        r"all 40 rows of .* have the same text, 'same thing'",
    ),
    "nan among numbers": (
        [f"word {n},{'nan' if n == 5 else n % 3}" for n in range(60)],
        r"line 7 has 'nan' among the numbers of its column 'label'; leave such rows out",
    ),
    "inf among numbers": ([f"word {n},{'-inf' if n == 5 else n % 3}" for n in range(60)], "line 7 has '-inf' among"),
    "decimal commas": (
        [f'word {n},"{n},5"' for n in range(60)],
        r"line \d+ has '\d+,5' in its column 'label', .* decimal comma; write \d+\.5",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_known_odd_labels_and_texts_are_said(name: str, tmp_path: Path) -> None:
    lines, sentence = ODD[name]
    with pytest.raises(UserError, match=sentence):
        read_rows(table(tmp_path / "own.csv", *lines), PLAIN, CONFIG)


@pytest.mark.parametrize("sign", [";", "|", "\t"])
def test_known_other_separators_are_read(sign: str, tmp_path: Path) -> None:
    lines = [f'"so, {n}"{sign}{("up", "down")[n % 2]}' for n in range(40)]
    found = read_rows(table(tmp_path / "own.csv", *lines, header=f"text{sign}label"), PLAIN, CONFIG)
    assert len(found.train) + len(found.dev) == 40 and "so, 7" in {one.text for one in (*found.train, *found.dev)}


def test_known_labels_that_differ_in_case_are_said(tmp_path: Path) -> None:
    lines = [f"word {n},{('Up', 'up', 'down')[n % 3]}" for n in range(60)]
    notes = read_rows(table(tmp_path / "own.csv", *lines), PLAIN, CONFIG).notes
    assert notes == ("the labels 'Up' and 'up' differ in case only, and are taken as 2 classes",)
    classes = [f"word {n},{('nan', 'so', 'no')[n % 3]}" for n in range(60)]
    assert read_rows(table(tmp_path / "own.csv", *classes), PLAIN, CONFIG).task.labels == ("nan", "no", "so")
