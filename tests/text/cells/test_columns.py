"""The sentence about columns that are not there."""

from __future__ import annotations

import pytest

from psitext.errors import UserError
from psitext.text.cells.columns import check_apart, check_columns, no_column, no_value


def said(wanted: dict[str, str], fields: list[str], hint: str | None = None) -> str:
    with pytest.raises(UserError) as caught:
        check_columns("a.csv", wanted, fields, hint)
    return str(caught.value)


def test_known_sentences() -> None:
    own = ["id", "sentiment", "review"]
    assert said({"text": "text", "label": "sentiment"}, own) == (
        "a.csv has no column 'text'; it has: id, sentiment, review (name it with --text)"
    )
    assert said({"text": "text", "label": "label"}, own) == (
        "a.csv has no columns 'text' and 'label'; it has: id, sentiment, review (name them with --text and --label)"
    )
    assert said({"text": "reveiw"}, own) == (
        "a.csv has no column 'reveiw'; did you mean 'review'? It has: review, id, sentiment (name it with --text)"
    )
    assert said({"text": "x"}, ["y"], "do so") == "a.csv has no column 'x'; it has: y (do so)"
    check_columns("a.csv", {"text": "review"}, own)
    assert str(no_column("a.csv", "x", [])) == "a.csv has no column 'x'; it has: none"
    assert str(no_value("a.jsonl line 3", "x")).startswith("a.jsonl line 3 has no value for 'x'")


def test_known_one_column_has_one_option() -> None:
    check_apart({"text": "review", "pair": None, "label": None})
    with pytest.raises(UserError, match=r"^--text and --label both name the column 'review'$"):
        check_apart({"text": "review", "pair": None, "label": "review"})


def test_known_many_and_long_names_stay_one_short_sentence() -> None:
    many = str(no_column("a.csv", "verdict", [f"column {n}" for n in range(300)] + ["y" * 9_000]))
    assert many.endswith("and 289 more") and len(many) < 300
    assert len(str(no_column("a.csv", "verdict", ["y" * 9_000]))) < 120
