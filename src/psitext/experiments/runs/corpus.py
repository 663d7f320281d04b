"""The text of a pre-training recipe: named files, hub data sets and the embedded corpus as one stream of sentences,
then tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from psitext.errors import UserError
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.text import toy
from psitext.text.lines import regular
from psitext.text.pretraining.building import content_key, store_key, write_store
from psitext.text.pretraining.store import META, Store, TextFile
from psitext.text.sources import sentences
from psitext.text.tokenizer import Tokenizer

TOY, HUB = "toy:", "hub:"


def read(parts: Sequence[CorpusConfig]) -> Iterator[str | None]:
    """Every sentence of every part; None ends a document."""
    for part in parts:
        for name in part.files:
            if name.startswith(TOY):
                yield from _stories(name)
            else:
                found = [name] if name.startswith(HUB) else list(paths(part, name))
                yield from sentences(found, column=part.column, unwrap=part.unwrap)


def store(parts: Sequence[CorpusConfig], tokenizer: Tokenizer, folder: Path) -> Store:
    """The token store of the parts, built once: a resumed run opens what it started with, whatever became of the
    text.
    """
    if (folder / META).is_file():
        return Store.open(folder, tokenizer)
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
    return [key, named, part.column, part.unwrap]


def _named(name: str) -> bool:
    return name.startswith((TOY, HUB))


def _stories(name: str) -> Iterator[str | None]:
    count = name.removeprefix(TOY)
    if not count.isdecimal() or int(count) == 0:
        raise UserError(f"the embedded corpus is named toy:<number of stories>, such as toy:6000, not {name!r}")
    for story in toy.stories(int(count)):
        yield from story
        yield None
