"""Columns that are not what they are taken for, at the doors of fine-tuning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.text.cells.checks import check_texts, number
from psitext.text.rows import Row
from psitext.text.tables import load_table


def test_known_numbers() -> None:
    assert [number(cell) for cell in ("0", "-1.5", " 2 ", "1e3")] == [0.0, -1.5, 2.0, 1000.0]
    assert [number(cell) for cell in ("", "nan", "inf", "1,5", "so")] == [None] * 5


WRONG = {
    "numbers": (["1,up", "2.5,down", "3,up"], "the column 'text' of .* holds numbers only .'1' on line 2"),
    "commas": (
        [f'so {n},"{n},5"' for n in range(12)],
        r"line 2 has '0,5' .* a number with a decimal comma; write 0\.5",
    ),
    "endless": ([f"so {n},{n}.5" for n in range(12)] + ["so,nan"], "line 14 has 'nan' among the numbers"),
}


def test_known_columns_of_numbers() -> None:
    """No more rows are read than tell; a first line that may be a header is no text; other columns are named."""

    def rows(*cells: tuple[str, ...], names: str = "id text more") -> Iterator[Row]:
        yield from (Row(line, dict(zip(names.split(), some, strict=True))) for line, some in enumerate(cells, 2))

    found = rows(("1", "so good", "x"), ("2", "so", "y"))
    check_texts("a.csv", found, {"text": "text", "pair": None})
    assert next(found).line == 3
    check_texts("a.csv", rows(("1", "", "x"), ("2", " ", "y")), {"text": "text"})
    with pytest.raises(UserError) as caught:
        check_texts("a.csv", rows(("", "so good", "7"), ("2", "so", "y")), {"text": "text", "pair": "id"})
    assert str(caught.value) == (
        "the column 'id' of a.csv holds numbers only ('2' on line 3), which are no sentences; name the column of texts "
        "with --pair (with words: more)"
    )
    for first, refused in (("id", True), ("so good", False)):
        counted = rows((first, "a"), ("1", "b"), ("2", "c"), names="1 2")
        if refused:
            with pytest.raises(UserError, match=r"'1' on line 3\), .* with --text \(with words: 2\)"):
                check_texts("a.csv", counted, {"text": "1"})
        else:
            check_texts("a.csv", counted, {"text": "1"})


@pytest.mark.parametrize("name", WRONG)
def test_known_odd_columns_are_refused(tmp_path: Path, name: str) -> None:
    lines, sentence = WRONG[name]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        load_table(path, text="text", label="label")
