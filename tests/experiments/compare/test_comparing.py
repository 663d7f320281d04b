"""A comparison as a whole: every way and family, goes on where it was, refuses what is another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contenders
import door
import toys
from psitext.errors import UserError
from psitext.experiments.compare import comparing
from psitext.experiments.compare.comparing import compare
from psitext.experiments.compare.outcome import Compared
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
    assert {one.name for one in more.standings} == {"bag-of-words", "bert-frozen", "rac"}
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
    with pytest.raises(UserError, match=r"the train rows are not those that the run in .*out began with"):
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
