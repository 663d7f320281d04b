"""experiments/submission.py: the server's names, values and counts, checked before anything is written."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.experiments.results.submission import ENTRIES, table, write_zip


def read(text: str) -> list[tuple[str, ...]]:
    return [tuple(row) for row in csv.reader(io.StringIO(text), delimiter="\t")]


def whole(name: str) -> str:
    """A file with as many rows as the server wants, all of the first value."""
    entry = ENTRIES[name]
    return table(name, [entry.values[0] if entry.values else 2.5] * entry.rows)


def test_known_names_and_counts_of_the_official_test_sets() -> None:
    assert {entry.file: entry.rows for entry in ENTRIES.values()} == {
        "CoLA.tsv": 1063,
        "SST-2.tsv": 1821,
        "MRPC.tsv": 1725,
        "STS-B.tsv": 1379,
        "MNLI-m.tsv": 9796,
        "MNLI-mm.tsv": 9847,
        "QNLI.tsv": 5463,
        "QQP.tsv": 390965,
        "RTE.tsv": 3000,
        "WNLI.tsv": 146,
        "AX.tsv": 1104,
    }


def test_known_file_of_classes_by_name() -> None:
    values = {"0": "negative", "1": "positive"}
    text = table("sst2", ["positive", "negative", "positive"], values, official=False)
    assert text == "index\tprediction\n0\t1\n1\t0\n2\t1\n"


def test_known_labels_of_inference_are_names() -> None:
    text = table("mnli-mm", ["neutral", "contradiction", "entailment"], official=False)
    assert read(text)[1:] == [("0", "neutral"), ("1", "contradiction"), ("2", "entailment")]
    renamed = table("rte", ["yes", "no"], {"entailment": "yes", "not_entailment": "no"}, official=False)
    assert read(renamed)[1:] == [("0", "entailment"), ("1", "not_entailment")]


def test_known_names_that_swap_digits_are_followed() -> None:
    """A task may call GLUE's 1 "0"; then its names count, not the look of them."""
    text = table("wnli", ["0", "1"], {"1": "0", "0": "1"}, official=False)
    assert read(text)[1:] == [("0", "1"), ("1", "0")]


def test_known_scores_are_clipped_and_have_three_decimals() -> None:
    text = table("stsb", [-0.3, 2.34567, 7, 5.0], official=False)
    assert [value for _, value in read(text)[1:]] == ["0.000", "2.346", "5.000", "5.000"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_law_scores_stay_in_range_and_in_order(scores: list[float]) -> None:
    rows = read(table("stsb", scores, official=False))[1:]
    assert [int(index) for index, _ in rows] == list(range(len(scores)))
    for score, (_, written) in zip(scores, rows, strict=True):
        assert 0 <= float(written) <= 5
        if 0 <= score <= 5:
            assert float(written) == pytest.approx(score, abs=0.0005)


@pytest.mark.parametrize(
    ("name", "predictions", "message"),
    [
        ("sst-2", ["0"], r"GLUE takes no file for 'sst-2'; did you mean 'sst2'"),
        ("rte", ["entailment"], r"RTE.tsv needs the 3,000 rows of the official test set, not 1"),
    ],
)
def test_known_wrong_entries_and_counts(name: str, predictions: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        table(name, predictions)


@pytest.mark.parametrize(
    ("name", "predictions", "message"),
    [
        (
            "qnli",
            ["entailment", "neutral"],
            r"prediction 1 .* QNLI.tsv is 'neutral'; it takes: entailment, not_",
        ),
        ("cola", [1], r"prediction 0 .* CoLA.tsv is 1; it takes: 0, 1"),
        ("stsb", [1.0, float("nan")], r"prediction 1 .* STS-B.tsv is nan; it takes: finite numbers"),
        ("stsb", ["3.0"], r"STS-B.tsv is '3.0'"),
    ],
)
def test_known_wrong_predictions(name: str, predictions: list[str | float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        table(name, predictions, official=False)


def test_known_zip_is_flat_repeatable_and_says_what_misses(tmp_path: Path) -> None:
    tables = {name: whole(name) for name in ENTRIES if name != "qqp"}
    missing = write_zip(tmp_path / "out" / "glue.zip", tables)
    assert missing == ("QQP.tsv",)
    with zipfile.ZipFile(tmp_path / "out" / "glue.zip") as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted(ENTRIES[name].file for name in tables)
        assert archive.read("AX.tsv").decode() == tables["ax"]
        assert len(read(archive.read("CoLA.tsv").decode())) == 1064
    write_zip(tmp_path / "again.zip", dict(reversed(tables.items())))
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "out" / "glue.zip").read_bytes()


def test_known_unwritable_place_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match=r"cannot write .*glue.zip"):
        write_zip(tmp_path / "file" / "glue.zip", {"wnli": whole("wnli")})
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
