"""What a user can get wrong about columns, lengths and options: one sentence, exit code 2, no file changed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import door
import toys


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    rows = toys.words_and_labels(40)
    toys.table(folder / "good.csv", [("text", "label"), *rows])
    toys.table(folder / "ids.csv", [("id", "review", "label"), *((index, *row) for index, row in enumerate(rows))])
    toys.table(folder / "numbers.csv", [("text", "label"), (1, "up"), (2, "down")])
    toys.table(folder / "scores.csv", [("review", "stars"), ("good so", 1), ("dull so", 2)])
    recipes = {
        "ft": toys.FINETUNE,
        "wrong-type": toys.FINETUNE.replace("steps = 24", 'steps = "many"'),
        "long": 'verb = "finetune"\n[text]\nmax_len = 65\n',
        "ids": 'kind = "classification"\ntext = "id"\nlabel = "label"\nlabels = ["down", "up"]\n'
        'files.train = "ids.csv"\nfiles.dev = "ids.csv"\n',
    }
    for name, content in recipes.items():
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")
    (folder / "numbers.txt").write_text("1\n2.5\n", encoding="utf-8")
    shutil.copytree(toys.trained("words"), folder / "run")
    shutil.copytree(toys.pretrained(), folder / "pretrained")
    return folder


COMMANDS = {
    "finetune --config wrong-type.toml --data good.csv -o out":
        r"wrong-type\.toml line \d+ sets train\.steps to 'many': it takes a whole number",
    "finetune --config ft.toml --data good.csv -o out --set text.max_len=65":
        r"--set sets text\.max_len to 65: the encoder \(encoder\.max_len\) reads 64 tokens at most",
    "finetune --config long.toml --init pretrained --data good.csv -o out":
        r"long\.toml line 3 sets text\.max_len to 65: the model of --init reads 64 tokens at most",
    "finetune --config ft.toml --data ids.csv --text id -o out":
        r"the column 'id' of ids\.csv holds numbers only \('0' on line 2\), which are no sentences; name the column of "
        r"texts with --text \(with words: review\)",
    "finetune --config ft.toml --data good.csv --dev numbers.csv -o out":
        r"the column 'text' of numbers\.csv holds numbers only .*; its columns must be those of the file to train on",
    "finetune --config ft.toml --task ids.toml -o out":
        r"the column 'id' of .*ids\.csv holds numbers only .*; let the task's file name another",
    "predict ids.csv --text id --model run": r"the column 'id' of ids\.csv holds .* \(with words: review, label\)",
    "predict ids.csv --text 1 --model run": r"the column '1' of ids\.csv holds numbers only .* \(with words: 2, 3\)",
    "predict numbers.csv --model run": r"the column 'text' of numbers\.csv holds numbers only .*",
    "predict numbers.txt --model run": r"numbers\.txt holds numbers only \('1' on line 1\), which are no sentences",
    "encode ids.csv --text id --model run": r"the column 'id' of ids\.csv holds numbers only .*",
    "encode ids.csv --text review --pair id --model run": r"the column 'id' of ids\.csv .* --pair \(with words: .*",
    "evaluate --model run --data ids.csv --text id": r"the column 'id' of ids\.csv holds numbers only .*",
    "evaluate --model run --data good.csv --text 1 --label 2":
        r"good\.csv line 1 has the label 'label' \(if that line is a header, name the columns in place of counting "
        r"them\); words knows down, up",
    "finetune --config ft.toml --data ids.csv --text 1 --label label -o out":
        r"ids\.csv has no column '1'; .* \(name it with --text; numbers, for all columns or none, .*\)",
    "finetune --config ft.toml --data scores.csv --text 1 --label 2 -o out":
        r"scores\.csv mixes numbers and words .*; if line 1 is a header, give names in .*, as in --label stars",
    "finetune --config ft.toml --data good.csv --data ids.csv -o out":
        r"option --data is given twice, and takes one value; see `psitext finetune --help`",
    "predict a --model run --model other": r"option --model is given twice, .*",
    "compare good.csv --label a --label b": r"option --label is given twice, .*",
    "circuit cost run --text a --text b": r"option --text is given twice, .*",
    "generate sample --model run --n 2 --n 3": r"option --n is given twice, .*",
    "finetune --config ft.toml --data good.csv -o out --minutes 0": r"invalid value for '--minutes': .*",
    "evaluate --model run --data good.csv -o scores": r"scores are written as \.csv, \.tsv, \.jsonl, not as 'scores'",
    "evaluate --model run --data good.csv -o good.csv": r"-o good\.csv would overwrite the texts that are read; .*",
    "evaluate --model run --data good.csv --draws 5": r"--sentences and --draws are for a sentence space, .*",
    "evaluate --model run --submission a.zip -o a.csv": r"--submission answers the test split of a task and scores .*",
    "finetune --task good.csv": r"--task good\.csv names a table, not a task; a labelled file .* with --data",
    "evaluate --model run --task good.csv": r"--task good\.csv names a table, not a task; .*",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_known_commands_that_cannot_be_done(place: Path, command: str) -> None:
    before = door.files(place)
    done = door.run(*command.split(), cwd=place)
    assert "Traceback" not in done.err, done.err
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert re.fullmatch(rf"psitext: {COMMANDS[command]}\n", done.err), done.err
    assert door.files(place) == before and not (place / "out").exists()
