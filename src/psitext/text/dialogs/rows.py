"""Turns as the tokens of two tokenizers: a context that is read, and a response that is read and written.

Letters: S turns, N tokens of all contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from pydantic import Field

from psitext.config import MAX_INT, Config
from psitext.errors import UserError
from psitext.text.batches import Ints
from psitext.text.dialogs.reading import END, Turn
from psitext.text.tokenizer import Ids, Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.text.twofold.sentences import Counts, Rows, Sentences

BLOCK = 1 << 12  # texts tokenised at a time


class DialogsConfig(Config):
    """Which dialogues there are, and what of each turn is read and written."""

    files: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()  # files to validate on; without any the last weights are kept
    dir: str | None = None  # what relative paths start from
    column: str = "dialogue"
    end: str = END  # of an utterance
    tidy: bool = True  # straight quotes, no spaces before marks
    turns: int = Field(default=10, gt=0)  # utterances of a context
    context_len: int = Field(default=128, gt=2)  # tokens of a context, [CLS] and [SEP]s included; the oldest are cut
    max_words: int = Field(default=64, gt=0)  # of a response, between white space
    max_tokens: int = Field(default=64, gt=1)  # of a response that is written, its end included
    max_len: int = Field(default=64, gt=2)  # of a response that is read, [CLS] and [SEP] included
    limit: int | None = Field(default=None, gt=0)  # so many turns are kept, the first; None = all


@dataclass(frozen=True, slots=True, eq=False)
class Contexts:
    """Contexts as rows: ``[CLS] u1 [SEP] .. un [SEP]``, the oldest cut off where they are too long."""

    rows: Rows
    segments: Ints  # (N,) 0 in the utterances of the one who answers, 1 in the other's
    cut: Ints  # (S,) tokens that were cut off


@dataclass(frozen=True, slots=True, eq=False)
class Dialogs:
    """Turns whose responses are short enough, in the order of reading."""

    turns: tuple[Turn, ...]  # S
    contexts: Contexts
    responses: Sentences  # S, with the counts of what was left out


def contexts(given: Sequence[Sequence[str]], reader: Tokenizer, context_len: int) -> Contexts:
    """S contexts, oldest utterance first, as rows of at most ``context_len`` tokens.

    An utterance that does not fit whole keeps its end. Errors: ValueError for a context without utterances.
    """
    pieces = _each_once({one: None for context in given for one in context}, reader)
    kept = [_kept([pieces[one] for one in context], reader, context_len) for context in given]
    ids, segments, cut = zip(*kept, strict=True)
    return Contexts(flat(ids), np.concatenate(segments), np.asarray(cut, dtype=np.int64))


def _each_once(utterances: Iterable[str], reader: Tokenizer) -> dict[str, Ids]:
    """The tokens of different utterances: most are in the contexts of several turns."""
    left, found = iter(utterances), dict[str, Ids]()
    while block := list(islice(left, BLOCK)):
        found.update(zip(block, reader.encode(block), strict=True))
    return found


def _kept(utterances: list[Ids], reader: Tokenizer, context_len: int) -> tuple[Ids, Ints, int]:
    """A context's row, its segments, and how many tokens were cut off."""
    if not utterances:
        raise ValueError("a context has at least one utterance")
    sep = np.asarray([reader.sep], dtype=np.int32)
    parts = [np.concatenate([one, sep]) for one in utterances]
    # The last one was said by the other speaker, segment 1; those before it alternate.
    who = np.repeat([(len(parts) - at) % 2 for at in range(len(parts))], [len(one) for one in parts])
    row = np.concatenate(parts)
    cut = max(len(row) + 1 - context_len, 0)
    cls = np.asarray([reader.cls], dtype=np.int32)
    return np.concatenate([cls, row[cut:]]), np.concatenate([[0], who[cut:]]), cut


def gather_turns(stream: Iterable[Turn], reader: Tokenizer, writer: CausalTokenizer, config: DialogsConfig) -> Dialogs:
    """Keep the turns of a stream whose responses are within the limits; contexts are cut, never a reason.

    Errors: nothing is left.
    """
    room = config.limit or MAX_INT
    kept: list[Turn] = []
    stream, counted = iter(stream), {"read": 0, "empty": 0, "many_words": 0, "many_tokens": 0}
    read: list[Ids] = []
    written: list[Ids] = []
    while len(kept) < room and (block := list(islice(stream, BLOCK))):
        texts = [turn.response for turn in block]
        for turn, pieces, tokens in zip(block, reader.encode(texts), writer.encode(texts), strict=True):
            counted["read"] += 1
            reason = _reason(turn.response, len(pieces), len(tokens), config)
            if reason is not None:
                counted[reason] += 1
                continue
            kept.append(turn)
            read.append(np.concatenate([[reader.cls], pieces, [reader.sep]]))
            written.append(np.concatenate([[writer.bos], tokens, [writer.eos]]))
            if len(kept) == room:
                break
    counts = Counts(kept=len(kept), **counted)
    if not kept:
        raise UserError(
            f"no response is left: {counts.in_words}; name other dialogues, or raise a limit, --set "
            "dialogs.max_words=..., max_tokens or max_len"
        )
    given = contexts([turn.context for turn in kept], reader, config.context_len)
    said = tuple(turn.response for turn in kept)
    return Dialogs(tuple(kept), given, Sentences(said, counts, flat(read), flat(written)))


def _reason(response: str, read: int, written: int, config: DialogsConfig) -> str | None:
    """Why a response is left out, by the name of its count."""
    words = len(response.split())
    if not words or not read or not written:
        return "empty"
    if words > config.max_words:
        return "many_words"
    fits = read + 2 <= config.max_len and written + 1 <= config.max_tokens
    return None if fits else "many_tokens"


def flat(given: Sequence[Ids]) -> Rows:
    """Rows of tokens end to end."""
    lengths = np.asarray([len(row) for row in given], dtype=np.int64)
    return Rows(np.concatenate(given).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]))
