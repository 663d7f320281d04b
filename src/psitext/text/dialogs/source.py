"""Turns as sources of batches: contexts alone, with their responses, and with sentences of a style beside them.

Letters: S turns, B turns of a batch, Q sentences of the style.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psitext.randomness import below
from psitext.text.batches import Batch, Ints, lay_out, padded, within
from psitext.text.dialogs.groups import joined
from psitext.text.dialogs.rows import Contexts, Dialogs
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.text.twofold import Sentences, TwofoldSource


@dataclass(frozen=True, eq=False)
class ContextSource:
    """Contexts to be answered; implements ``batches.Source``."""

    contexts: Contexts
    reader: Tokenizer

    def lengths(self, epoch: int = 0) -> Ints:
        """(S,) tokens of every context."""
        return self.contexts.rows.lengths

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        """The batch of these contexts, padded, speakers as segments."""
        rows = self.contexts.rows
        begins = rows.offsets[samples]
        lengths = rows.offsets[samples + 1] - begins
        at = within(lengths) + np.repeat(begins, lengths)
        ids, segments = rows.ids[at].astype(np.int64), self.contexts.segments[at].astype(np.int64)
        return lay_out(ids, segments, padded(lengths), samples, pad=self.reader.pad, targets={})


@dataclass(frozen=True, eq=False)
class DialogSource:
    """Turns: a batch of B samples has their contexts, then their responses (``groups``), and the targets of
    ``TwofoldSource``: ``written`` (B, T) and ``written_length`` (B,) of the responses.
    """

    dialogs: Dialogs
    reader: Tokenizer
    writer: CausalTokenizer

    def lengths(self, epoch: int = 0) -> Ints:
        """(S,) tokens that are read and written of every turn."""
        responses = TwofoldSource(self.dialogs.responses, self.reader, self.writer)
        return self.dialogs.contexts.rows.lengths + responses.lengths()

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        """The batch of these turns."""
        contexts = ContextSource(self.dialogs.contexts, self.reader).build(samples)
        responses = TwofoldSource(self.dialogs.responses, self.reader, self.writer).build(samples)
        return joined([contexts, responses], self.reader.pad, responses.targets)


@dataclass(frozen=True, eq=False)
class StyleSource:
    """Turns with a sentence of a style beside each, which has nothing to do with it; which one is drawn by (seed,
    epoch, turn).

    A third group holds these sentences; the targets ``style`` (B, T') and ``style_length`` (B,) are theirs.
    """

    turns: DialogSource
    style: Sentences
    seed: int = 0

    def lengths(self, epoch: int = 0) -> Ints:
        """(S,) tokens that are read and written of every turn and of the sentence beside it."""
        own = self.turns.lengths(epoch)
        beside = TwofoldSource(self.style, self.turns.reader, self.turns.writer).lengths()
        return own + beside[self._beside(np.arange(len(own)), epoch)]

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        """The batch of these turns."""
        reader = self.turns.reader
        contexts = ContextSource(self.turns.dialogs.contexts, reader).build(samples)
        responses = TwofoldSource(self.turns.dialogs.responses, reader, self.turns.writer).build(samples)
        style = TwofoldSource(self.style, reader, self.turns.writer).build(self._beside(samples, epoch))
        named = {name.replace("written", "style"): value for name, value in style.targets.items()}
        return joined([contexts, responses, style], reader.pad, {**responses.targets, **named})

    def _beside(self, samples: Ints, epoch: int) -> Ints:
        """(B,) which sentences of the style."""
        return below(len(self.style.texts), self.seed, "style", epoch, samples)
