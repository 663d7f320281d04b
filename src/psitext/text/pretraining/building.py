"""Text into a token store: streaming, in parallel, whole or not at all.

Sentences are read in blocks of about a million characters. While the tokenizer's own threads encode one
block, the next is read, so memory is that of a few blocks however long the text is, and time grows in
proportion to it. Everything is written to a temporary sibling of the folder, which takes the folder's name
when it is complete and flushed to disk.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from psitext.errors import UserError
from psitext.files import folder_atomic, sha256
from psitext.text.pretraining.store import (
    DOCUMENTS,
    FORMAT,
    META,
    SENTENCES,
    TOKENS,
    Store,
    StoreMeta,
    TextFile,
    token_dtype,
)
from psitext.text.rows import HUB
from psitext.text.sources import sentences

if TYPE_CHECKING:
    from psitext.text.tokenizer import Tokenizer

BLOCK = 1 << 20  # characters encoded at a time
BLOCK_SENTENCES = 1 << 14  # and sentences: an encoding costs memory however short it is
LONGEST = 100_000  # characters of a sentence; more, which is text without ends, is cut at a space
AHEAD = 2  # blocks that may wait for their encoding
STALE = 3600.0  # seconds after which the untouched half of a killed build is swept away

Ids = npt.NDArray[np.int32]
Progress = Callable[[int, int], None]  # (sentences, tokens) written so far


@dataclass(slots=True)
class _Block:
    """Consecutive sentences, and after how many of them a document ends."""

    texts: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    characters: int = 0


@dataclass(slots=True)
class _Written:
    """How much of the store exists so far."""

    tokens: int = 0
    sentences: int = 0
    documents: int = 0
    characters: int = 0
    unknown: int = 0
    dropped_sentences: int = 0
    dropped_documents: int = 0
    open_kept: int = 0  # sentences written of the document that has not ended yet
    open_read: int = 0  # sentences read of it


def store_key(paths: Sequence[Path | str], tokenizer: Tokenizer, *, column: str = "text", unwrap: bool = False) -> str:
    """Sixteen hexadecimal digits that name a store's inputs.

    They are each file's name, size and time of change (of a hub data set, its name), the settings and
    the tokenizer.
    """
    files = [(file.name, file.size, changed) for file, changed in map(_identity, paths)]
    return content_key([FORMAT, tokenizer.fingerprint, column, unwrap, files])


def content_key(parts: Sequence[object]) -> str:
    """Sixteen hexadecimal digits that name these JSON values; for text that comes from no file."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:16]


def build_store(
    paths: Sequence[Path | str],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    column: str = "text",
    unwrap: bool = False,
    progress: Progress | None = None,
) -> Store:
    """Tokenise files into the store ``folder``, or open the one that is there if its inputs were the same.

    A store of other inputs in that place is replaced; a folder that holds anything else is left alone.
    Errors: those of ``sources.sentences``; a folder in use for something else; a full or read-only disk; no
    tokens at all.
    """
    key = store_key(paths, tokenizer, column=column, unwrap=unwrap)
    files = [_identity(path)[0] for path in paths]
    lines = sentences(paths, column=column, unwrap=unwrap)
    return write_store(lines, tokenizer, folder, key=key, sources=files, progress=progress)


def write_store(
    lines: Iterable[str | None],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    key: str,
    sources: Sequence[TextFile] = (),
    progress: Progress | None = None,
) -> Store:
    """Like ``build_store``, for sentences from anywhere: None ends a document, ``key`` names the content."""
    _sweep(folder)
    found = _existing(folder, tokenizer, key)
    if found is not None:
        return found
    with folder_atomic(folder) as beside:
        written = _Written()
        with ExitStack() as stack:
            files = {
                name: stack.enter_context((beside / name).open("wb", buffering=1 << 20))
                for name in (TOKENS, SENTENCES, DOCUMENTS)
            }
            for name in (SENTENCES, DOCUMENTS):
                files[name].write(np.zeros(1, dtype="<i8").tobytes())
            for block, ids in _encoded(_blocks(lines), tokenizer):
                parts = _append(written, block, ids, tokenizer)
                for name, data in parts.items():
                    files[name].write(data)
                if progress is not None:
                    progress(written.sentences, written.tokens)
        if written.tokens == 0:
            raise UserError(
                f"the text for {folder} gave no tokens ({written.dropped_sentences:,} sentences were read); "
                "give text that the tokenizer knows"
            )
        meta = _meta(beside, written, tokenizer, key, sources)
        (beside / META).write_text(json.dumps(meta.tree(), indent=1) + "\n", encoding="utf-8")
    return Store.open(folder, tokenizer)


