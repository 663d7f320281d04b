"""A vocabulary with its rules, read from a file, as one immutable value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer as Backend

from psitext.errors import UserError
from psitext.files import write_atomic
from psitext.text.tokenizer.rules import NEEDED, SPECIAL, bert, read
from psitext.text.tokenizer.words import tight

Ids: TypeAlias = npt.NDArray[np.int32]
Wide: TypeAlias = npt.NDArray[np.int64]
Style = Literal["pieces", "words", "bytes", "marks"]
FILE = "tokenizer.json"
_ROBERTA = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
_AT_ONCE = 4096  # texts in one call to Rust: work for many cores; what comes back is 40 times the text


@dataclass(frozen=True, slots=True, eq=False)
class Tokenizer:
    """A vocabulary of V tokens with the rules that cut text into them.

    V is ``vocab_size``, the largest id plus one; an id that the file leaves out is neither special nor
    ordinary. ``fingerprint`` is the SHA-256 of ``to_json()``; tokenizers of the same fingerprint are equal.
    """

    vocab_size: int
    cls: int
    sep: int
    mask: int
    pad: int
    unk: int
    fingerprint: str
    special: Wide = field(repr=False)  # the ids of the special tokens, ascending, [UNK] among them
    ordinary: Wide = field(repr=False)  # all other ids, ascending: what a random replacement may draw
    continuation: npt.NDArray[np.bool_] = field(repr=False)  # (V,) True where a token continues a word
    _plain: Ids = field(repr=False)  # (V,) the id itself, but [UNK] for special ids: no text may give those
    _tokens: tuple[str, ...] = field(repr=False)
    _style: Style = field(repr=False)
    _backend: Backend = field(repr=False)

    @staticmethod
    def load(path: Path | str, *, lowercase: bool | None = None) -> Tokenizer:
        """Read a ``tokenizer.json``, a ``vocab.txt`` or the folder that holds one; of both, the json counts.

        A ``vocab.txt`` gives BERT's own tokenizer. It lowers case if ``lowercase`` says so, else if
        ``do_lower_case`` of a ``tokenizer_config.json`` beside it says so, else if no token has a capital.
        Errors: no such file, a broken file, a vocabulary that lacks one of the five special tokens.
        """
        path = Path(path)
        file = path
        if path.is_dir():
            file = next((path / name for name in (FILE, "vocab.txt") if (path / name).is_file()), path)
        if not file.is_file():
            raise UserError(f"there is no tokenizer at {path}: neither a {FILE} nor a vocab.txt")
        if file.suffix != ".json":
            return _wrap(bert(file, lowercase), str(file))
        if lowercase is not None:
            raise UserError(f"{file} says itself whether it lowers case; lowercase goes with a vocab.txt")
        return Tokenizer.from_json(read(file), str(file))

    @staticmethod
    def from_json(text: str, origin: str = FILE) -> Tokenizer:
        """The tokenizer that a ``tokenizer.json`` describes, without its truncation and padding."""
        return _wrap(backend_of(text, origin), origin)

    def to_json(self) -> str:
        """The content of its ``tokenizer.json``, which Hugging Face's libraries read too."""
        return str(self._backend.to_str())

    def save(self, path: Path | str) -> Path:
        """Write ``tokenizer.json`` in one step: to ``path`` if it ends in .json, else into that folder."""
        path = Path(path)
        file = path if path.suffix == ".json" else path / FILE
        write_atomic(file, self.to_json())
        return file

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of every text, (n,) int32 each: no special tokens, nothing cut off; on all cores."""
        return encoded(self._backend, texts, self._plain)

    def encode_words(self, words: Sequence[str]) -> tuple[Ids, Wide]:
        """The ids of a sentence already cut into words, (n,) int32, and the word of each, (n,) int64.

        A word of nothing but white space or control characters has no token: its index does not occur.
        """
        if self._style == "bytes":  # its words carry the space before them
            words = [*words[:1], *(f" {word}" for word in words[1:])]
        encoding = self._backend.encode(list(words), is_pretokenized=True, add_special_tokens=False)
        return _arrays([encoding], self._plain)[0], np.asarray(encoding.word_ids, dtype=np.int64)

    def encode_offsets(self, texts: Sequence[str]) -> list[tuple[Ids, Wide]]:
        """For every text its ids, (n,) int32, and their places in it, (n, 2) int64 ranges of characters.

        Characters are counted in the text as given, before normalisation; the end is one past the last.
        Tokens that are parts of one character share its place.
        """
        encodings = [one for some in _slices(texts) for one in _call(self._backend.encode_batch, some)]
        places = (np.asarray(one.offsets, dtype=np.int64).reshape(-1, 2) for one in encodings)
        return list(zip(_arrays(encodings, self._plain), places, strict=True))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of every id as the vocabulary spells it (``##ing``); "" for an id that no token has."""
        return [self._tokens[one] for one in checked(ids, self.vocab_size)]

    def decode(self, ids: Iterable[int]) -> str:
        """Readable text without [PAD], [CLS] and [SEP]; [UNK] and [MASK] stay, for they stand for something.

        What ``encode`` gave comes back in normal form: encoded again it has the same ids, if none was [UNK].
        """
        hidden = {self.pad, self.cls, self.sep}
        shown = [one for one in checked(ids, self.vocab_size) if one not in hidden]
        if self._style in ("bytes", "marks"):
            return str(self._backend.decode(shown, skip_special_tokens=False)).strip()
        pieces = (self._tokens[i][2:] if self.continuation[i] else f" {self._tokens[i]}" for i in shown)
        return tight("".join(pieces).strip())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Callable[[str], Tokenizer], tuple[str]]:
        # The backend's own pickle forgets that special tokens in a text are text.
        return Tokenizer.from_json, (self.to_json(),)


