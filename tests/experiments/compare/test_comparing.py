"""A comparison as a whole: every way and family, goes on where it was, refuses what is another one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contenders
import door
import toys
import vaes
from psitext.errors import UserError
from psitext.experiments.compare import comparing
from psitext.experiments.compare.comparing import compare
from psitext.experiments.compare.outcome import Compared
from psitext.experiments.compare.rows import Columns, read_rows
from psitext.experiments.compare.settings import read_preset
from psitext.experiments.compare.starts import leak
from psitext.experiments.finetune import finetune_run
from psitext.model import load
from psitext.score import metrics


def own(folder: Path, count: int = 60) -> Path:
    return toys.table(folder / "own.csv", [("text", "label"), *toys.words_and_labels(count)])


def varied(folder: Path, count: int = 80) -> Path:
    """Texts that differ, so that a fifth of them is held out."""
    rows = [
        (f"{text} {index} of {index % 7}", label) for index, (text, label) in enumerate(toys.words_and_labels(count))
    ]
    return toys.table(folder / "varied.csv", [("text", "label"), *rows])


def test_smoke_all_families_and_baselines(tmp_path: Path) -> None:
    preset = contenders.preset(tmp_path / "all.toml", whole=True)
    told: list[str] = []
    found = compare(
        varied(tmp_path), config=str(preset), out=tmp_path / "out", also=[toys.pretrained()], tell=told.append
    )
    names = {one.name for one in found.standings}
    assert names == {"majority", "bag-of-words", "bert-frozen", "pretrained-frozen", "rac", "bert", "qbert", "optimus"}
    seeds = {one.name: len(one.tried) for one in found.standings}
    assert {name for name, count in seeds.items() if count == 2} == {"rac", "bert", "qbert", "optimus"}
    assert all(one.parameters > 0 and one.predict_seconds >= 0 for one in found.standings)
    assert told[0] == "64 rows to train on, 16 to judge by"
    assert any(line.startswith("qbert, seed 1: accuracy ") for line in told)
    record = json.loads((tmp_path / "out" / "compare.json").read_text(encoding="utf-8"))
    check_record(record, found)
    page = found.report.read_text(encoding="utf-8")
    for text in ("<!doctype html>", "bag-of-words", "Recall by label", "paired bootstrap", found.verdict.sentence[:20]):
        assert text in page, text
    assert "<th>remarks</th>" not in page and "Accuracy with its interval over rows" in page
    assert all(f">{one.judged.mean:.4f}<" in page for one in found.standings), "the terminal's digits"
    assert 'src="http' not in page and 'href="http' not in page
    assert load(tmp_path / "out" / "qbert" / "seed-0").predict(["good thing"])[0].label in ("up", "down")
    assert not list((tmp_path / "out").rglob("checkpoints"))
    table = found.table()
    assert [row["contender"] for row in table] == [one.name for one in found.standings]
    assert table[0]["behind the best"] == "best"


def check_record(record: dict[str, Any], found: Compared) -> None:
    """The scores are those of the answers that are written beside them."""
    labels = {name: number for number, name in enumerate(found.rows.task.labels)}
    gold = np.array([labels[row["label"]] for row in record["dev"]])
    for one in record["contenders"]:
        for answers, score in zip(one["answers"], one["scores"], strict=True):
            said = np.array([labels[name] for name in answers])
            assert metrics.accuracy(said, gold) == score
    assert record["recommendation"]["sentence"] == found.verdict.sentence


def test_law_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = str(contenders.preset(tmp_path / "few.toml"))
    table, out = varied(tmp_path), tmp_path / "out"
    first = compare(table, config=preset, out=out, seeds=1)
    before = door.files(out)
    done: list[tuple[str, int]] = []
    whole = comparing.try_out
    monkeypatch.setattr(
        comparing, "try_out", lambda job, hook: done.append((job.contender.name, job.seed)) or whole(job, hook)
    )
    again = compare(table, config=preset, out=out, seeds=1)
    assert not done
    assert [one.judged for one in again.standings] == [one.judged for one in first.standings]
    more = compare(table, config=preset, out=out, seeds=2, without=["majority"])
    assert done == [("rac", 1)], "one more seed is one more training"
    assert {one.name for one in more.standings} == {"majority", "bag-of-words", "bert-frozen", "rac"}
    kept = {name: content for name, content in door.files(out).items() if name in before and "/" in name}
    assert all(before[name] == content for name, content in kept.items())
    broken = out / "rac" / "seed-0.json"
    broken.write_text('{"answers": [', encoding="utf-8")
    with pytest.raises(UserError, match=r"seed-0\.json is damaged; delete it, and that seed is done again"):
        compare(table, config=preset, out=out)
    broken.unlink()
    compare(table, config=preset, out=out, only=["rac"])
    assert done == [("rac", 1), ("rac", 0)]
    assert broken.is_file()


def test_known_another_comparison_is_refused(tmp_path: Path) -> None:
    preset = contenders.preset(tmp_path / "few.toml")
    out = tmp_path / "out"
    compare(own(tmp_path), config=str(preset), out=out, seeds=1, only=["majority", "rac"])
    before = door.files(out)
    with pytest.raises(UserError, match=r"the train rows are not those that the comparison in .*out began with"):
        compare(own(tmp_path, 70), config=str(preset), out=out)
    own(tmp_path)
    preset.write_text(preset.read_text().replace("bond = 4", "bond = 5"))
    with pytest.raises(UserError, match=r"seed-0\.json is of rac under other settings; give --out another folder"):
        compare(tmp_path / "own.csv", config=str(preset), out=out)
    assert {
        name: found for name, found in door.files(out).items() if "bag" not in name and "frozen" not in name
    } == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious.txt").write_text("mine")
    with pytest.raises(UserError, match=r"mine holds files that are no comparison's"):
        compare(tmp_path / "own.csv", config=str(preset), out=tmp_path / "mine")


def test_smoke_scores(tmp_path: Path) -> None:
    table = toys.table(tmp_path / "scores.csv", [("text", "label"), *toys.scored(80)])
    preset = contenders.preset(tmp_path / "all.toml", whole=True)
    found = compare(table, config=str(preset), out=tmp_path / "out", seeds=1, without=["optimus", "qbert"])
    assert found.metric == "pearson"
    by_name = {one.name: one for one in found.standings}
    assert by_name["majority"].judged.mean == 0 and by_name["bag-of-words"].judged.mean > 0.5
    assert set(by_name["bert"].metrics) == {"pearson", "spearman", "rmse"}
    assert all(isinstance(answer, float) for one in found.standings for answer in one.tried[0].answers)


def test_smoke_pairs(tmp_path: Path) -> None:
    rows = [
        (f"{a} {n}", f"{b} {n % 5}", label)
        for n, (a, b, label) in enumerate([("up", "good", "so"), ("up", "bad", "no")] * 40)
    ]
    table = toys.table(tmp_path / "pairs.csv", [("first", "second", "label"), *rows])
    preset = contenders.preset(tmp_path / "all.toml", whole=True)
    found = compare(
        table, text="first", pair="second", config=str(preset), out=tmp_path / "out", seeds=1,
        only=["majority", "bag-of-words", "bert-frozen", "bert"],
    )  # fmt: skip
    assert {one.name: one.judged.mean for one in found.standings}["bag-of-words"] == 1.0


def test_law_time_is_shared_and_what_it_does_not_reach_is_said(tmp_path: Path) -> None:
    preset = contenders.preset(tmp_path / "few.toml")
    table = varied(tmp_path)
    found = compare(table, config=str(preset), out=tmp_path / "out", minutes=1e-6)
    assert set(found.left_out) == {"bert-frozen", "rac"}
    assert found.left_out["rac"] == "not run: the 1e-06 minutes were used up"
    assert [row["remarks"] for row in found.table()][-1] == found.left_out["rac"]
    assert {one.name for one in found.standings} == {"majority", "bag-of-words"}
    later = compare(table, config=str(preset), out=tmp_path / "out")
    assert not later.left_out and len(later.standings) == 4
    with pytest.raises(UserError, match="were used up before any contender"):
        compare(table, config=str(preset), out=tmp_path / "other", minutes=1e-6, only=["rac"])


def test_known_a_model_that_is_not_there_is_an_error_before_anything_is_trained(tmp_path: Path) -> None:
    preset = contenders.preset(tmp_path / "all.toml")
    preset.write_text(preset.read_text().replace(str(toys.pretrained()), str(tmp_path / "absent")))
    with pytest.raises(
        UserError, match=r"bert-frozen would start from .*absent \(leave out with --without bert-frozen\)"
    ):
        compare(own(tmp_path), config=str(preset), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_known_a_language_that_a_model_does_not_know_is_said(tmp_path: Path) -> None:
    texts = [
        (f"これは{index}番目の映画です" + ("良い" if index % 2 else "悪い"), "ab"[index % 2]) for index in range(40)
    ]
    table = toys.table(tmp_path / "own.csv", [("text", "label"), *texts])
    told: list[str] = []
    compare(
        table, config=str(contenders.preset(tmp_path / "few.toml")), out=tmp_path / "out", tell=told.append,
        only=["majority", "bag-of-words", "bert-frozen"],
    )  # fmt: skip
    assert told[1].startswith("pretrained knows only 0% of the words of the training texts whole")


def test_law_what_was_done_in_the_folder_stays_in_the_report(tmp_path: Path) -> None:
    preset = str(contenders.preset(tmp_path / "few.toml"))
    table, out, told = varied(tmp_path), tmp_path / "out", []
    first = compare(table, config=preset, out=out, seeds=2, only=["rac"])
    more = compare(table, config=preset, out=out, seeds=1, only=["bag-of-words"], tell=told.append)
    assert {one.name for one in more.standings} == {"majority", "bag-of-words", "rac"}
    assert "kept from before: rac (--without takes one out)" in told
    scores = [next(one for one in found.standings if one.name == "rac").judged.scores for found in (first, more)]
    assert scores[0] == scores[1] and len(scores[0]) == 2
    assert ">rac<" in more.report.read_text(encoding="utf-8")
    assert [one.name for one in more.standings if one.judged.mean == more.standings[0].judged.mean][:1] != ["rac"]
    less = compare(table, config=preset, out=out, seeds=1, only=["bag-of-words"], without=["rac"])
    assert {one.name for one in less.standings} == {"majority", "bag-of-words"}


def test_law_what_learnt_from_rows_that_judge_is_not_recommended(tmp_path: Path) -> None:
    (tmp_path / "apart").mkdir()
    words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrstuvwxyz"]
    rows = [("text", "label"), *((f"{word} thing", ("up", "down")[index % 2]) for index, word in enumerate(words * 2))]
    table = toys.table(tmp_path / "own.csv", rows)
    run = tmp_path / "mine"
    finetune_run(toys.finetuning(["train.steps=2"], data={"train": str(table)}), run)
    preset = str(contenders.preset(tmp_path / "few.toml"))
    told: list[str] = []
    for given in (run, run / "model"):
        out, name = tmp_path / f"out-{given.name}", f"{given.name}-frozen"
        found = compare(table, config=preset, out=out, also=[given], only=["bag-of-words", name], tell=told.append)
        standing = found.standings[-1]
        assert standing.name == name and "trained on" in standing.leak, "last, whatever its score"
        assert found.verdict.name != name
        assert found.verdict.sentence.endswith(f"Left out of this: {name}, which learnt from rows that judge.")
        assert "LEAK" in str(found.table()[-1]["remarks"]) and any(line.startswith("LEAK: ") for line in told)
        assert "LEAK: " in found.report.read_text(encoding="utf-8")
        again = compare(table, config=preset, out=out, only=["bag-of-words"])
        assert again.standings[-1].leak == standing.leak, "what is kept stays left out"
    rows_there = read_rows(str(table), Columns("text", "label"), read_preset(preset))
    table.rename(tmp_path / "away.csv")
    assert leak(str(run), rows_there) == f"it was trained on {table}, whose rows judge here", "by its name alone"
    (tmp_path / "away.csv").rename(table)
    second = tmp_path / "second"
    finetune_run(toys.finetuning(["train.steps=2"], data={"train": str(own(tmp_path / "apart"))}), second)
    assert leak(str(second), rows_there) == "", "other rows"
    moved = run.rename(tmp_path / "moved")
    table.rename(tmp_path / "other.csv")
    (moved / "model").rename(tmp_path / "apart" / "lone")
    compare(
        tmp_path / "other.csv", config=preset, out=tmp_path / "lone-out", also=[tmp_path / "apart" / "lone"],
        only=["lone-frozen"], tell=told.append,
    )  # fmt: skip
    assert any(re.match(r"lone was trained on labelled rows \(own\) that may be among these", line) for line in told)


def test_known_a_sole_contender_is_compared_with_majority_only(tmp_path: Path) -> None:
    preset = str(contenders.preset(tmp_path / "few.toml"))
    rows = [(f"{'good' if n % 2 else 'bad'} thing {n}", ("down", "up")[n % 2]) for n in range(300)]
    table = toys.table(tmp_path / "many.csv", [("text", "label"), *rows])
    found = compare(table, config=preset, out=tmp_path / "out", only=["bag-of-words"])
    assert found.verdict.sentence.startswith("Nothing is compared: on 60 rows bag-of-words is better than always")
    assert {one.name for one in found.standings} == {"majority", "bag-of-words"}


def test_known_what_a_model_reads_is_said(tmp_path: Path) -> None:
    long = [(" ".join(["good thing"] * 40) + f" {n}", ("down", "up")[n % 2]) for n in range(40)]
    table = toys.table(tmp_path / "long.csv", [("text", "label"), *long])
    preset = str(contenders.preset(tmp_path / "all.toml", whole=True))
    found = compare(table, config=preset, out=tmp_path / "out", seeds=1, only=["bert-frozen", "optimus"])
    for name, init in (("bert-frozen", toys.pretrained()), ("optimus", vaes.space())):
        one = next(one for one in found.standings if one.name == name)
        read = load(init).text.max_len
        assert read < one.contender.max_len and f"32 texts cut at {read} tokens" in one.remarks


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seeds": 0}, "seeds is a whole number from 1 on, not 0"),
        ({"minutes": -1}, "minutes is a number above 0, not -1"),
        ({"minutes": float("nan")}, "minutes is a number above 0, not nan"),
        ({"only": "majority"}, r"only is a list of names, such as \['majority'\], not a str"),
        ({"also": Path("runs/x")}, "also is a list of names"),
        ({"data": {"text": []}}, "data is the path of a table, or hub:<name>, not a dict"),
        ({"also": ["TMP"], "only": ["majority"]}, "is not a model: it has no config.json"),
    ],
)
def test_known_mistakes_in_python_are_one_sentence(given: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    if given.get("also") == ["TMP"]:
        given = {**given, "also": [tmp_path / "empty"]}
    with pytest.raises(UserError, match=sentence):
        compare(**{"data": own(tmp_path), "out": tmp_path / "out", **given})
    assert not (tmp_path / "out").exists()


def test_known_what_only_leaves_out_of_also_is_said(tmp_path: Path) -> None:
    told: list[str] = []
    preset = str(contenders.preset(tmp_path / "few.toml"))
    given = toys.trained("words")
    compare(own(tmp_path), config=preset, out=tmp_path / "out", also=[given], only=["majority"], tell=told.append)
    assert told[0] == f"--only and --without leave out what --also {given} adds"
