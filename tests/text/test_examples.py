"""Rows to examples: labels by name, and one sentence with file and line for what does not fit the task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from psitext.config import build
from psitext.errors import UserError
from psitext.text.examples import METRICS_OF_KIND, Example, Task, check_labels, examples
from psitext.text.rows import Row


def task(**tree: Any) -> Task:
    return build(Task, {"name": "mine", "kind": "classification", "text": "text", **tree}, "mine.toml")


def read(record: Task, *fields: dict[str, str], **how: bool) -> list[Example | None]:
    rows: Iterator[Row] = (Row(line, row) for line, row in enumerate(fields, 2))
    return [example for _, example in examples(rows, record, "a.tsv", **how)]


def said(record: Task, *fields: dict[str, str], **how: bool) -> str:
    with pytest.raises(UserError) as caught:
        read(record, *fields, **how)
    return str(caught.value)


SENTIMENT = task(label="y", labels=["negative", "positive"], label_values={"0": "negative", "1": "positive"})
NLI = task(pair="b", label="y", labels=["yes", "maybe", "no"], drop=["-"], hidden_test=True)
SCORE = task(kind="regression", label="y", low=0, high=5)
TAGS = task(
    kind="tagging",
    label="text",
    label_values={"nn": "noun", "vb": "verb", "--": "mark", "*": "not"},
    tag_marks=["-tl$", "^fw-", "[-+*$].*$"],
)
SPAN = task(kind="span", pair="passage", label="answer")


def test_known_classes_by_value_and_by_name() -> None:
    assert read(SENTIMENT, {"text": " good ", "y": " 1"}, {"text": "bad", "y": "negative"}) == [
        Example("good", None, "positive", "a.tsv", 2),
        Example("bad", None, "negative", "a.tsv", 3),
    ]


def test_known_pairs_and_dropped_labels() -> None:
    found = read(NLI, {"text": "a", "b": "c", "y": "maybe"}, {"text": "a", "b": "d", "y": "-"})
    assert found == [Example("a", "c", "maybe", "a.tsv", 2), None]


@pytest.mark.parametrize("raw", ["-1", "", "-", "?", "-1.0"])
def test_known_hidden_labels(raw: str) -> None:
    assert read(SENTIMENT, {"text": "a", "y": raw}, hidden=True) == [Example("a", None, None, "a.tsv", 2)]
    assert read(SENTIMENT, {"text": "a"}, hidden=True) == [Example("a", None, None, "a.tsv", 2)]
    message = said(SENTIMENT, {"text": "a", "y": "1"}, {"text": "a", "y": raw})
    assert message.startswith(f"a.tsv line 3 has the label {raw!r} (a mark of hidden labels")
    assert message.endswith("mine knows negative (0), positive (1)")


def test_known_unknown_labels_and_columns() -> None:
    assert said(NLI, {"text": "a", "b": "c", "y": "perhaps"}) == (
        "a.tsv line 2 has the label 'perhaps'; mine knows yes, maybe, no"
    )
    assert (
        said(NLI, {"text": "a", "B": "c", "y": "no"}) == "a.tsv has no column 'b'; did you mean 'B'? It has: B, text, y"
    )
    later = said(SENTIMENT, {"text": "a", "y": "1"}, {"y": "1"})
    assert later == "a.tsv line 3 has no value for 'text'; give it one, or leave the record out"


def test_known_short_rows_are_dropped_only_on_demand_and_never_first() -> None:
    whole, short = {"text": "a", "y": "1"}, {"text": "a"}
    assert read(SENTIMENT, whole, short, drop_short=True)[1] is None
    assert "line 3 has no value for 'y'" in said(SENTIMENT, whole, short)
    assert "a.tsv has no column 'y'" in said(SENTIMENT, short, whole, drop_short=True)


def test_known_scores() -> None:
    assert [example.label for example in read(SCORE, {"text": "a", "y": "3.80"}) if example] == [3.8]
    assert [example.label for example in read(SCORE, *({"text": "a", "y": y} for y in "05")) if example] == [
        0,
        5,
    ]
    for raw in ("5.01", "-0.1", "nan", "inf", "high", ""):
        assert (
            said(SCORE, {"text": "a", "y": raw})
            == f"a.tsv line 2 has the score {raw!r}; mine needs a number from 0 to 5"
        )


def test_known_tags_lose_their_marks_one_after_another() -> None:
    (found,) = read(TAGS, {"text": "1/2/nn run/vb-tl dogs/fw-nn$-tl he's/nn+vb --/-- not/* do/vb* a/--"})
    assert found is not None
    assert found.words == ("1/2", "run", "dogs", "he's", "--", "not", "do", "a")
    assert found.tags == ("noun", "verb", "noun", "noun", "mark", "not", "verb", "mark")
    assert found.text == "1/2 run dogs he's -- not do a"
    assert TAGS.labels == ("noun", "verb", "mark", "not")


def test_known_tags_in_a_column_of_their_own() -> None:
    apart = TAGS.model_copy(update={"label": "tags"})
    for words, tags in (("a b", "nn vb"), ('["a", "b"]', '["nn", "vb"]')):
        (found,) = read(apart, {"text": words, "tags": tags})
        assert found == Example("a b", source="a.tsv", line=2, words=("a", "b"), tags=("noun", "verb"))
    assert said(apart, {"text": "a b", "tags": "nn"}) == "a.tsv line 2 has 2 words and 1 tags; each word needs one"
    plain = TAGS.model_copy(update={"label": None})
    assert read(plain, {"text": "[a b"}) == [Example("[a b", source="a.tsv", line=2, words=("[a", "b"))]


def test_known_bad_tags() -> None:
    assert said(TAGS, {"text": "dog/nn run"}) == "a.tsv line 2: 'run' is no word/TAG"
    assert said(TAGS, {"text": "dog/xx"}) == "a.tsv line 2 has the tag 'xx', which mine does not know"
    assert "has 0 words" in said(TAGS, {"text": " "})


def test_known_answers() -> None:
    passage = "a cat and a dog"
    fields = {"text": "who?", "passage": passage}
    started = SPAN.model_copy(update={"start": "at"})
    for record, extra in (
        (SPAN, {"answer": "dog"}),
        (started, {"answer": "dog", "at": "12"}),
        (SPAN, {"answer": '{"text": ["dog"], "answer_start": [12]}'}),
    ):
        (found,) = read(record, fields | extra)
        assert found == Example("who?", passage, source="a.tsv", line=2, answer=(12, 15))
    assert "the answer 'a' occurs 4 times" in said(SPAN, fields | {"answer": "a"})
    assert "occurs 0 times" in said(SPAN, fields | {"answer": "bird"})
    assert "has no answer" in said(SPAN, fields | {"answer": ""})
    assert "does not have the answer 'dog' at character 11" in said(started, fields | {"answer": "dog", "at": "11"})
    assert "at character x" in said(started, fields | {"answer": "dog", "at": "x"})
    assert "no answer of the form" in said(SPAN, fields | {"answer": '{"text": [], "answer_start": []}'})


def test_known_labels_that_training_lacks() -> None:
    train = [Example("a", label="yes"), Example("b", label="no"), Example("c", tags=("noun",))]
    check_labels(train, [Example("d", label="no"), Example("e", label=None), Example("f", label=0.5)])
    for odd in (
        Example("d", label="maybe", source="dev.csv", line=7),
        Example("d", tags=("noun", "maybe"), source="dev.csv", line=7),
    ):
        with pytest.raises(UserError) as caught:
            check_labels(train, [train[0], odd])
        assert str(caught.value) == (
            "dev.csv line 7 has the label 'maybe', which the training data lacks; it has: no, noun, yes"
        )


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"labels": ["a", "a"], "label": "y"}, "two or more label names, all different"),
        ({"label": "y"}, "two or more label names"),
        ({"label": "y", "labels": ["a", "b"], "label_values": {"0": "c"}}, "label_values leads to 'c'"),
        ({"kind": "regression", "labels": ["a", "b"]}, "a regression task has no label names"),
        ({"kind": "sorting"}, "sets kind to 'sorting'"),
        ({"metrics": ["pearson"]}, "'pearson' does not measure such a task"),
        ({"label": "y", "labels": ["a", "b", "c"], "metrics": ["f1"]}, "'f1' is for two classes"),
        ({"metrics": ["accuracy"], "headline": "f1"}, "the headline must be one of the metrics (accuracy)"),
        ({"tag_marks": ["("]}, "'(' is no regular expression"),
        ({"carve": {"dev": {"of": "train", "share": 0.1}}}, "'dev' must be made of a split that has files"),
        (
            {"files": {"train": "a"}, "carve": {"dev": {"of": "train", "share": 1.5}}},
            "sets carve.dev.share to 1.5",
        ),
        (
            {"files": {"train": "a"}, "carve": {n: {"of": "train", "share": 0.5} for n in ("dev", "test")}},
            "must leave some of it",
        ),
        ({"lables": ["a"]}, "unknown key 'lables'; did you mean 'labels'"),
        ({"files": {"train": [{"path": "a", "colums": []}]}}, "unknown key 'files.train.0.colums'"),
    ],
)
def test_known_wrong_records(tree: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        task(**tree)
    assert "mine.toml" in str(caught.value)
    assert sentence in str(caught.value)


def test_known_short_forms_of_files() -> None:
    whole = task(files={"train": [{"path": "a.csv", "note": ""}], "dev": [{"path": "b.csv"}, {"path": "c.csv"}]})
    assert task(files={"train": "a.csv", "dev": ["b.csv", {"path": "c.csv"}]}) == whole
    assert whole.metrics == (METRICS_OF_KIND["classification"][0],)
    assert whole.headline == "accuracy"


def test_known_split_order() -> None:
    record = task(files={"test": "c", "dev_b": "b", "train": "a", "more": "d"})
    assert record.splits == ("train", "dev_b", "test", "more")
    assert record.dev_splits == ("dev_b",)
    assert NLI.hides("test_matched") and not NLI.hides("dev") and not SENTIMENT.hides("test")
