"""baselines/majority.py: floors worked out by hand, and errors that name the line."""

from __future__ import annotations

import pytest

from psitext.baselines.majority import majority, most_frequent_tags
from psitext.errors import UserError
from psitext.text.examples import Example


def labelled(*labels: str | float | None) -> list[Example]:
    return [Example(text="x", label=label, source="train.tsv", line=line) for line, label in enumerate(labels, 2)]


def tagged(text: str) -> Example:
    """``"the/DT dog/NN"`` as an example."""
    words, tags = zip(*(token.split("/") for token in text.split()), strict=True)
    return Example(text=" ".join(words), words=words, tags=tags)


def test_known_most_frequent_label_for_every_example() -> None:
    assert majority(labelled("b", "a", "b"), labelled("a", "a")) == ["b", "b"]
    assert majority(labelled("b", "a"), labelled("b")) == ["a"]  # equals: alphabetical order


def test_known_mean_for_scores() -> None:
    assert majority(labelled(1.0, 2.0, 4.5), labelled(0.0, 0.0)) == [2.5, 2.5]


def test_known_tags_by_word_and_for_unknown_words() -> None:
    train = [
        tagged("the/DT duck/NN ducks/VB the/DT duck/NN"),
        tagged("duck/VB cats/NNS mice/NNS the/DT the/NN"),
    ]
    test = [Example(text="", words=("the", "duck", "ducks", "zebras"))]
    assert most_frequent_tags(train, test) == [("DT", "NN", "VB", "NNS")]


def test_known_unknown_word_where_no_word_is_rare() -> None:
    train = [tagged("a/DT a/DT b/NN b/NN c/NN c/NN")]
    assert most_frequent_tags(train, [Example(text="", words=("z",))]) == [("NN",)]


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (labelled("a", None), r"train.tsv, line 3 has no label"),
        (labelled("a", 1.0), r"train.tsv, line 3 has the label 1.0 of another kind"),
        (labelled(1.0, "a"), r"train.tsv, line 3 has the label 'a' of another kind"),
        ([], "no training examples"),
    ],
)
def test_known_errors_name_the_line(train: list[Example], message: str) -> None:
    with pytest.raises(UserError, match=message):
        majority(train, train)


def test_known_untagged_training_text_is_an_error() -> None:
    with pytest.raises(UserError, match="no tagged words"):
        most_frequent_tags(labelled("a"), labelled("a"))
