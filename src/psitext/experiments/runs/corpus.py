"""The text of a pre-training recipe: named files, hub data sets and the embedded corpus as one stream of sentences,
then tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from psitext.config import RECIPES, Config, build, read_toml
from psitext.errors import UserError, near
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.text import toy
from psitext.text.lines import regular
from psitext.text.pretraining.building import content_key, store_key, write_store
from psitext.text.pretraining.store import META, Store, TextFile
from psitext.text.sources import sentences
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.words import tight
from psitext.text.twofold import corpus_lines

Texts: TypeAlias = Iterator[str | None]  # sentences, and None where a document ends

TOY, HUB, NAMED = "toy:", "hub:", "corpus:"


def read(parts: Sequence[CorpusConfig]) -> Texts:
    """Every sentence of every part; None ends a document."""
    for part in itertools.chain.from_iterable(map(expanded, parts)):
        for sentence in _part(part):
            yield sentence if sentence is None or not part.tidy else tight(sentence)


class NamedCorpus(Config):
    """Sentence corpora that psitext knows by name; paths start from the data folder."""

    title: str
    train: tuple[CorpusConfig, ...]
    test: tuple[CorpusConfig, ...] = ()


def names() -> dict[str, str]:
    """The named corpora and what each is."""
    return {path.stem: named(path.stem).title for path in sorted((RECIPES / "corpora").glob("*.toml"))}


def named(name: str) -> NamedCorpus:
    """A corpus by its name. Errors: none of that name."""
    known = [path.stem for path in sorted((RECIPES / "corpora").glob("*.toml"))]
    if name not in known:
        raise UserError(f"there is no corpus {name!r}{near(name, known) or '; there are: ' + ', '.join(known)}")
    path = RECIPES / "corpora" / f"{name}.toml"
    return build(NamedCorpus, read_toml(path), str(path))


def expanded(part: CorpusConfig) -> Iterator[CorpusConfig]:
    """A part with every corpus:<name> (its training text) or corpus:<name>/test in place of its name."""
    for name in part.files:
        if not name.startswith(NAMED):
            yield part.model_copy(update={"files": (name,)})
            continue
        stem, _, split = name.removeprefix(NAMED).partition("/")
        if split not in ("", "train", "test"):
            raise UserError(f"{name} names no text; a corpus has corpus:{stem}/train and corpus:{stem}/test")
        found = named(stem)
        for one in found.test if split == "test" else found.train:
            yield one.model_copy(update={"dir": part.dir})


def _part(part: CorpusConfig) -> Texts:
    for name in part.files:
        if name.startswith(TOY):
            yield from _stories(name)
            continue
        found = [name] if name.startswith(HUB) else list(paths(part, name))
        if part.lines:
            yield from corpus_lines(found, column=part.column)
        else:
            yield from sentences(found, column=part.column, unwrap=part.unwrap)


def store(parts: Sequence[CorpusConfig], tokenizer: Tokenizer, folder: Path) -> Store:
    """The token store of the parts, built once: a resumed run opens what it started with, whatever became of the
    text.
    """
    if (folder / META).is_file():
        return Store.open(folder, tokenizer)
    parts = list(itertools.chain.from_iterable(map(expanded, parts)))
    files = [path for part in parts for name in part.files if not _named(name) for path in paths(part, name)]
    key = content_key([_part_key(part, tokenizer) for part in parts])
    listed = [TextFile(name=path.name, size=path.stat().st_size) for path in files]
    return write_store(read(parts), tokenizer, folder, key=key, sources=listed)


def paths(part: CorpusConfig, name: str) -> list[Path]:
    """The files that a path or pattern of a part stands for, in order of name."""
    start = Path(part.dir or ".")
    found = [Path(name)] if Path(name).is_absolute() else [start / name]
    if any(sign in name for sign in "*?["):
        found = sorted(start.glob(name)) if not Path(name).is_absolute() else sorted(Path("/").glob(name[1:]))
    for path in found:
        regular(path)
    if not found or not all(path.is_file() for path in found):
        raise UserError(
            f"there is no text file {name!r} in {start.absolute()}"
            if not Path(name).is_absolute()
            else f"there is no text file {name}"
        )
    return found


def _part_key(part: CorpusConfig, tokenizer: Tokenizer) -> list[object]:
    named = [name for name in part.files if _named(name)]
    files = [path for name in part.files if not _named(name) for path in paths(part, name)]
    key = store_key(files, tokenizer, column=part.column, unwrap=part.unwrap) if files else tokenizer.fingerprint
    special = [name for name in ("lines", "tidy") if getattr(part, name)]  # in place of plain reading
    return [key, named, part.column, part.unwrap, *special]


def _named(name: str) -> bool:
    return name.startswith((TOY, HUB))


def _stories(name: str) -> Texts:
    count = name.removeprefix(TOY)
    if not count.isdecimal() or int(count) == 0:
        raise UserError(f"the embedded corpus is named toy:<number of stories>, such as toy:6000, not {name!r}")
    for story in toy.stories(int(count)):
        yield from story
        yield None
