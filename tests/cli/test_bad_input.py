"""What a user can get wrong, through the command line: one sentence, exit code 2, no file changed."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import door
import toys
from psitext.files import sha256

GOOD = [("text", "label"), *toys.words_and_labels(40)]


def write_files(folder: Path) -> None:
    """Good and bad tables and texts."""
    toys.table(folder / "good.csv", GOOD)
    header, *rows = (",".join(row) for row in GOOD)

    def text(name: str, *lines: str) -> None:
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    text("mixed.csv", header, *rows, "good so,1")
    text("twice.csv", "text,label,text", "a,b,c")
    text("other.csv", header, rows[0], "good so,sideways")
    text("one.csv", header, *[row for row in rows if row.endswith("up")])
    text("three.csv", header, "good so,up", "dull so,down", "kind so,up")
    text("names.csv", header, *[f"good thing,name{index}" for index in range(40)])
    text("blank-label.csv", header, rows[0], "good so,")
    text("unclosed.csv", header, rows[0], '"good so,up')
    text("bare.csv", header)
    text("short.tsv", "text\tlabel", "good so\tup", "dull so")
    text("bad.jsonl", '{"text": "good so", "label": "up"}', '{"text": "dull so", "label"}')
    text("blank.txt", "", "   ", "")
    text("notes.md", "good so")
    text("minus.csv", header, rows[0], "good so,-1")
    lines = [row.encode() for row in (header, *rows)]
    (folder / "empty.csv").write_bytes(b"")
    (folder / "latin.csv").write_bytes(b"\n".join([*lines, b"caf\xe9 so,up", b""]))
    (folder / "nul.csv").write_bytes(b"\n".join([*lines, b"good\x00so,up", b""]))
    (folder / "long.csv").write_bytes(b"\n".join([*lines, b"x" * 10_000_000 + b",up", b""]))
    (folder / "long.txt").write_bytes(b"A good day. " * 900_000)
    for name in ("pipe.csv", "pipe.txt"):
        os.mkfifo(folder / name)
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"\n".join(lines))[:-9])
    text("story.txt", *["It was a good day.", "The dog slept.", ""] * 20)


def write_recipes(folder: Path) -> None:
    def recipe(name: str, content: str) -> None:
        (folder / name).write_text(content, encoding="utf-8")

    recipe("ft.toml", toys.FINETUNE)
    recipe("pt.toml", toys.PRETRAIN)
    recipe("no-encoder.toml", 'verb = "finetune"')
    recipe("unknown-key.toml", toys.FINETUNE.replace("batch_sequences", "batch_sequence"))
    recipe("unknown-table.toml", toys.FINETUNE + "[heads]\ndropout = 0.1\n")
    recipe("not.toml", "verb = finetune")
    recipe("minus-task.toml", 'kind = "classification"\ntext = "text"\nlabel = "label"\nlabels = ["down", "up"]\n'
           'files.train = "minus.csv"\nfiles.dev = "good.csv"\n')  # fmt: skip
    recipe("bad-task.toml", 'kind = "classification"\ntext = "text"\nlabels = ["down", "up"]\nmetrics = ["acuracy"]\n')


def write_models(folder: Path) -> None:
    """A model, and what may be wrong with one."""
    shutil.copytree(toys.trained("words"), folder / "run")
    shutil.copytree(toys.pretrained(), folder / "pretrained")
    model = folder / "run" / "model"
    for name in ("cut", "family", "future", "torn"):
        shutil.copytree(model, folder / name)
    content = (model / "model.safetensors").read_bytes()
    (folder / "cut" / "model.safetensors").write_bytes(content[: len(content) // 2])
    (folder / "torn" / "checksums.json").write_text('{"model.saf')
    for name, old, new in (
        ("family", '"family": "bert"', '"family": "bret"'),
        ("future", '"format": 1', '"format": 9'),
    ):
        config = folder / name / "config.json"
        config.write_text(config.read_text().replace(old, new))
        sums = json.loads((folder / name / "checksums.json").read_text())
        (folder / name / "checksums.json").write_text(json.dumps(sums | {"config.json": sha256(config)}))
    (folder / "unfinished").mkdir()
    shutil.copy(folder / "run" / "recipe.json", folder / "unfinished")
    (folder / "theirs").mkdir()
    (folder / "theirs" / "config.json").write_text('{"model_type": "t5", "vocab_size": 10}')
    (folder / "full").mkdir()
    (folder / "full" / "precious.txt").write_text("mine")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    write_files(folder)
    write_recipes(folder)
    write_models(folder)
    return folder


def refused(done: door.Done, sentence: str) -> None:
    """Exit code 2 and one line on standard error, which matches."""
    assert "Traceback" not in done.err, done.err
    assert done.code == 2, done
    assert done.out == ""
    assert re.fullmatch(rf"psitext: {sentence}\n", done.err), done.err
    assert done.err.count("\n") == 1


FT = "finetune --config ft.toml --text text --label label -o out --data"
FILES = {
    "empty.csv": r"empty\.csv is empty",
    "absent.csv": r"there is no file absent\.csv; did you mean .*\?",
    "latin.csv": r"latin\.csv line 42 is not UTF-8 text \(byte [\d,]+ of the file\); save it as UTF-8",
    "nul.csv": r"nul\.csv line 42 holds a NUL character \(column 5\); it is no text file",
    "long.csv": r".*long\.csv line 42 is over [\d,]+ bytes long, where .*; is a line break missing\?",
    "cut.csv.gz": r"cut\.csv\.gz is damaged after line \d+ \(.*\)",
    "twice.csv": r"twice\.csv line 1: the header names the column 'text' twice",
    "short.tsv": r"short\.tsv line 3 has too few fields: 1, where 2 belong \(text, label\)",
    "unclosed.csv": r"unclosed\.csv: the row that starts on line 3 is not valid CSV: a quoted field never ends",
    "bad.jsonl": r"bad\.jsonl line 2 column \d+ is not valid JSON: a colon is missing after a key",
    "bare.csv": r"bare\.csv holds no rows",
    "mixed.csv": r"mixed\.csv mixes numbers and words in its column 'label': '1' on line 42 and '\w+' on line 2",
    "one.csv": r"one\.csv has but one label in its column 'label': 'up'",
    "names.csv": r"names\.csv has 40 different values in 40 rows of 'label', which does not look like a label column",
    "blank-label.csv": r"blank-label\.csv line 3 has an empty 'label'; fill it in, or leave the row out",
    "notes.md": r"notes\.md: psitext reads .*, not '\.md'",
    ".": r"\.: psitext reads \.txt, .*, not a name without an ending",
}


@pytest.mark.parametrize("name", FILES)
def test_known_files_that_cannot_be_trained_on(place: Path, name: str) -> None:
    check(place, f"{FT} {name}", FILES[name])


def check(place: Path, command: str, sentence: str) -> None:
    before = door.files(place)
    refused(door.run(*command.split(), cwd=place), sentence)
    assert door.files(place) == before
    assert sorted(path.name for path in place.iterdir() if path.name == "out") == []


COMMANDS = {
    "finetune --config ft.toml --data good.csv --text txt --label label -o out":
        r"good\.csv has no column 'txt'; did you mean 'text'\? It has: text, label \(name it with --text\)",
    "finetune --config ft.toml --data good.csv -o out --label sentiment":
        r"good\.csv has no column 'sentiment'; it has: text, label \(name it with --label; numbers, "
        r"for all columns or none, count those of a table without a header line\)",
    "finetune --config ft.toml --data good.csv --pair second -o out":
        r"good\.csv has no column 'second'; it has: text, label \(name it with --pair; numbers, .*\)",
    f"{FT} good.csv --dev other.csv": r"other\.csv line 3 has the label 'sideways'.* knows down, up",
    f"{FT} good.csv --dev empty.csv": r"empty\.csv is empty",
    "finetune --task sts2":
        r"no task called 'sts2'; did you mean 'sst2' or 'stsb'\? `psitext tasks` lists all, and the name of a .*",
    "finetune --config ft.toml --task minus-task.toml -o out":
        r".*minus\.csv line 3 has the label '-1' \(a mark of hidden labels.*; minus-task knows down, up",
    "finetune --config ft.toml --task bad-task.toml -o out": r"bad-task\.toml line 4 sets metrics to .*'acuracy'.*",
    "finetune --config ft.toml --task absent.toml -o out": r"there is no task file absent\.toml",
    "finetune --config ft.toml --task mrpc -o out": r"task 'mrpc' needs its files: .*--data-dir or PSITEXT_DATA",
    "finetune --config ft.toml --task mrpc --data-dir absent -o out": r"the data folder .*absent is not there",
    "finetune --config ft.toml --task mrpc --data-dir full -o out": r"task 'mrpc' finds no file for 'train' in .*",
    "finetune --config bert-mni": r"no recipe called 'bert-mni'; did you mean 'bert-mini'.*\?",
    "finetune --config bert-mini --task toy-tags": r"bert-mini is a recipe to pretrain, not to finetune",
    "finetune --config not.toml --task toy-tags":
        r"not\.toml line 1 is not valid TOML: `verb = finetune` \(the value is none; a text stands in quotes, .*\)",
    "finetune --config absent.toml": r"there is no recipe file absent\.toml",
    "finetune --config unknown-key.toml --data good.csv -o out":
        r"unknown-key\.toml line \d+ has an unknown key 'train\.batch_sequence'; did you mean 'batch_sequences'.*",
    "finetune --config unknown-table.toml --data good.csv -o out":
        r"unknown-table\.toml line \d+ has an unknown key 'heads'; did you mean 'head'\?",
    "finetune --config ft.toml --data good.csv -o out --set nonsense": r"--set takes key=value .*, not 'nonsense'",
    "finetune --config ft.toml --data good.csv -o out --set train.lr=1":
        r"--set has an unknown key 'train\.lr'",
    "finetune --config ft.toml --data good.csv -o out --set train.steps=many":
        r"--set sets train\.steps to 'many': it takes a whole number",
    "finetune --config ft.toml --data good.csv -o out --set train.steps=-3":
        r"--set sets train\.steps to -3: it takes more than 0",
    "finetune --config ft.toml --data good.csv -o out --set encoder.heads=5":
        r".*a width of 32 cannot be shared over 5 heads",
    "finetune --config ft.toml --data good.csv -o out --set class_weights=[1.0]":
        r"class_weights has 1 numbers for 2 labels: down, up",
    "finetune --config ft.toml --data good.csv -o out --set train.accumulation=99":
        r"36 samples cannot be cut into 99 parts, 99 micro-steps for each process; lower train.accumulation or give .*",
    "finetune --config ft.toml --data good.csv -o out --set tokenizer.load=absent":
        r"there is no tokenizer at .*absent: .*",
    "finetune --config ft.toml --data good.csv -o out --seed 99999999999999999999":
        r"invalid value for '--seed': .*9223372036854775807.*",
    "finetune --config ft.toml --data good.csv -o out --set train.epochs=inf":
        r"--set sets train\.epochs to inf: it takes a finite number",
    "finetune --config ft.toml --data good.csv -o out --set train.optim.head_lr=inf":
        r"--set sets train\.optim\.head_lr to inf: it takes a finite number",
    "finetune --config ft.toml --data good.csv -o out --set train.steps=true":
        r"ft\.toml, table train: steps is a number, not true",
    "finetune --config ft.toml --data good.csv -o out --set class_weights=[0,0]":
        r"--set sets class_weights to \[0, 0\]: it takes 'none', .*",
    "finetune --config ft.toml --data good.csv -o out --set data.dev=[1]":
        r"--set sets data\.dev to \[1\]: it takes a text \(in quotes\)",
    "finetune --config ft.toml --data good.csv -o out --set encoder.width=100000000 --set encoder.heads=1":
        r"an encoder of these sizes does not fit into memory; .*",
    "finetune --config ft.toml -o out --set data.train=3":
        r"--set sets data\.train to 3: it takes a text \(in quotes\)",
    "finetune --config ft.toml --data good.csv -o out --task sst2":
        r"task \(--task\) and data \(--data\) both say what to train on; give one of them",
    "finetune --config ft.toml --task sst2 --dev good.csv -o out":
        r"dev \(--dev\) is about a file of your own .*",
    "finetune --config ft.toml --data good.csv -o out --text label":
        r"--text and --label both name the column 'label'",
    "finetune --config ft.toml --data good.csv -o out --pair text":
        r"--text and --pair both name the column 'text'",
    "finetune --config no-encoder.toml --data good.csv --init hf: -o out":
        r"the name of the model is empty; .*",
    "finetune --config ft.toml -o out": r"name a task with --task, or a file with --data and --text, --label",
    "finetune --config no-encoder.toml --data good.csv -o out": r"fine-tuning starts from --init .*",
    "finetune --config ft.toml --data good.csv --init run -o out": r"a recipe with init takes its encoder from there.*",
    "finetune --config no-encoder.toml --data good.csv --init absent -o out": (
        r"there is no model at absent; `psitext models` lists names"
    ),
    "finetune --config no-encoder.toml --data good.csv --init cut -o out":
        r".*cut/model\.safetensors is damaged: its checksum is not the one it was saved with",
    "finetune --config no-encoder.toml --data good.csv --init unfinished -o out":
        r"the run in .*unfinished has not finished.*`psitext resume .*unfinished` goes on with it",
    "finetune --config no-encoder.toml --data good.csv --init theirs -o out":
        r".*theirs is not a psitext model; a Hugging Face folder is loaded as hf:.*theirs",
    "finetune --config no-encoder.toml --data good.csv --init hf:theirs -o out":
        r".*theirs holds a model of type 't5', not a BERT; .*",
    "finetune --config no-encoder.toml --data good.csv --init full -o out": r".*full is not a model: .*",
    "finetune --config ft.toml --data good.csv -o run":
        r"run holds a run of another recipe; give --out another folder.*",
    "finetune --config ft.toml --data good.csv -o full":
        r"full holds files that are no run's; give --out another folder",
    "finetune --config ft.toml --data good.csv -o good.csv": r"cannot write good\.csv: a part of that path is a file.*",
    "pretrain --config pt.toml -o run": r"run holds a run of another recipe.*",
    "pretrain --config bert-tiny -o out": r"there is no text to pre-train on; name files with --data .*",
    "pretrain --config pt.toml --data absent.txt -o out": r"there is no text file .*absent\.txt",
    "pretrain --config pt.toml --data no*.txt -o out": r"there is no text file .*no\*\.txt",
    "pretrain --config pt.toml --data full -o out": r".*full is a folder; name the files in it",
    "pretrain --config pt.toml --data pipe.txt -o out": r".*pipe\.txt is a pipe or a device, which cannot be read .*",
    f"{FT} pipe.csv": r"pipe\.csv is a pipe or a device, which cannot be read twice; .*",
    "pretrain --config pt.toml --data blank.txt -o out": r".*blank\.txt holds no text",
    "pretrain --config pt.toml --data empty.csv -o out": r".*empty\.csv is empty",
    "pretrain --config pt.toml --data latin.csv -o out": r".*latin\.csv line 42 is not UTF-8 text .*",
    "pretrain --config pt.toml --data long.txt -o out":
        r".*long\.txt line 1 is over [\d,]+ bytes long, where .*; is a line break missing\?",
    "pretrain --config pt.toml --data good.csv --text story -o out":
        r".*good\.csv has no column 'story'; it has: text, label \(name it with --text; numbers, .*\)",
    "pretrain --config pt.toml --data notes.md -o out": r".*notes\.md: psitext reads .*, not '\.md'",
    "pretrain --config pt.toml --data toy:many -o out": r"the embedded corpus is named toy:<number of stories>.*",
    "pretrain --config pt.toml --data story.txt -o out --set samples.max_len=100":
        r"pt\.toml: samples of 100 tokens do not fit an encoder of 64 positions",
    "pretrain --config pt.toml --data story.txt -o out --set samples.pairs=none":
        r"pt\.toml: head\.next_sentence and samples\.pairs contradict each other: .*",
    "pretrain --config pt.toml --init absent -o out": r"there is no model at absent; `psitext models` lists names",
    "resume absent": r"absent holds no run to go on with: it has no recipe\.json",
    "resume full": r"full holds no run to go on with: it has no recipe\.json",
    "predict good.csv --model absent": r"there is no model at absent; `psitext models` lists names",
    "predict good.csv --model cut": r".*cut/model\.safetensors is damaged: .*",
    "predict good.csv --model torn": r"torn is damaged \(.*\); a fresh copy of the model is needed",
    "predict good.csv --model family":
        r"family names no known family 'bret'; did you mean 'bert', 'qbert' or 'cvbert'\?",
    "predict good.csv --model future": r"future has format 9; this psitext reads format 1",
    "predict good.csv --model pretrained": r"this model was pre-trained only and answers no task; .*",
    "predict good.csv --text txt --model run":
        r"good\.csv has no column 'txt'; did you mean 'text'\? It has: text, label \(name it with --text\)",
    "predict absent.csv --model run": r"there is no file absent\.csv; did you mean .*\?",
    "predict empty.csv --model run": r"empty\.csv is empty",
    "predict short.tsv --model run": r"short\.tsv line 3 has too few fields.*",
    "predict good.csv --model run -o out.xls": r"predictions are written as \.csv, \.tsv, \.jsonl, not as 'out\.xls'",
    "predict good.csv --model run -o good.csv/out.csv":
        r"cannot write good\.csv/out\.csv: a part of that path is a file.*",
    "predict a b --pair second --model run": r"--pair names a column, so the texts must come from one file",
    "predict good.csv three.csv --text text --model run":
        r"--text names a column, so the texts must come from one file",
    "predict good.csv three.csv --model run": r"'good\.csv' is a file or folder, not a text; name one file, .*",
    "predict nice full --model run": r"'full' is a file or folder, not a text; .*",
    "encode nice absent.csv --model run": r"'absent\.csv' is a file or folder, not a text; .*",
    "predict full --model run": r"full is a folder; name one file with a text column",
    "predict - --model run": r"standard input is not read; name a file with a text column in place of '-'",
    "predict notes.md --model run": r"notes\.md: psitext reads .*, not '\.md'",
    "predict good.csv --text text --pair text --model run": r"--text and --pair both name the column 'text'",
    "predict good.csv --model run -o good.csv": r"-o good\.csv would overwrite the texts that are read; .*",
    "encode bad.jsonl --model run -o ./bad.jsonl": r"-o bad\.jsonl would overwrite the texts that are read; .*",
    "predict a --model run --set pool=cls":
        r"the model's head reads the sentence vector 'pooled', so pool=cls is for encode only",
    "evaluate --model run --data good.csv --set pool=mean": r"the model's head reads the sentence vector .*",
    "evaluate --model run --data full": r"full is a folder; .*",
    "predict good.csv --pair label --model run": r"text 0: this model was trained on single texts, not pairs",
    "encode a --model run --set pool=men": r"--set sets pool to 'men': .*",
    "encode a --model run --set pol=mean": r"--set has an unknown key 'pol'; did you mean 'pool'\?",
    "encode a --model run --tokens": r"--tokens needs -o with a \.npz file",
    "encode a --model run -o out.txt": r"states are written as \.npy, \.npz, \.jsonl, not as 'out\.txt'",
    "evaluate --model run --task toy-tags": r"the model answers words \(down, up\), not toy-tags \(other, .*\)",
    "evaluate --model run --task toy-tgs": r"no task called 'toy-tgs'; did you mean 'toy-tags'.*",
    "evaluate --model run --data other.csv": r".*other\.csv line 3 has the label 'sideways'; words knows down, up",
    "evaluate --model run":
        r"this model was fine-tuned on a file of your own \(words\), which has no splits; name a labelled file with "
        r"--data, as in `psitext evaluate --model run --data words\.csv --text text --label label`",
    "evaluate --model run --split dev": r"this model was fine-tuned on a file of your own .*",
    "evaluate --model run --data good.csv --split dev": r"--split names a part of a task, and good\.csv .*; give one",
    "evaluate --model run --data good.csv --label txt --text text":
        r"good\.csv has no column 'txt'; did you mean 'text'\? It has: text, label \(name it with --label\)",
    "evaluate --model run --data good.csv --label text --text text": r"--text and --label both name the column 'text'",
    "evaluate --model run --label verdict":
        r"--label names a column \('verdict'\) of a file of your own; name that file with --data",
    "evaluate --model pretrained --task toy-tags": r"this model was pre-trained only .*",
    "export --model run --to onxx -o out": r"cannot export to 'onxx'; did you mean 'onnx'\?",
    "export --model run": r"name a folder with -o",
    "export --model run -o full": r"full exists and is not empty; name a new folder for the checkpoint",
    "explain similarity a b --model run --word crane": r"the word 'crane' does not occur in the sentence 'a'",
    "report": r"name folders of runs, or --results with a folder of result lines",
    "report run --results full": r"name folders of runs, or --results with a folder of result lines, not both",
    "report run -o good.csv": r"reports of runs are written as \.html, \.htm, not as 'good\.csv'",
    "report --results full -o page.html": r"results pages are written as \.md, not as 'page\.html'",
    "report --out": r"option --out needs a value",
    "encode a -m": r"option -m needs a value",
    "finetune --task x --seeds": r"option --seeds needs a value",
    "report full": r"full holds no run: it has no recipe\.json",
    "report --results absent": r"there is no folder of result lines at absent",
    "reproduce bert/glue-minilmm":
        r"nothing to reproduce is called 'bert/glue-minilmm'; did you mean 'bert/glue-minilm'\?",
    "reproduce bert/glue-minilm --only rtee":
        r"--only: bert/glue-minilm has nothing called 'rtee'; did you mean 'rte'.*",
    "reproduce bert/glue-minilm --only nope": r"--only: bert/glue-minilm has nothing called 'nope'; it has: .*",
    "reproduce bert/glue-minilm --init foo=run":
        r"--init: bert/glue-minilm has nothing called 'foo'; it has: minilm",
    "reproduce bert/glue-minilm --init minilm": r"--init takes name=model here .*, not 'minilm'",
    "pretrian": r"no command called 'pretrian'; did you mean 'pretrain'\? `psitext --help` lists them\.",
    "explain entropy": r"no command called 'entropy'; `psitext explain --help` lists them\.",
    "finetune --tsk x": r"no such option: --tsk .*; see `psitext finetune --help`",
    "finetune --seeds 0": r"invalid value for '--seeds': .*; see `psitext finetune --help`",
    "predict a": r"missing option '--model' / '-m'; see `psitext predict --help`",
    "pretrain --minutes soon": r"invalid value for '--minutes': .*",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_known_commands_that_cannot_be_done(place: Path, command: str) -> None:
    check(place, command, COMMANDS[command])


def test_known_three_rows_are_few_and_enough(place: Path, tmp_path: Path) -> None:
    done = door.run(*f"{FT} three.csv".replace("-o out", f"-o {tmp_path / 'out'}").split(), cwd=place)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("finetune --task sts2", "no task called 'sts2'; .*"),
        ("predict good.csv --model absent", "there is no model at absent; `psitext models` lists names"),
        (f"{FT} mixed.csv", r"mixed\.csv mixes numbers and words .*"),
        ("predict good.csv --model cut", r"cut/model\.safetensors is damaged: .*"),
    ],
)
def test_known_the_same_from_a_fresh_interpreter(place: Path, command: str, sentence: str) -> None:
    before = door.files(place)
    refused(door.real(*command.split(), cwd=place), sentence)
    assert door.files(place) == before


EARLY = """
import sys
import psitext.cli
try:
    psitext.cli.main(sys.argv[1:])
finally:
    assert "torch" not in sys.modules
"""


@pytest.mark.parametrize(
    "command",
    [
        "finetune --task sts2",
        "finetune --config bert-mni",
        "pretrain --set nonsense",
        f"{FT} short.tsv",
        f"{FT} good.csv --dev other.csv",
        "predict good.csv --text txt --model run",
        "predict good.csv --model absent",
        "encode good.csv --model run -o out.txt",
        "resume full",
        "evaluate --model run --task toy-tgs",
    ],
)
def test_law_names_and_small_files_are_refused_before_torch_is_loaded(place: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY, *command.split()], cwd=place, capture_output=True, text=True, check=False
    )
    refused(door.Done(done.returncode, done.stdout, done.stderr), ".*")
