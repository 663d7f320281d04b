"""Text to the tokens that a decoder writes, and back.

A written sentence is the row ``bos w1 .. wn eos``, filled up with ``pad``; ``encode`` gives w1 to wn, rows are made
where batches are. As in the rest of psitext text is only ever text: "<EOS>" in a sentence ends nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from tokenizers import Regex, pre_tokenizers
from tokenizers import Tokenizer as Backend

from psitext.errors import UserError
from psitext.files import write_atomic
from psitext.text.tokenizer.learn import byte_pieces, check, cleaning, lists, whole_words
from psitext.text.tokenizer.roles import GPT2, OWN, Named, beside, content, either, frame, gpt2, roles
from psitext.text.tokenizer.vocabulary import FILE, Ids, Wide, backend_of, bare, checked, encoded, spelled

Kind = Literal["bpe", "words"]


@dataclass(frozen=True, slots=True, eq=False)
class CausalTokenizer:
    """A vocabulary of V tokens with the rules that cut text into them, for a decoder.

    V is ``vocab_size``, the largest id plus one. ``bos``, ``eos`` and ``pad`` may be one token; ``unk`` is None where
    nothing is unknown. ``fingerprint`` is the SHA-256 of ``to_json()``; tokenizers of the same fingerprint are equal.
    """

    vocab_size: int
    bos: int
    eos: int
    pad: int
    unk: int | None
    fingerprint: str
    _plain: Ids = field(repr=False)  # (V,) the id itself, but unk (or -1, nothing) for special ids
    _tokens: tuple[str, ...] = field(repr=False)
    _json: str = field(repr=False)
    _backend: Backend = field(repr=False)

    @staticmethod
    def load(path: Path | str) -> CausalTokenizer:
        """Read a ``tokenizer.json``, GPT-2's ``vocab.json`` with its ``merges.txt``, or the folder of either.

        Each may also be .gz; of both, the ``tokenizer.json`` counts. GPT-2's files get ``<PAD>``, ``<BOS>`` and
        ``<EOS>`` behind their vocabulary, and text a space before it. A ``tokenizer.json`` keeps its own tokens:
        files beside it say which (``tokenizer_config.json``, ``special_tokens_map.json``, ``config.json``), or its own
        frame, or the usual names; a missing bos or pad is the eos. Errors: no such file, a broken one, no eos.
        """
        path = Path(path)
        folder = path.parent if path.name.removesuffix(".gz") in GPT2 else path
        file = [path] if path.is_file() and path == folder else either(path, [FILE])
        if file:
            own = file[0].name.removesuffix(".gz") == FILE  # one of another name has no such files of its own
            return _wrap(backend_of(content(file[0]), str(file[0])), str(file[0]), beside(file[0]) if own else {})
        pair = either(folder, GPT2)
        if pair is None:
            raise UserError(f"there is no tokenizer of a decoder at {path}: neither a {FILE} nor {' and '.join(GPT2)}")
        return _wrap(gpt2(*pair), str(folder))

    @staticmethod
    def from_json(text: str, origin: str = FILE) -> CausalTokenizer:
        """The tokenizer that a ``tokenizer.json`` describes, whose roles it holds itself or has usual names for."""
        return _wrap(backend_of(text, origin), origin)

    def to_json(self) -> str:
        """The content of its ``tokenizer.json``, which Hugging Face's libraries read too: they give ``bos w1 .. eos``
        and pad with ``pad``.
        """
        return self._json

    def save(self, path: Path | str) -> Path:
        """Write ``tokenizer.json`` in one step: to ``path`` if it ends in .json, else into that folder."""
        path = Path(path)
        file = path if path.suffix == ".json" else path / FILE
        write_atomic(file, self.to_json())
        return file

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of every text, (n,) int32 each: no bos, no eos, nothing cut off; on all cores."""
        return encoded(self._backend, texts, self._plain)

    def encode_offsets(self, texts: Sequence[str]) -> list[tuple[Ids, Wide]]:
        """For every text its ids, (n,) int32, and their places in it, (n, 2) int64 ranges of characters in the text as
        given; those of ``bpe`` begin with the space before a word.
        """
        found = []
        for one in self._backend.encode_batch(list(texts), add_special_tokens=False):
            ids = self._plain[np.asarray(one.ids, dtype=np.int64)]
            found.append((ids[ids >= 0], np.asarray(one.offsets, dtype=np.int64).reshape(-1, 2)[ids >= 0]))
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """Readable text of what was written: up to the first eos, without bos and pad before or in it.

        Of ``bpe`` the text that ``encode`` read comes back, but for white space and normal form; of ``words``, with
        one space between words.
        """
        row = checked(ids, self.vocab_size)
        hidden = {self.bos, self.pad}
        first = next((at for at, one in enumerate(row) if one not in hidden), len(row))  # bos may be the eos, too
        shown = [one for one in takewhile(lambda one: one != self.eos, row[first:]) if one not in hidden]
        return str(self._backend.decode(shown, skip_special_tokens=False)).strip()

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of every id as the vocabulary spells it (``Ġword``); "" for an id that no token has."""
        return [self._tokens[one] for one in checked(ids, self.vocab_size)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CausalTokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Callable[[str], CausalTokenizer], tuple[str]]:
        return CausalTokenizer.from_json, (self.to_json(),)


def learn(
    kind: Kind, texts: Iterable[str], vocab_size: int, *, lowercase: bool = False, min_count: int = 1
) -> CausalTokenizer:
    """Learn a vocabulary of at most ``vocab_size`` tokens from ``texts``, which are read once and not kept.

    ``bpe`` gives GPT-2's pieces of bytes, so nothing is ever unknown; ``words`` the most frequent words, which are
    what white space separates, as in the corpora of language modelling. ``<PAD>``, ``<BOS>`` and ``<EOS>`` have the ids
    0 to 2, and 3 is ``<UNK>`` of ``words``. A corpus's own mark for a rare word ("<unk>" of PTB, "_UNK" of Yahoo) is a
    word like others, which every tokenizer has to spell: so likelihoods by the sentence, word or byte are of one
    text. The same texts give the same tokenizer, in whatever order they come. Errors: as ``train``.
    """
    check(kind, get_args(Kind), vocab_size, 3 + 256 if kind == "bpe" else 4 + 1)
    steps, some = cleaning(lowercase), lists(texts)
    if kind == "bpe":
        special = {role: OWN[role] for role in ("pad", "bos", "eos")}
        backend = byte_pieces(steps, some, vocab_size, min_count, special)
    else:
        spaces = pre_tokenizers.WhitespaceSplit()
        # A word that is spelled like a special token is never learnt: it would take that token's place.
        forged = pre_tokenizers.Split(Regex("^(" + "|".join(map(re.escape, OWN.values())) + ")$"), "removed")
        both = pre_tokenizers.Sequence([spaces, forged])
        backend = whole_words(steps, both, some, vocab_size, min_count, OWN)
        backend.pre_tokenizer = spaces
    backend.add_special_tokens(list(OWN.values())[: 3 if kind == "bpe" else 4])
    return _wrap(backend, "the learnt tokenizer")


def _wrap(backend: Backend, origin: str, named: Named | None = None) -> CausalTokenizer:
    """Fix the rules of a backend that nobody else holds, find its roles, and write them into it."""
    found = roles(backend, json.loads(backend.to_str()), named or {}, origin)
    backend.no_truncation()
    frame(backend, found)
    text = str(backend.to_str())
    bare(backend)
    tokens = spelled(backend.get_vocab(with_added_tokens=True))
    special = [at for at, token in backend.get_added_tokens_decoder().items() if token.special]
    plain = np.arange(len(tokens), dtype=np.int32)
    plain[[*special, found.bos, found.eos, found.pad]] = -1 if found.unk is None else found.unk
    plain.setflags(write=False)
    return CausalTokenizer(
        vocab_size=len(tokens),
        **found._asdict(),
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        _plain=plain,
        _tokens=tokens,
        _json=text,
        _backend=backend,
    )
