"""Columns that are not what they are taken for, at the doors of fine-tuning."""

from __future__ import annotations

from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.text.cells.checks import number
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


@pytest.mark.parametrize("name", WRONG)
def test_known_odd_columns_are_refused(tmp_path: Path, name: str) -> None:
    lines, sentence = WRONG[name]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        load_table(path, text="text", label="label")
