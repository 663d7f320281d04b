"""Scoring finished models: on which rows, beside which baselines, for which task."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import tellers
import toys
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.finetune import finetune_run
from psitext.experiments.runs.folder import RunFolder, Stopped
from psitext.experiments.runs.recipes import AutoencodeRecipe, CorpusConfig, FinetuneRecipe
from psitext.model import Model, load
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_task, read_split
from psitext.text.twofold import SentencesConfig


@pytest.fixture(scope="module")
def words() -> Model:
    return load(toys.trained("words"))


def test_known_the_task_of_a_model(words: Model) -> None:
    assert evaluation.task_of(words, None) is words.task
    sentiment = load(toys.trained("sentiment"))
    other = evaluation.task_of(sentiment, "toy-sentiment")
    assert other.name == "toy-sentiment", "another task with the same labels in the same order"
    with pytest.raises(
        UserError, match=r"the model answers words \(down, up\), not toy-sentiment \(negative, positive\)"
    ):
        evaluation.task_of(words, "toy-sentiment")
    with pytest.raises(UserError, match=r"the model answers scores \(regression\), not words"):
        evaluation.task_of(load(toys.trained("scores")), str(own_task()))
    with pytest.raises(UserError, match="pre-trained only"):
        evaluation.task_of(load(toys.pretrained()), None)


def own_task() -> Path:
    path = toys.folder() / "words.toml"
    path.write_text('kind = "classification"\ntext = "text"\nlabel = "label"\nlabels = ["down", "up"]\n')
    return path


def test_known_which_rows(words: Model, tmp_path: Path) -> None:
    task = load_task(str(toys.task_file(tmp_path, "sentiment")))
    assert list(evaluation.labelled_splits(task, None, None, None)) == ["dev"]
    assert list(evaluation.labelled_splits(task, "train", None, None)) == ["train"]
    assert list(evaluation.labelled_splits(task, ["dev", "train"], None, None)) == ["dev", "train"]
    path = toys.table(tmp_path / "more.csv", [("label", "text"), ("up", "good so")])
    found = evaluation.labelled_splits(words.asked(), None, str(path), None)
    assert [one.label for one in found["more.csv"]] == ["up"]
    named = toys.table(tmp_path / "named.csv", [("verdict", "said"), ("up", "good so")])
    with pytest.raises(UserError, match=r"has no columns 'text' and 'label'; it has: .* with --text and --label"):
        evaluation.labelled_splits(words.asked(), None, str(named), None)
    other = evaluation.labelled_splits(words.asked(), None, str(named), None, {"text": "said", "label": "verdict"})
    assert [(one.text, one.label) for one in other["named.csv"]] == [("good so", "up")]
    own = "a file of your own.*as in `psitext evaluate --model it --data words.csv --text text --label label`"
    for split in (None, "dev"):
        with pytest.raises(UserError, match=own):
            evaluation.labelled_splits(words.asked(), split, None, None, command="psitext evaluate --model it")
    with pytest.raises(UserError, match="task 'sentiment' has no split 'tset'"):
        evaluation.labelled_splits(task, "tset", None, None)
    with pytest.raises(UserError, match="the labels of cola's test are not published; --submission"):
        evaluation.labelled_splits(load_task("cola"), "test", None, None)


def test_known_the_rows_that_a_model_was_trained_on(tmp_path: Path) -> None:
    """Those of its run, without what was held out; of a run whose file holds others by now, none are known."""
    path = toys.table(tmp_path / "own.csv", [("text", "label"), *toys.words_and_labels(40)])
    recipe = toys.finetuning(["train.steps=1"], data={"train": str(path)})
    finetune_run(recipe, tmp_path / "run")
    for name in ("run", "run/model"):
        train = evaluation.rows_of(str(tmp_path / name), None)
        assert train is not None and len(train) == 36
    assert evaluation.learnt(train, [train[0], Example("so"), Example(train[0].text, "so")]) == 1
    path.write_text(path.read_text().replace("good", "very good"))
    assert evaluation.rows_of(str(tmp_path / "run"), None) is None
    path.unlink()
    assert evaluation.rows_of(str(tmp_path / "run"), None) is None
    assert evaluation.rows_of("bert-tiny", None) is None
    assert evaluation.rows_of("hf:owner/name", None) is None


def test_law_baselines_are_scored_like_models(tmp_path: Path) -> None:
    for name, rows in (("sentiment", ["bag of words", "majority"]), ("tags", ["most frequent tag"]), ("questions", [])):
        task = load_task(str(toys.task_file(tmp_path, name)))
        dev = read_split(task, "dev").examples
        found = evaluation.baseline_rows(task, {"dev": dev}, None)
        assert sorted(row["baseline"] for row in found) == rows
        for row in found:
            assert row["split"] == "dev"
            assert set(task.metrics) < set(row)
            assert row["collapsed"] == (row["baseline"] == "majority")


def test_known_right_answers_as_numbers() -> None:
    task = Task(name="t", kind="classification", text="t", label="l", labels=("b", "a"))
    assert evaluation.gold(task, [Example("", label="a"), Example("", label="b")]).tolist() == [1, 0]
    scores = Task(name="r", kind="regression", text="t", label="l")
    assert evaluation.numbers(scores, [1, 2.5]).dtype == np.float64
    tags = Task(name="g", kind="tagging", text="t", label="l", labels=("A", "B"))
    assert evaluation.gold(tags, [Example("", tags=("B", "A")), Example("", tags=("B",))]).tolist() == [1, 0, 1]


def test_known_a_submission_in_glues_form(words: Model, tmp_path: Path) -> None:
    """A model of CoLA's labels answers CoLA's hidden test rows."""
    from dataclasses import replace

    cola = load_task("cola")
    model = replace(words, task=cola)
    (tmp_path / "CoLA").mkdir()
    texts = [text for text, _ in toys.words_and_labels(1063)]
    rows = "".join(f"{index}\t{text}\n" for index, text in enumerate(texts))
    (tmp_path / "CoLA" / "test.tsv").write_text(f"index\tsentence\n{rows}")
    names = evaluation.write_submission({"cola": model}, tmp_path / "glue.zip", tmp_path)
    assert names == ("CoLA.tsv",)
    with zipfile.ZipFile(tmp_path / "glue.zip") as packed:
        lines = packed.read("CoLA.tsv").decode().splitlines()
    said = [answer.label for answer in model.predict(texts)]
    written = {name: value for value, name in cola.label_values.items()}
    assert lines == ["index\tprediction", *(f"{index}\t{written[str(label)]}" for index, label in enumerate(said))]
    with pytest.raises(UserError, match=r"GLUE takes no file for .toy-tags."):
        evaluation.write_submission({"toy-tags": model}, tmp_path / "none.zip", tmp_path)
    assert evaluation.submission_name("mnli", "test_matched") == "mnli-m"
    assert evaluation.submission_name("mnli", "test_mismatched") == "mnli-mm"


def test_law_an_evaluation_that_is_interrupted_says_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.txt").write_text("\n".join(tellers.SENTENCES))
    part = CorpusConfig(files=(str(tmp_path / "some.txt"),), lines=True)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Stopped, match=r"the bounds of \d+ sentences are kept in .*kept, and the same command goes on"):
        evaluation.judged_space(tellers.space(), part, draws=2, folder=tmp_path / "kept", tell=stop)
    with pytest.raises(Stopped, match="nothing of it is kept"):
        evaluation.judged_space(tellers.space(), part, draws=2, tell=stop)
    report = evaluation.judged_space(tellers.space(), part, draws=2, folder=tmp_path / "kept")
    assert report.sentences == 12
    with pytest.raises(UserError, match="is a file"):
        evaluation.judged_space(tellers.space(), part, draws=2, folder=tmp_path / "some.txt")


def test_known_a_space_is_judged_on_sentences_as_long_as_those_of_its_training(tmp_path: Path) -> None:
    trained = AutoencodeRecipe(sentences=SentencesConfig(max_words=100, limit=5))
    RunFolder(tmp_path / "run").settle(trained)
    RunFolder(tmp_path / "classifier").settle(FinetuneRecipe())
    for name in ("run", "run/model"):
        assert evaluation.trained_limits(str(tmp_path / name)) == SentencesConfig(max_words=100)
    for name in ("classifier", "elsewhere", "run/other"):
        assert evaluation.trained_limits(str(tmp_path / name)) is None
    assert evaluation.trained_limits("hf:run") is None
