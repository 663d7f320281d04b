"""A token store: a corpus as integers on disk, mapped into memory, not read into it.

A folder of four files. ``tokens.bin`` holds the ids of every sentence one after the other, without special
tokens (uint16 where the vocabulary has at most 65,536 entries, else uint32); ``sentences.bin`` the first
token of every sentence and the end of the last (int64); ``documents.bin`` the first sentence of every
document and the end of the last (int64); ``meta.json`` the rest. All are little-endian. No sentence and no
document is empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from psitext.config import Config, build
from psitext.errors import UserError
from psitext.files import sha256

if TYPE_CHECKING:
    from psitext.text.tokenizer import Tokenizer

Ints = npt.NDArray[np.int64]

FORMAT = 1
META = "meta.json"
TOKENS, SENTENCES, DOCUMENTS = "tokens.bin", "sentences.bin", "documents.bin"
WIDEST_UINT16 = 65_536  # entries of the largest vocabulary whose ids fit 16 bits


class TextFile(Config):
    """One input that a store was built from."""

    name: str
    size: int  # bytes; 0 for a hub data set


class StoreMeta(Config):
    """What a store says about itself in ``meta.json``."""

    format: int
    key: str  # what it was built from; see building.store_key
    tokenizer: str  # fingerprint
    vocab_size: int
    dtype: Literal["uint16", "uint32"]
    tokens: int
    sentences: int
    documents: int
    characters: int  # of all sentences read, the dropped ones included
    unknown: int  # tokens that are [UNK]
    dropped_sentences: int  # without a single token
    dropped_documents: int  # without a single sentence that had one
    sources: tuple[TextFile, ...]
    checksums: dict[str, str]  # SHA-256 of the two files of offsets


@dataclass(frozen=True, slots=True)
class Store:
    """An open token store; the arrays are views of the files."""

    folder: Path
    meta: StoreMeta
    tokens: npt.NDArray[Any]  # (tokens,) uint16 or uint32
    sentences: Ints  # (sentences + 1,) token offsets
    documents: Ints  # (documents + 1,) sentence offsets

    @classmethod
    def open(cls, folder: Path, tokenizer: Tokenizer | None = None) -> Store:
        """Map a store's files after checking them, and that ``tokenizer`` made it where one is given.

        Errors: not a store, another format, a file that is cut short or changed, another tokenizer.
        """
        meta = _read_meta(folder)
        if tokenizer is not None and tokenizer.fingerprint != meta.tokenizer:
            raise UserError(
                f"the token store {folder} was made with another tokenizer ({meta.tokenizer[:12]}, not "
                f"{tokenizer.fingerprint[:12]}); build it again, or give the tokenizer it was made with"
            )
        offsets = np.dtype("<i8")
        return cls(
            folder,
            meta,
            _map(folder / TOKENS, np.dtype(meta.dtype).newbyteorder("<"), meta.tokens),
            _map(folder / SENTENCES, offsets, meta.sentences + 1, meta.checksums.get(SENTENCES, "")),
            _map(folder / DOCUMENTS, offsets, meta.documents + 1, meta.checksums.get(DOCUMENTS, "")),
        )


def token_dtype(vocab_size: int) -> Literal["uint16", "uint32"]:
    """The narrowest type that holds every id of a vocabulary."""
    return "uint16" if vocab_size <= WIDEST_UINT16 else "uint32"


def _read_meta(folder: Path) -> StoreMeta:
    path = folder / META
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder} is not a token store: it holds no {META}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"the token store {folder} is damaged: {META} is not JSON; build it again") from None
    if not isinstance(tree, dict) or not isinstance(tree.get("format"), int):
        raise UserError(f"{folder} is not a token store: {META} names no format")
    if tree["format"] != FORMAT:
        raise UserError(f"the token store {folder} has format {tree['format']}, this psitext {FORMAT}; build it again")
    return build(StoreMeta, tree, str(path))


def _map(path: Path, dtype: np.dtype[Any], count: int, checksum: str | None = None) -> npt.NDArray[Any]:
    """``count`` numbers of a file, after comparing its size and, where one is given, its checksum."""
    expected = count * dtype.itemsize
    try:
        size = path.stat().st_size
        sound = size == expected and (checksum is None or sha256(path) == checksum)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; build the token store again") from None
    if size != expected:
        raise UserError(f"{path} has {size:,} bytes instead of {expected:,}; build the token store again")
    if not sound:
        raise UserError(f"{path} is not as it was written (its checksum differs); build the token store again")
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", shape=(count,)))
