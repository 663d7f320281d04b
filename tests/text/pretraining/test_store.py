from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psitext.errors import UserError
from psitext.text.pretraining.building import write_store
from psitext.text.pretraining.store import DOCUMENTS, META, SENTENCES, TOKENS, Store, token_dtype
from text.pretraining.corpora import Numbers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_store(["7 8 9", "10", None, "11 12"], Numbers(), tmp_path / "store", key="k")
    return tmp_path / "store"


def test_known_what_lies_on_disk(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted([TOKENS, SENTENCES, DOCUMENTS, META])
    assert np.fromfile(folder / TOKENS, "<u2").tolist() == [7, 8, 9, 10, 11, 12]
    assert np.fromfile(folder / SENTENCES, "<i8").tolist() == [0, 3, 4, 6]
    assert np.fromfile(folder / DOCUMENTS, "<i8").tolist() == [0, 2, 3]


def test_known_an_open_store_is_mapped_and_read_only(folder: Path) -> None:
    store = Store.open(folder, Numbers())
    assert isinstance(store.tokens.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        store.tokens[0] = 1


def test_law_the_type_holds_the_vocabulary() -> None:
    for size in (2, 65_535, 65_536, 65_537, 10**6):
        assert np.iinfo(token_dtype(size)).max >= size - 1
    assert token_dtype(65_536) == "uint16"
    assert token_dtype(65_537) == "uint32"


@pytest.mark.parametrize("name", [TOKENS, SENTENCES, DOCUMENTS])
def test_known_a_file_cut_short_is_refused(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(UserError, match=rf"{name} has {len(content) - 1} bytes instead of {len(content)}; build"):
        Store.open(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match=rf"{name} cannot be read"):
        Store.open(folder)


@pytest.mark.parametrize("name", [SENTENCES, DOCUMENTS])
def test_known_changed_offsets_are_refused(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[8] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match="not as it was written"):
        Store.open(folder)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "meta.json is not JSON"),
        (b"\xff\xfe", "meta.json is not JSON"),
        (b"[]", "names no format"),
        (b'{"format": 2}', "has format 2, this psitext 1"),
        (b'{"format": 1}', "lacks 'key'"),
    ],
)
def test_known_broken_meta_is_refused(folder: Path, content: bytes, sentence: str) -> None:
    (folder / META).write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        Store.open(folder)


def test_known_another_tokenizer_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"another tokenizer .0123456789ab, not ffff"):
        Store.open(folder, Numbers(fingerprint="ffff"))


def test_known_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(UserError, match="is not a token store"):
            Store.open(path)


def test_known_meta_counts(folder: Path) -> None:
    meta = json.loads((folder / META).read_text())
    assert (meta["tokens"], meta["sentences"], meta["documents"], meta["dtype"]) == (6, 3, 2, "uint16")
