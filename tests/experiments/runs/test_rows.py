"""A run goes on, and counts as done, with the rows that it began with and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import toys
from psitext.errors import UserError
from psitext.experiments.finetune import finetune_run
from psitext.experiments.runs import rows
from psitext.experiments.runs.folder import RunFolder
from psitext.text.examples import Example

ONE = Example("a b", "c", "up", "x.csv", 2, ("a", "b"), ("N", "V"), (0, 1))


def test_law_a_fingerprint_is_what_examples_say_and_not_where_they_stand() -> None:
    found = rows.fingerprint([ONE, Example("d", label=1.5)])
    assert found == rows.fingerprint([replace(ONE, source="y.csv", line=9), Example("d", label=1.5)])
    changes: list[dict[str, object]] = [
        {"text": "a  b"}, {"pair": None}, {"label": "down"}, {"words": ("a",)}, {"tags": ("N", "N")}, {"answer": (0, 2)}
    ]  # fmt: skip
    others = [[replace(ONE, **change), Example("d", label=1.5)] for change in changes]  # type: ignore[arg-type]
    others += [[Example("d", label=1.5), ONE], [ONE], [ONE, Example("d", label=1.25)]]
    assert len({found, *map(rows.fingerprint, others)}) == len(others) + 1


class Enough(Exception):
    pass


@pytest.mark.parametrize("finished", [False, True])
def test_law_changed_rows_are_refused(finished: bool, tmp_path: Path) -> None:
    texts = toys.words_and_labels(40)
    file, folder = tmp_path / "own.csv", RunFolder(tmp_path / "run")
    toys.table(file, [("text", "label"), *texts])
    recipe = toys.finetuning(["train.steps=4", "train.log_every=1"], data={"train": str(file)})

    def stop(event: object) -> None:
        raise Enough

    if finished:
        finetune_run(recipe, folder.path)
    else:
        with pytest.raises(Enough):
            finetune_run(recipe, folder.path, [stop])
    held = rows.recorded(folder)
    assert held is not None and {name: one["rows"] for name, one in held.items()} == {"train": 36, "dev": 4}

    toys.table(file, [("text", "label"), *texts[:30]])
    with pytest.raises(UserError, match=r"the train rows are not those that the run in .*run began with \(36 then, 27"):
        finetune_run(recipe, folder.path)
    toys.table(file, [("text", "label"), *texts[::-1]])
    with pytest.raises(UserError, match=r"\(still 36, but others\); bring those back, or give --out"):
        finetune_run(recipe, folder.path)
    (folder.path / "data.json").write_text("{")
    with pytest.raises(UserError, match=r"data.json is damaged; delete it"):
        finetune_run(recipe, folder.path)
    (folder.path / "data.json").unlink()  # as in a run that began before rows were written down
    finetune_run(recipe, folder.path)
    assert (folder.path / "data.json").exists() is not finished


def test_law_the_same_rows_go_on(tmp_path: Path) -> None:
    file = toys.table(tmp_path / "own.csv", [("text", "label"), *toys.words_and_labels(40)])
    recipe = toys.finetuning(["train.steps=4"], data={"train": str(file)})
    finetune_run(recipe, tmp_path / "run")
    before = (tmp_path / "run" / "data.json").read_bytes()
    finetune_run(recipe, tmp_path / "run")
    assert (tmp_path / "run" / "data.json").read_bytes() == before
