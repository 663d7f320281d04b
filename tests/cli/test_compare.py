"""``psitext compare`` from the shell: what a user can get wrong, what is printed, and a kill in the middle."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

import contenders
import door
import toys

WORDS = [(f"{text} {index}", label) for index, (text, label) in enumerate(toys.words_and_labels(60))]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    contenders.preset(folder / "few.toml")
    (folder / "absent.toml").write_text(
        (folder / "few.toml").read_text().replace(str(toys.pretrained()), "bert-tinny"), encoding="utf-8"
    )

    def table(name: str, rows: list[tuple[object, object]]) -> None:
        toys.table(folder / name, [("text", "label"), *rows])

    table("good.csv", list(WORDS))
    table("more.csv", [*WORDS, ("good so", "up")])
    table("one.csv", [(text, "up") for text, _ in WORDS])
    table("three.csv", list(WORDS[:3]))
    table("bare.csv", [*[(text, "") for text, _ in WORDS], *WORDS[:20]])
    table("numbers.csv", [(index / 7, label) for index, (_, label) in enumerate(WORDS)])
    table("names.csv", [(f"text {index}", f"name{index}") for index in range(10_000)])
    table("whole.csv", [(f"text {index}", index) for index in range(10_000)])
    table("mixed.csv", [*WORDS, ("good so", 1)])
    table("strange.csv", [*WORDS[:5], ("good so", "sideways")])
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 40)
    (folder / "photo.png").write_bytes(b"\x89PNG" + bytes(200))
    with (folder / "huge.csv").open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        file.writelines(f"a word {index},{'up' if index % 2 else 'down'}\n" for index in range(200_010))
    (folder / "full").mkdir()
    (folder / "full" / "precious.txt").write_text("mine", encoding="utf-8")
    return folder


WRONG = {
    "one.csv": r"one\.csv has but one label in its column 'label': 'up'",
    "three.csv": r"three\.csv has 3 rows with text and label, .* takes at least 20, and says little below some hundred",
    "bare.csv": r"60 of the 80 rows of bare\.csv have an empty 'text' or 'label'; fill them in .*",
    "numbers.csv": r"the column 'text' of numbers\.csv holds numbers only \('0\.0' on line 2\), which are no "
    r"sentences; name the column of texts with --text",
    "names.csv": r"the column 'label' of names\.csv has 10,000 different values in 10,000 rows, too many to be "
    r"classes; it looks like an id, a name or a text; name the label's column with --label",
    "whole.csv": r"the column 'label' of whole\.csv has 10,000 .*; if it is a score, say --kind regression; .*",
    "mixed.csv": r"mixed\.csv mixes numbers and words in its column 'label': .*",
    "binary.csv": r"binary\.csv line 1 holds a NUL character \(column 1\); it is no text file",
    "photo.png": r"photo\.png: psitext reads .*, not '\.png'",
    "huge.csv": r"huge\.csv has more than the 200,000 rows .* reads; --limit 20000 takes a sample of it",
    "god.csv": r"there is no file god\.csv; did you mean 'good\.csv'.*\?",
    "good.csv --text txt": r"good\.csv has no column 'txt'; did you mean 'text'\? It has: .* \(name it with --text\)",
    "good.csv --label sentiment": r"good\.csv has no column 'sentiment'; it has: text, label \(.*; numbers, .*\)",
    "good.csv --pair text": r"--text and --pair both name the column 'text'",
    "good.csv --only bert-frozn": r"--only: there is no contender 'bert-frozn'; did you mean 'bert-frozen'\?",
    "good.csv --without tree": r"--without: there is no contender 'tree'; there are: majority, .*",
    "good.csv --config usal": r"no comparison called 'usal'; did you mean 'usual'\?",
    "good.csv --config good.csv": r"no comparison called 'good\.csv'.*",
    "good.csv --kind regresion": r"--kind is classification or regression, .*; did you mean 'regression'\?",
    "good.csv --kind regression": r"good\.csv line \d+ has the score '(up|down)'; good needs a number",
    "good.csv --metric pearson": r"--metric: 'pearson' does not measure a classification of good; these do: .*",
    "good.csv --dev good.csv": r"good\.csv is given to train on and to judge by .*",
    "good.csv --dev strange.csv": r"strange\.csv line 7 has the label 'sideways'; good knows down, up",
    "good.csv --also runs/none": r".*runs/none.*",
    "good.csv --also full --only majority": r".*full is not a model: it has no config\.json",
    "good.csv --config absent.toml": r"bert-frozen would start from bert-tinny \(leave out with .*\): .*bert-tinny.*",
    "good.csv --out full": r"full holds files that are no comparison's; give --out another folder",
    "good.csv --out good.csv": r"cannot write good\.csv: that is a file, and a folder is to be there; .*",
    "good.csv --seeds 0": r"invalid value for '--seeds': .*",
}


@pytest.mark.parametrize("given", WRONG)
def test_known_mistakes_are_one_sentence(place: Path, given: str) -> None:
    before = sorted(path.name for path in place.rglob("*"))
    usual = [("--config", "few.toml"), ("--out", "out")]
    others = [word for option, value in usual if option not in given for word in (option, value)]
    done = door.run("compare", *given.split(), *others, cwd=place)
    assert "Traceback" not in done.err, done.err
    assert (done.code, done.out) == (2, ""), done
    assert re.fullmatch(rf"psitext: {WRONG[given]}\n", done.err), done.err
    assert sorted(path.name for path in place.rglob("*")) == before


def test_smoke_a_table_a_recommendation_and_a_report(place: Path) -> None:
    done = door.run("compare", "good.csv", "--config", "few.toml", "--seeds", "1", "--out", "whole", cwd=place)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split()[:2] == ["contender", "accuracy"]
    assert {line.split()[0] for line in lines[1:5]} == {"majority", "bag-of-words", "bert-frozen", "rac"}
    assert lines[-2].startswith("No recommendation: 12 rows to judge by are too few")
    assert lines[-1] == "report: whole/report.html"
    assert (place / "whole" / "report.html").is_file()
    told = done.err.splitlines()
    assert told[0] == "48 rows to train on, 12 to judge by"
    assert any(re.match(r"rac, seed 0: accuracy \d\.\d{4}, ", line) for line in told)
    other = door.run("compare", "more.csv", "--config", "few.toml", "--seeds", "1", "--out", "whole", cwd=place)
    assert other.code == 2 and "rows are not those that the comparison in whole began with" in other.err


def test_law_a_kill_loses_nothing_that_was_done(place: Path) -> None:
    slow = (place / "few.toml").read_text().replace("steps = 6", "steps = 4000")
    (place / "slow.toml").write_text(slow, encoding="utf-8")
    order = ("compare", "good.csv", "--config", "slow.toml", "--seeds", "1", "--out", "killed", "--minutes", "600")
    child = door.start(*order, cwd=place)
    out = place / "killed"
    door.until(lambda: (out / "rac" / "seed-0" / "metrics.jsonl").is_file())
    child.kill(signal.SIGKILL)
    assert child.wait().code == -signal.SIGKILL
    kept = {name: content for name, content in door.files(out).items() if name.endswith("seed-0.json")}
    assert sorted(kept) == ["bag-of-words/seed-0.json", "bert-frozen/seed-0.json", "majority/seed-0.json"]
    recipe = json.loads((out / "rac" / "seed-0" / "recipe.json").read_text())
    assert recipe["recipe"]["train"]["steps"] == 4000
    child = door.start(*order, cwd=place)
    door.until(lambda: child.err.exists() and "rac, seed 0: step" in child.err.read_text(encoding="utf-8"))
    child.kill(signal.SIGINT)
    done = child.wait()
    assert done.code == 130 and "the same command goes on from there" in done.err, done.err
    assert {name: door.files(out)[name] for name in kept} == kept
    assert not (out / "rac" / "seed-0.json").exists()


STOPPED = """
import os, signal
from psitext.experiments.compare import comparing
own = comparing.try_out
def asked(*given):
    os.kill(os.getpid(), signal.SIGINT)  # between trainings
    return own(*given)
