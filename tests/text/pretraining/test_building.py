from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.pretraining import building
from psitext.text.pretraining.building import build_store, store_key, write_store
from psitext.text.pretraining.store import TOKENS, Store
from text.pretraining.corpora import Numbers

SENTENCE = st.lists(st.integers(1, 499), max_size=5)  # an empty one gives no token
CORPORA = st.lists(st.lists(SENTENCE, min_size=1, max_size=6), min_size=1, max_size=6)


def lines(documents: list[list[list[int]]]) -> Iterator[str | None]:
    for document in documents:
        yield from (" ".join(map(str, sentence)) for sentence in document)
        yield None


def contents(store: Store) -> list[list[list[int]]]:
    """Documents, sentences and tokens as nested lists."""
    sentences = [store.tokens[low:high].tolist() for low, high in pairwise(store.sentences.tolist())]
    return [sentences[low:high] for low, high in pairwise(store.documents.tolist())]


@settings(max_examples=40)  # each writes and flushes files
@given(CORPORA, st.integers(1, 40), st.integers(1, 5))
def test_law_a_store_holds_the_text_and_counts_what_it_drops(
    documents: list[list[list[int]]], block: int, most: int
) -> None:
    kept = [[sentence for sentence in document if sentence] for document in documents]
    flat = [token for document in kept for sentence in document for token in sentence]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(building, "BLOCK", block)
        patch.setattr(building, "BLOCK_SENTENCES", most)
        path = Path(folder) / "store"
        if not flat:
            with pytest.raises(UserError, match="gave no tokens"):
                write_store(lines(documents), Numbers(), path, key="k")
            assert list(Path(folder).iterdir()) == []
            return
        store = write_store(lines(documents), Numbers(), path, key="k")
        assert contents(store) == [document for document in kept if document]
        assert store.meta.dropped_sentences == sum(len(a) - len(b) for a, b in zip(documents, kept, strict=True))
        assert store.meta.dropped_documents == kept.count([])
        assert store.meta.unknown == flat.count(Numbers().unk)
        assert store.meta.characters == sum(len(line) for line in lines(documents) if line is not None)


def test_known_files_become_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("7 8\n9\n\n10\n")
    (tmp_path / "b.tsv").write_text("id\tbody\n1\t11 12\n2\t13\n")
    tokenizer = Numbers()
    store = build_store([tmp_path / "a.txt"], tokenizer, tmp_path / "a")
    assert contents(store) == [[[7, 8], [9]], [[10]]]
    assert [(file.name, file.size) for file in store.meta.sources] == [("a.txt", 10)]
    assert contents(build_store([tmp_path / "b.tsv"], tokenizer, tmp_path / "b", column="body")) == [
        [[11, 12]],
        [[13]],
    ]
    unwrapped = build_store([tmp_path / "a.txt"], tokenizer, tmp_path / "c", unwrap=True)
    assert contents(unwrapped) == [[[7, 8, 9]], [[10]]]


def test_known_the_same_inputs_are_not_read_again(tmp_path: Path) -> None:
    text, folder = tmp_path / "a.txt", tmp_path / "store"
    text.write_text("7 8\n")
    seen: list[tuple[int, int]] = []

    def build(tokenizer: Numbers) -> Store:
        return build_store([text], tokenizer, folder, progress=lambda *counts: seen.append(counts))

    build(Numbers())
    assert seen == [(1, 2)]
    build(Numbers())
    assert len(seen) == 1
    text.write_text("7 8\n9\n")  # another text
    assert contents(build(Numbers())) == [[[7, 8], [9]]]
    assert len(seen) == 2
    assert build(Numbers(fingerprint="ffff")).meta.tokenizer == "ffff"  # another tokenizer
    assert len(seen) == 3
    (folder / TOKENS).write_bytes(b"")  # a damaged store is built again
    assert contents(build(Numbers(fingerprint="ffff"))) == [[[7, 8], [9]]]
    assert len(seen) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "store"]


def test_law_the_key_names_every_input(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("7\n")
    two.write_text("8\n")
    tokenizer = Numbers()
    keys = [
        store_key([one], tokenizer),
        store_key([one], tokenizer, column="body"),
        store_key([one], tokenizer, unwrap=True),
        store_key([one], Numbers(fingerprint="ffff")),
        store_key([two], tokenizer),
        store_key([one, two], tokenizer),
        store_key(["hub:name"], tokenizer),
    ]
    os.utime(one, ns=(0, 0))
    keys.append(store_key([one], tokenizer))
    assert len(set(keys)) == len(keys)
    with pytest.raises(UserError, match=r"nothing\.txt cannot be read: no such file"):
        store_key([tmp_path / "nothing.txt"], tokenizer)


def test_known_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.md"):
        with pytest.raises(UserError, match="exists and is no token store; name another"):
            write_store(["7"], Numbers(), place, key="k")
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_known_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    write_store(["7"], Numbers(), tmp_path / "store", key="old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # a disk that takes no more than 4,096 bytes
    try:
        with pytest.raises(UserError, match=r"cannot write .*store: .*; what was there is as it was"):
            write_store(["7 8 9"] * 5000, Numbers(), tmp_path / "store", key="new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert Store.open(tmp_path / "store").meta.key == "old"


def test_known_a_mistake_in_the_text_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"7 8\n" * 100 + b"\xff\n")
    with pytest.raises(UserError, match="UTF-8"):
        build_store([tmp_path / "a.txt"], Numbers(), tmp_path / "store")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


KILLED = """
import os, signal, sys
from pathlib import Path
from text.pretraining.corpora import Numbers
from psitext.text.pretraining import building
building.BLOCK_SENTENCES = 10
def die(sentences, tokens):
    if sentences > 50:
        os.kill(os.getpid(), signal.SIGKILL)
building.write_store(["7 8"] * 1000, Numbers(), Path(sys.argv[1]), key="k", progress=die)
"""


def test_known_a_killed_build_is_no_store_and_is_swept_later(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, folder], env={**os.environ, "PYTHONPATH": str(tests)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()  # what was half done, under another name
    assert left.name.startswith(".store.")
    with pytest.raises(UserError, match="not a token store"):
        Store.open(folder)
    store = write_store(["7 8"] * 1000, Numbers(), folder, key="k")
    assert len(store.tokens) == 2000
    assert left.exists()  # it might be at work still
    os.utime(left / TOKENS, (0, 0))
    write_store(["7 8"] * 1000, Numbers(), folder, key="k")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_known_a_large_vocabulary_takes_four_bytes(tmp_path: Path) -> None:
    store = write_store(["65536 7"], Numbers(vocab_size=70_000), tmp_path / "store", key="k")
    assert store.tokens.dtype == np.uint32
    assert store.tokens.tolist() == [65_536, 7]


def test_known_text_without_ends_is_cut_at_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "LONGEST", 9)
    lines = ["11 22 33 44 55 66 77", None, "123456789" * 3]
    store = write_store(lines, Numbers(10**9), tmp_path / "store", key="k")
    assert contents(store)[0] == [[11, 22, 33], [44, 55, 66], [77]]
    assert contents(store)[1] == [[123456789]] * 3