def _identity(path: Path | str) -> tuple[TextFile, int]:
    """An input's name and size, and when it was last changed (nanoseconds)."""
    if str(path).startswith(HUB):
        return TextFile(name=str(path), size=0), 0
    try:
        state = Path(path).stat()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    return TextFile(name=Path(path).name, size=state.st_size), state.st_mtime_ns


def _existing(folder: Path, tokenizer: Tokenizer, key: str) -> Store | None:
    """The store in that place if it is sound and of these inputs; an error if something else is there."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / META).is_file():
        raise UserError(f"{folder} exists and is no token store; name another folder for the store")
    try:
        store = Store.open(folder, tokenizer)
    except UserError:  # damaged, of another tokenizer or format: built again below
        return None
    return store if store.meta.key == key else None


def _sweep(folder: Path) -> None:
    """Remove what killed builds of this store left beside it; one at work touches its files all the time."""
    for left in folder.parent.glob(f".{escape(folder.name)}.*.part"):
        with suppress(OSError):  # another process may be sweeping, too
            if time.time() - (left / TOKENS).stat().st_mtime > STALE:
                rmtree(left, ignore_errors=True)


def _blocks(lines: Iterable[str | None]) -> Iterator[_Block]:
    """Sentences by blocks; the last document is closed even if nothing closed it."""
    block = _Block()
    for line in lines:
        if line is None:
            block.ends.append(len(block.texts))
            continue
        for text in _pieces(line):
            block.texts.append(text)
            block.characters += len(text)
            if block.characters >= BLOCK or len(block.texts) >= BLOCK_SENTENCES:
                yield block
                block = _Block()
    block.ends.append(len(block.texts))
    yield block


def _pieces(line: str) -> Iterator[str]:
    while len(line) > LONGEST:
        end = line.rfind(" ", 1, LONGEST) + 1 or LONGEST
        yield line[:end]
        line = line[end:]
    yield line


def _encoded(blocks: Iterable[_Block], tokenizer: Tokenizer) -> Iterator[tuple[_Block, list[Ids]]]:
    """Every block with its ids, encoded in another thread while this one reads on."""
    waiting: deque[tuple[_Block, Future[list[Ids]]]] = deque()
    with ThreadPoolExecutor(1) as worker:
        for block in blocks:
            waiting.append((block, worker.submit(tokenizer.encode, block.texts)))
            if len(waiting) > AHEAD:
                first, ids = waiting.popleft()
                yield first, ids.result()
        for first, ids in waiting:
            yield first, ids.result()


def _append(written: _Written, block: _Block, ids: Sequence[Ids], tokenizer: Tokenizer) -> dict[str, bytes]:
    """Count a block in, and return the bytes by which it lengthens each file."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    flat = np.concatenate(ids) if ids else np.zeros(0, dtype=np.int32)
    kept = np.concatenate([[0], np.cumsum(lengths > 0)])  # sentences kept before each of the block
    ends = np.asarray(block.ends, dtype=np.int64)
    size = np.diff(kept[ends], prepend=-written.open_kept)  # sentences kept of each document that ends here
    read = np.diff(ends, prepend=-written.open_read)
    offsets = written.tokens + np.cumsum(lengths)[lengths > 0]
    closed = (written.sentences + kept[ends])[size > 0]

    written.open_kept = int(kept[-1] - (kept[ends[-1]] if len(ends) else -written.open_kept))
    written.open_read = int(len(ids) - (ends[-1] if len(ends) else -written.open_read))
    written.tokens += len(flat)
    written.sentences += int(kept[-1])
    written.documents += len(closed)
    written.characters += block.characters
    written.unknown += int(np.count_nonzero(flat == tokenizer.unk))
    written.dropped_sentences += int(np.count_nonzero(lengths == 0))
    written.dropped_documents += int(np.count_nonzero((size == 0) & (read > 0)))
    return {
        TOKENS: flat.astype(np.dtype(token_dtype(tokenizer.vocab_size)).newbyteorder("<")).tobytes(),
        SENTENCES: offsets.astype("<i8").tobytes(),
        DOCUMENTS: closed.astype("<i8").tobytes(),
    }


def _meta(folder: Path, written: _Written, tokenizer: Tokenizer, key: str, sources: Sequence[TextFile]) -> StoreMeta:
    return StoreMeta(
        format=FORMAT,
        key=key,
        tokenizer=tokenizer.fingerprint,
        vocab_size=tokenizer.vocab_size,
        dtype=token_dtype(tokenizer.vocab_size),
        tokens=written.tokens,
        sentences=written.sentences,
        documents=written.documents,
        characters=written.characters,
        unknown=written.unknown,
        dropped_sentences=written.dropped_sentences,
        dropped_documents=written.dropped_documents,
        sources=tuple(sources),
        checksums={name: sha256(folder / name) for name in (SENTENCES, DOCUMENTS)},
    )
