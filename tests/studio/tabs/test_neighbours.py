"""Files of sentences: what is read of them, who is nearest by plain cosines, one sentence for every bad file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tellers
from psitext.errors import UserError
from psitext.studio import bounds
from psitext.studio.models import NEIGHBOURS, Shelf
from psitext.studio.tabs import neighbours

WORDS = ("gripping", "funny", "dull", "slow", "thin", "fine")
SAID = {"measured": "a dull fine film", "space": "the dog sits"}
FILM = [f"a {one} {other} film" for one in WORDS for other in WORDS if one != other]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_known_columns_are_found(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", "id,sentiment,review\n1,good,a fine film\n2,,dull\n3,bad,\n")
    found = neighbours.crowd(table)
    assert found == neighbours.Crowd(("a fine film", "dull"), ("good", "(none)"), False, 1, "review", "sentiment")
    assert neighbours.crowd(table, text="sentiment", label="id").labels == ("1", "3")
    plain = neighbours.crowd(write(tmp_path / "a.txt", "one\n\ntwo\n"))
    assert plain.texts == ("one", "two") and plain.labels is None
    lines = neighbours.crowd(write(tmp_path / "a.jsonl", '{"body": "a long sentence", "n": 1}\n{"n": 2}\n'))
    assert lines.texts == ("a long sentence",) and lines.text == "body" and lines.empty == 1
    many = neighbours.crowd(write(tmp_path / "b.txt", "a film\n" * (bounds.ROWS + 1)))
    assert len(many.texts) == bounds.ROWS and many.more


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"text\n", "a.csv holds no rows"),
        ("a.csv", b"text\n \n \n", "holds no text|holds no rows"),
        ("a.csv", bytes(range(256)), "a.csv line 1 (is not UTF-8|holds a NUL)"),
        ("a.csv", "text\nsé\n".encode("utf-16"), "looks like UTF-16"),
        ("a.csv", b'text\n"never ends\n', "quoted field never ends"),
        ("a.csv", b"text,text\na,b\n", "names the column 'text' twice"),
        ("a.jsonl", b"[1]\n", "must be a JSON object"),
        ("a.jsonl", b"[" * 5000, "not (valid|usable) JSON|over"),
        ("a.txt", b"a" * 1_001, "at most 1,000 are read"),
        ("a.txt", b"\0\n", "NUL"),
        ("a.png", b"\x89PNG", "'a.png' is not read here"),
        ("a.csv", b"text\n" + b"ab\n" * 700_000, "has 2.01 MB; at most 2 MB are read"),
    ],
)
def test_law_bad_files_are_one_sentence_that_names_no_place(
    tmp_path: Path, name: str, content: bytes, word: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=word) as caught:
        neighbours.crowd(path)
    assert str(tmp_path) not in str(caught.value) and "\n" not in str(caught.value)


def test_law_a_column_that_there_is_not_is_refused(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", "review,sentiment\nfine,good\n")
    said = r"^a\.csv has no column 'reveiw'; did you mean 'review'\? It has: review, sentiment$"
    with pytest.raises(UserError, match=said):
        neighbours.crowd(table, text="reveiw")
    with pytest.raises(UserError, match=r"^a\.csv has no column 'zzz'; it has: review, sentiment$"):
        neighbours.crowd(table, label="zzz")


@pytest.mark.parametrize("name", ["measured", "space"])
def test_parity_the_nearest_are_those_of_greatest_cosine(shelf: Shelf, models: dict[str, str], name: str) -> None:
    model = shelf.model(models[name], NEIGHBOURS)
    texts = FILM if name == "measured" else tellers.SENTENCES
    given = neighbours.Crowd(tuple(texts), None, False, 0, "text", None)
    charted = neighbours.chart(model, texts)
    found = neighbours.find(model, charted, given, SAID[name], 4)
    states = model.encode([*texts, SAID[name]]).to_real().double().numpy()
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    cosine = unit[:-1] @ unit[-1]
    assert np.allclose(found.cosine, np.sort(cosine)[::-1][:4], atol=1e-6)
    assert np.allclose(cosine[list(found.nearest)], found.cosine, atol=1e-6)
    assert charted.points is not None and charted.points.shape == (len(texts), 2)
    assert np.array_equal(charted.points, neighbours.chart(model, texts).points)  # type: ignore[arg-type]
    told = neighbours.told(found)
    assert told.count("<title>") == len(texts) and f"{len(texts)} sentences of the column" in told


def test_known_few_sentences_have_no_map_and_maps_are_kept(shelf: Shelf, models: dict[str, str]) -> None:
    model = shelf.model(models["measured"], NEIGHBOURS)
    atlas = neighbours.Atlas()
    few = ("a film",) * 9
    charted = atlas.chart("m", model, few)
    assert charted.points is None and atlas.chart("m", model, few) is charted
    found = neighbours.find(model, charted, neighbours.Crowd(few, None, True, 2, "text", None), "a film", 3)
    told = neighbours.told(found)
    assert found.nearest == (0, 1, 2) and "takes 5 different sentences" in told
    assert "the first 1,000 are left out; 2 rows without a text" in told
    for number in range(neighbours.KEPT):
        atlas.chart(str(number), model, few)
    assert atlas.chart("m", model, few) is not charted, "the oldest map has made room"