comparing.try_out = asked
"""


STOPPED_READING = """
import os, signal
from psitext.experiments.compare import rows
own = rows.read_rows
def asked(*given, **named):
    os.kill(os.getpid(), signal.SIGINT)
    return own(*given, **named)
rows.read_rows = asked
"""


def test_known_an_interrupt_while_the_table_is_read_says_so(place: Path) -> None:
    done = door.start("compare", "good.csv", "--out", "unread", cwd=place, before=STOPPED_READING).wait()
    assert (done.code, done.out) == (130, "")
    assert done.err == "psitext: interrupted while good.csv was read; nothing of it is kept\n"
    assert not (place / "unread").exists()


STOPPED_TRYING = """
import os, signal
from psitext.experiments.compare import budget
own = budget.finetune_run
def asked(*given):
    def hook(event):
        os.kill(os.getpid(), signal.SIGINT)  # in the trial that tells how long a step takes
    return own(*given[:2], [hook])
budget.finetune_run = asked
"""


@pytest.mark.parametrize(("only", "before"), [("majority", STOPPED), ("rac", STOPPED_TRYING)])
def test_known_an_interrupt_says_that_the_same_command_goes_on(only: str, before: str, place: Path) -> None:
    out = f"stopped-{only}"
    command = ["compare", "good.csv", "--config", "few.toml", "--seeds", "1", "--only", only, "--out", out]
    done = door.start(*command, cwd=place, before=before).wait()
    assert done.code == 130, done
    assert done.err.splitlines()[-1] == "psitext: interrupted; the same command goes on from there"
    assert door.run(*command, cwd=place).code == 0
