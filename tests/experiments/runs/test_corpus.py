"""The text of a recipe: files by path and pattern, the embedded corpus, one stream."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.experiments.runs import corpus
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.text import toy
from psitext.text.tokenizer import train


@pytest.fixture
def books(tmp_path: Path) -> Path:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.txt").write_text(f"Book {name} begins here. It ends.\n")
    (tmp_path / "table.csv").write_text('id,body\n1,"One row. Two sentences."\n')
    return tmp_path


def part(*files: str, **named: object) -> CorpusConfig:
    return CorpusConfig(files=files, **named)  # type: ignore[arg-type]


def test_known_patterns_in_order_of_name(books: Path) -> None:
    names = [path.name for path in corpus.paths(part("*.txt", dir=str(books)), "*.txt")]
    assert names == ["a.txt", "b.txt", "c.txt"]
    assert corpus.paths(part("x"), str(books / "?.txt")) == [books / f"{name}.txt" for name in "abc"]
    assert corpus.paths(part("a.txt", dir=str(books)), "a.txt") == [books / "a.txt"]
    for name in ("*.md", str(books / "d.txt")):
        where = f"'*.md' in {books}" if name == "*.md" else name
        with pytest.raises(UserError, match=re.escape(f"there is no text file {where}")):
            corpus.paths(part(name, dir=str(books)), name)
    with pytest.raises(UserError, match=re.escape(f"{books} is a folder; name the files in it")):
        corpus.paths(part(str(books)), str(books))


def test_law_parts_come_one_after_another(books: Path) -> None:
    parts = [part("toy:2"), part("c.txt", "a.txt", dir=str(books)), part(str(books / "table.csv"), column="body")]
    found = list(corpus.read(parts))
    stories = [sentence for story in toy.stories(2) for sentence in [*story, None]]
    assert found[: len(stories)] == stories
    assert found[len(stories) :] == [
        "Book c begins here.", "It ends.", None, "Book a begins here.", "It ends.", None,
        "One row.", "Two sentences.", None,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["toy:", "toy:0", "toy:many", "toy:-3"])
def test_known_embedded_text_by_another_name(name: str) -> None:
    with pytest.raises(UserError, match=f"toy:<number of stories>, such as toy:6000, not '{name}'"):
        list(corpus.read([part(name)]))


def test_law_a_store_is_built_once(books: Path, tmp_path: Path) -> None:
    parts = [part("*.txt", dir=str(books)), part("toy:3")]
    tokenizer = train("words", (text for text in corpus.read(parts) if text), 99)
    store = corpus.store(parts, tokenizer, tmp_path / "tokens")
    assert store.meta.documents == 3 + 3
    assert [source.name for source in store.meta.sources] == ["a.txt", "b.txt", "c.txt"]
    (books / "a.txt").unlink()
    again = corpus.store(parts, tokenizer, tmp_path / "tokens")
    assert again.meta == store.meta and again.tokens.tolist() == store.tokens.tolist()
    with pytest.raises(UserError, match="was made with another tokenizer"):
        corpus.store(parts, train("words", ["other words"], 50), tmp_path / "tokens")
