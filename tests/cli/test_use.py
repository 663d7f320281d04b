"""Using models from the command line: predict, encode, evaluate, export, explain."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import door
import toys
from psitext.model import load
from psitext.text.examples import Example


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and a model of every kind."""
    folder = tmp_path_factory.mktemp("use")
    rows = ['"good, ""so"" good",1', "dull so,2", "naïve 東京 fine,3", '"two', 'lines bad",4', f"{'good ' * 60},5"]
    (folder / "texts.csv").write_text("\n".join(["review,id", *rows, ""]), encoding="utf-8")
    for name in ("words", "pairs", "scores", "tags", "questions", "sentiment"):
        (folder / name).symlink_to(toys.trained(name))
    (folder / "pretrained").symlink_to(toys.pretrained())
    return folder


TEXTS = ['good, "so" good', "dull so", "naïve 東京 fine", "two\nlines bad", ("good " * 60).strip()]
CUT = "1 of 5 texts are longer than the 48 tokens that the model reads; cut there\n"

LEARNT = "{} among those that the model was trained on; what a model scores on such texts says little of new ones\n"


def said(place: Path, *args: object, err: str = "") -> str:
    done = door.run(*args, cwd=place)
    assert (done.code, done.err) == (0, err), done
    return done.out


def test_law_predictions_are_the_models_own_in_the_order_of_the_file(place: Path) -> None:
    model = load(place / "words")
    answers = model.predict(TEXTS)
    command = ["predict", "texts.csv", "--text", "review", "-m", "words"]
    lines = [json.loads(line) for line in said(place, *command, err=CUT).splitlines()]
    assert [line["text"] for line in lines] == TEXTS
    assert [line["line"] for line in lines] == [2, 3, 4, 5, 7]
    assert [line["prediction"] for line in lines] == [answer.label for answer in answers]
    assert [line["probability"] for line in lines] == pytest.approx([a.probability for a in answers], abs=1e-6)
    assert lines[0]["probability of up"] + lines[0]["probability of down"] == pytest.approx(1, abs=2e-6)
    assert said(place, *command, "-o", "out.jsonl", err=CUT) == "5 predictions: out.jsonl\n"
    assert [json.loads(line) for line in (place / "out.jsonl").read_text(encoding="utf-8").splitlines()] == lines
    said(place, *command, "-o", "out.csv", err=CUT)
    with (place / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == TEXTS
    assert [float(row["probability"]) for row in rows] == [line["probability"] for line in lines]
    said(place, *command, "-o", "out.tsv", err=CUT)
    table = [line.split("\t") for line in (place / "out.tsv").read_text(encoding="utf-8").splitlines()]
    assert len(table) == 6 and {len(row) for row in table} == {6}
    assert table[4][1] == "two lines bad"


def test_known_texts_as_arguments(place: Path) -> None:
    first, second = (
        json.loads(line) for line in said(place, "predict", "good so", "dull so", "-m", "words").splitlines()
    )
    assert (first["line"], first["prediction"], second["prediction"]) == (1, "up", "down")
    odd = said(place, "predict", "", "𝒳 \x07", "-m", "words")
    assert len(odd.splitlines()) == 2


def test_known_every_kind_of_task(place: Path) -> None:
    score = json.loads(said(place, "predict", "good fine", "-m", "scores"))
    assert isinstance(score["prediction"], float) and "probability" not in score
    tags = json.loads(said(place, "predict", "Anna took the lamp", "-m", "tags"))
    assert len(tags["prediction"].split()) == 4
    passage = "Ravi bought the red lamp."
    toys.table(place / "ask.csv", [("q", "p"), ("What did Ravi buy?", passage)])
    found = json.loads(said(place, "predict", "ask.csv", "--text", "q", "--pair", "p", "-m", "questions"))
    assert found["prediction"] == passage[found["start"] : found["end"]]
    pair = json.loads(said(place, "predict", "ask.csv", "--text", "q", "--pair", "p", "-m", "pairs"))
    assert pair["prediction"] in ("next", "other") and pair["pair"] == passage


def test_known_one_word_with_a_dot_or_a_name_elsewhere_is_still_a_text(place: Path) -> None:
    out = said(place, "predict", "I read it in texts.csv", "nothing is there", "-m", "words")
    assert len(out.splitlines()) == 2


def test_law_a_head_is_used_with_the_vector_that_it_reads(place: Path) -> None:
    pool = load(place / "words").encoder.config.pool
    plain = said(place, "predict", "good so", "-m", "words")
    assert said(place, "predict", "good so", "-m", "words", "--set", f"pool={pool}") == plain


def test_known_rows_in_a_pipe_are_whole_lines(place: Path) -> None:
    lines = said(place, "tasks").splitlines()
    assert lines[0].split()[:2] == ["task", "what"]
    assert {"qbert-sst2", "toy-sentiment", "mnli"} <= {line.split()[0] for line in lines}
    mnli = next(line for line in lines if line.startswith("mnli "))
    assert "entailment, neutral, contradiction" in mnli and "dev_mismatched, test_matched, test_mismatched" in mnli


def test_law_states_are_the_models_own(place: Path) -> None:
    model = load(place / "pretrained")
    state = model.encode(TEXTS, tokens=True)
    command = ["encode", "texts.csv", "--text", "review", "-m", "pretrained"]
    cut = CUT.replace("48", "64")
    lines = [json.loads(line) for line in said(place, *command, err=cut).splitlines()]
    assert [line["text"] for line in lines] == TEXTS
    np.testing.assert_allclose([line["vector"] for line in lines], state.numpy(), rtol=0, atol=2e-6)
    assert said(place, *command, "-o", "s.npy", err=cut) == "5 states of width 32: s.npy\n"
    np.testing.assert_allclose(np.load(place / "s.npy"), state.numpy(), rtol=0, atol=1e-6)
    said(place, *command, "--tokens", "-o", "s.npz", err=cut)
    with np.load(place / "s.npz") as arrays:
        assert set(arrays) == {"vector", "tokens", "real"}
        assert arrays["tokens"].shape == (*arrays["real"].shape, 32)
        assert arrays["real"].sum(1).tolist() == state.real.sum(1).tolist()  # type: ignore[union-attr]
    mean = json.loads(said(place, "encode", "dull so", "-m", "pretrained", "--set", "pool=mean"))
    np.testing.assert_allclose(
        mean["vector"], load(place / "pretrained", pool="mean").encode(["dull so"]).numpy()[0], rtol=0, atol=2e-6
    )
    (place / "use.toml").write_text('pool = "mean"\nbatch_tokens = 10\n')
    again = said(place, "encode", "dull so", "-m", "pretrained", "--config", "use.toml")
    assert json.loads(again)["vector"] == pytest.approx(mean["vector"], abs=2e-6)


def test_known_scores_on_ones_own_file(place: Path) -> None:
    rows = [("text", "label"), ("good fine", "up"), ("dull grim", "down"), ("fine kind", "down"), ("kind fine", "up")]
    toys.table(place / "labelled.csv", rows)
    err = LEARNT.format("all 4 texts of labelled.csv are")
    out = said(place, "evaluate", "-m", "words", "--data", "labelled.csv", err=err)
    assert "labelled" in out and "0.7500" in out and "accuracy" in out and "COLLAPSED" not in out
    toys.table(place / "same.csv", [("text", "label"), ("good fine", "up"), ("fine kind", "down")])
    err = LEARNT.format("all 2 texts of same.csv are")
    assert "COLLAPSED on same.csv in 1 of 1" in said(place, "evaluate", "-m", "words", "--data", "same.csv", err=err)


def test_known_rows_that_the_model_was_trained_on_are_counted(place: Path, tmp_path: Path) -> None:
    """By their texts, in a table and in splits; those of a model whose run or rows are gone are not known."""
    rows = [("text", "label"), ("good fine", "up"), ("dull strange", "down"), ("so good a thing", "up")]
    toys.table(tmp_path / "new.csv", rows)
    command = ["evaluate", "-m", place / "words", "--data", "new.csv"]
    said(tmp_path, *command, "-o", "scores.jsonl", err=LEARNT.format("1 of the 3 texts of new.csv is"))
    record = json.loads((tmp_path / "scores.jsonl").read_text(encoding="utf-8"))
    accuracy = load(place / "words").evaluate([Example(text, label=label) for text, label in rows[1:]])["accuracy"]
    assert (record["split"], record["texts"], record["trained on"]) == ("new.csv", 3, 1)
    assert record["accuracy"] == accuracy and record["collapsed"] is False
    toys.table(tmp_path / "other.csv", [("text", "label"), ("dull strange", "down"), ("so good a thing", "up")])
    assert "other.csv" in said(tmp_path, "evaluate", "-m", place / "words", "--data", "other.csv")
    load(place / "words").save(tmp_path / "alone")
    said(tmp_path, "evaluate", "-m", "alone", "--data", "new.csv", "-o", "alone.jsonl")
    assert json.loads((tmp_path / "alone.jsonl").read_text(encoding="utf-8"))["trained on"] is None


def test_known_several_splits_in_one_table(place: Path, tmp_path: Path) -> None:
    command = ["evaluate", "-m", place / "sentiment", "--split", "train", "--split", "dev", "--baselines"]
    err = "texts of train are among those that the model was trained on"
    done = door.run(*command, "-o", "scores.csv", cwd=tmp_path)
    assert done.code == 0 and done.out.endswith("scores: scores.csv\n") and done.err.startswith("all "), done
    assert err in done.err and done.err.count("\n") == 1
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    named = [(row["model"].rsplit("/", 1)[-1], row["split"]) for row in rows]
    scored = [("majority", "train"), ("bag of words", "train"), ("majority", "dev"), ("bag of words", "dev")]
    assert named[:2] == [("sentiment", "train"), ("sentiment", "dev")] and sorted(named[2:]) == sorted(scored)
    train, dev = rows[:2]
    assert train["trained on"] == train["texts"] and int(dev["trained on"]) == 0
    assert set(rows[0]) == {"model", "split", "texts", "trained on", "accuracy", "f1", "collapsed"}


def test_known_columns_by_number_are_told(place: Path, tmp_path: Path) -> None:
    """A header that is read as a row is seen, and how to give its names."""
    toys.table(tmp_path / "own.csv", [("review", "mood"), *toys.words_and_labels(9)])
    sentence = (
        "own.csv is read as a table without a header line, since its columns are counted (--text 1); if its first line "
        "has their names (review, mood), give these: --text review\n"
    )
    out = said(tmp_path, "predict", "own.csv", "--text", "1", "-m", place / "words", err=sentence)
    assert len(out.splitlines()) == 10
    assert len(said(tmp_path, "predict", "own.csv", "--text", "review", "-m", place / "words").splitlines()) == 9


def test_known_scores_beside_baselines(place: Path) -> None:
    task = toys.task_file(place, "tags")
    out = said(place, "evaluate", "-m", "tags", "--task", task, "--baselines", "--split", "dev")
    assert "tag_accuracy" in out and "most frequent tag" in out


def test_known_out_and_back(place: Path) -> None:
    assert said(place, "export", "-m", "words", "-o", "theirs") == "written: theirs\n"
    ours = json.loads(said(place, "encode", "good so", "-m", "words", "--set", "pool=cls"))
    theirs = json.loads(said(place, "encode", "good so", "-m", "hf:theirs", "--set", "pool=cls"))
    assert theirs["vector"] == pytest.approx(ours["vector"], abs=2e-6)


def test_known_a_word_in_two_sentences(place: Path) -> None:
    sentences = ["A crane flew over the lake.", "The crane stopped in the wind."]
    out = said(place, "explain", "similarity", "-m", "pretrained", "--word", "crane", *sentences)
    assert "static" in out and "contextual" in out and "1.0000" in out
    done = door.run("explain", "similarity", "-m", "pretrained", "--word", "crane", sentences[0], cwd=place)
    assert done.code == 2 and "takes two of them at least" in done.err


def test_known_an_unknown_word_is_told(place: Path) -> None:
    command = ["explain", "similarity", "-m", "pretrained", "--word", "鶴", "鶴 flew.", "The 鶴 stopped."]
    note = "the model's vocabulary lacks '鶴'; what was compared is its sign for unknown words\n"
    assert "1.0000" in said(place, *command, err=note)


STOPPED = """
import os, signal
from psitext.model import Model
for name in ("predict", "encode", "evaluate"):
    def asked(*given, _own=getattr(Model, name), **named):
        os.kill(os.getpid(), signal.SIGINT)  # in the middle of the work
        return _own(*given, **named)
    setattr(Model, name, asked)
"""


def test_known_an_interrupt_says_what_became_of_the_work(place: Path, tmp_path: Path) -> None:
    more = toys.table(tmp_path / "more.csv", [("review", "sentiment"), *toys.words_and_labels(9)])
    (tmp_path / "old.npz").write_bytes(b"mine")
    columns, model = ["--text", "review"], ["-m", place / "words"]
    for command, sentence in (
        (["predict", more, *columns, "-o", "new.csv"], "9 texts were answered; new.csv is not written"),
        (["predict", more, *columns], "9 texts were answered; nothing of it is kept"),
        (["encode", more, *columns, "-o", "old.npz"], "9 texts were encoded; old.npz is as it was"),
        (
            ["evaluate", "--data", more, *columns, "--label", "sentiment"],
            "the 9 texts of more.csv were scored; nothing of it is kept",
        ),
        (
            ["evaluate", "--data", more, *columns, "--label", "sentiment", "-o", "new.csv"],
            "the 9 texts of more.csv were scored; new.csv is not written",
        ),
    ):
        done = door.start(*command, *model, cwd=tmp_path, before=STOPPED).wait()
        assert (done.code, done.out, done.err) == (130, "", f"psitext: interrupted while {sentence}\n")
    assert door.files(tmp_path) == {"more.csv": more.read_bytes(), "old.npz": b"mine"}


def test_known_columns_of_a_file_to_score(place: Path, tmp_path: Path) -> None:
    """Under any names, in any of the ways that spreadsheets write, the scores are the same."""
    rows = [("review", "sentiment"), *toys.words_and_labels(32)]
    for name, sign, end in (("plain.csv", ",", "\n"), ("semicolons.csv", ";", "\r\n"), ("old.tsv", "\t", "\r")):
        content = "".join(sign.join(row) + end for row in rows)
        (tmp_path / name).write_bytes(content.encode("utf-8-sig"))
    command = ["evaluate", "-m", place / "words", "--text", "review", "--label", "sentiment", "--data"]
    found = set()
    for name in ("plain.csv", "semicolons.csv", "old.tsv"):
        done = door.run(*command, name, cwd=tmp_path)
        assert done.code == 0 and done.err.startswith(f"all 32 texts of {name} are among those"), done
        found.add("".join(sign for sign in done.out.replace(name, "") if sign not in " ─━"))
    assert len(found) == 1