def checked(ids: Iterable[int], vocab_size: int) -> list[int]:
    """The same ids. Errors: ValueError for one that no vocabulary of this size has."""
    found = [int(one) for one in ids]
    for one in found:
        if not 0 <= one < vocab_size:
            raise ValueError(f"{one} is no token id: this vocabulary has {vocab_size}")
    return found


def backend_of(text: str, origin: str) -> Backend:
    """The Rust tokenizer that a ``tokenizer.json`` describes."""
    try:
        return Backend.from_str(text)
    except Exception as error:  # the Rust library raises nothing narrower
        raise UserError(f"{origin} is not a tokenizer.json: {error}") from None


def bare(backend: Backend) -> None:
    """Make a backend leave texts as they are: nothing cut or filled up, and a special token's name is text."""
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True


def spelled(vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    """The token of every id, "" for an id that has none."""
    tokens = [""] * (max(vocabulary.values()) + 1)
    for token, at in vocabulary.items():
        tokens[at] = token
    return tuple(tokens)


def encoded(backend: Backend, texts: Sequence[str], plain: Ids) -> list[Ids]:
    """The ids of every text, (n,) int32 each, on all cores; ``plain`` (V,) says what stands for each id, -1 for
    nothing at all.
    """
    batches = (_call(backend.encode_batch_fast, some) for some in _slices(texts))
    return [ids for batch in batches for ids in _arrays(batch, plain)]


def _wrap(backend: Backend, origin: str) -> Tokenizer:
    """Fix the rules of a backend that nobody else holds, and derive what the rest of psitext asks for."""
    bare(backend)
    vocabulary = backend.get_vocab(with_added_tokens=True)
    roles = {role: vocabulary.get(name, vocabulary.get(_ROBERTA[role])) for role, name in SPECIAL.items()}
    lacking = [SPECIAL[role] for role, found in roles.items() if found is None]
    if lacking:
        raise UserError(f"{origin} lacks {', '.join(lacking)}; {NEEDED}")
    ids = {role: found for role, found in roles.items() if found is not None}
    tokens = spelled(vocabulary)
    declared = {at for at, token in backend.get_added_tokens_decoder().items() if token.special}
    special = np.array(sorted(declared.union(ids.values())), dtype=np.int64)
    ordinary = np.setdiff1d(np.array(list(vocabulary.values()), dtype=np.int64), special)
    text = str(backend.to_str())
    style = _style(json.loads(text), origin)
    continuation = np.array([bool(token) and _CONTINUES[style](token) for token in tokens])
    continuation[special] = False
    plain = np.arange(len(tokens), dtype=np.int32)
    plain[special] = ids["unk"]
    for array in (special, ordinary, continuation, plain):
        array.setflags(write=False)
    return Tokenizer(
        vocab_size=len(tokens),
        **ids,
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        special=special,
        ordinary=ordinary,
        continuation=continuation,
        _plain=plain,
        _tokens=tokens,
        _style=style,
        _backend=backend,
    )


def _style(tree: dict[str, Any], origin: str) -> Style:
    """How the vocabulary of a tokenizer.json tells the front of a word from its inside."""
    model = tree["model"]
    if model["type"] == "WordPiece":
        if model["continuing_subword_prefix"] != "##":
            raise UserError(f"{origin} has a WordPiece vocabulary whose inner pieces do not begin with ##")
        return "pieces"
    if model["type"] == "WordLevel":
        return "words"
    return "bytes" if '"ByteLevel"' in json.dumps(tree["pre_tokenizer"]) else "marks"


def _byte_continues(token: str) -> bool:
    """Whether a byte-level token continues a word, by its first byte: a letter does, a space does not.

    The exception are letters of three bytes (kana, Chinese, Thai, Hangul): many start a word without a space.
    """
    first = _BYTES.get(token[0], 0)
    return chr(first).isalnum() if first < 0x80 else first < 0xC0 or 0xC3 <= first < 0xE0


# GPT-2's spelling of bytes: those that can be seen stand for themselves, the others are U+0100 and so on.
_SEEN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_UNSEEN = [byte for byte in range(0x100) if byte not in _SEEN]
_BYTES = {chr(byte): byte for byte in _SEEN} | {chr(0x100 + at): byte for at, byte in enumerate(_UNSEEN)}

_CONTINUES: dict[Style, Callable[[str], bool]] = {
    "pieces": lambda token: token.startswith("##") and len(token) > 2,
    "words": lambda token: False,
    "bytes": _byte_continues,
    "marks": lambda token: not token.startswith("▁"),  # SentencePiece's sign for the front of a word
}


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    if isinstance(texts, str):
        raise UserError("encode takes a list of texts, not one text; put it in brackets")
    for first in range(0, len(texts), _AT_ONCE):
        yield list(texts[first : first + _AT_ONCE])


def _arrays(encodings: Sequence[Any], plain: Ids) -> list[Ids]:
    """Rust's lists as views into one array of what ``plain`` puts in their place."""
    lists = [one.ids for one in encodings]
    ends = np.cumsum([len(ids) for ids in lists], dtype=np.int64)
    flat = plain[np.fromiter(chain.from_iterable(lists), dtype=np.int32)]
    kept = flat >= 0
    if not kept.all():
        ends, flat = np.concatenate([[0], np.cumsum(kept)])[ends], flat[kept]
    cuts = ends.tolist()
    return [flat[first:end] for first, end in zip([0, *cuts], cuts, strict=False)]


def _call(encode_batch: Callable[..., list[Any]], texts: list[str]) -> list[Any]:
    try:
        return encode_batch(texts, add_special_tokens=False)
    except TypeError:  # Rust does not say which text it was
        for text in texts:
            if not isinstance(text, str):
                raise UserError(f"a text to encode is no string: {text!r}") from None
            if any("\ud800" <= letter <= "\udfff" for letter in text):
                raise UserError(f"a text to encode holds half a character: {text!r}") from None
        raise
