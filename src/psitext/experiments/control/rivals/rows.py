"""Labelled sentences as the tokens that a decoder writes, and steps' worth of them.

Letters: S sentences, B of a step, T tokens of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from psitext.errors import UserError
from psitext.text.examples import Example
from psitext.text.tokenizer.causal import CausalTokenizer


@dataclass(frozen=True, slots=True)
class Rows:
    """S sentences ``bos w1 .. wn eos``, padded on the right."""

    ids: Tensor  # (S, T) int64
    lengths: Tensor  # (S,) int64, bos and eos included
    label: Tensor  # (S,) int64

    def __len__(self) -> int:
        return len(self.label)

    def drawn(self, count: int, random: torch.Generator) -> Rows:
        """``count`` of them, with replacement, as wide as the longest."""
        at = torch.randint(len(self), (count,), generator=random)
        return Rows(self.ids[at, : int(self.lengths[at].max())], self.lengths[at], self.label[at])


def rows_of(
    examples: Sequence[Example], labels: Sequence[str], writer: CausalTokenizer, max_tokens: int
) -> tuple[Rows, int]:
    """The rows of sentences of at most ``max_tokens`` tokens, the end included, and how many were longer or empty.

    Errors: nothing is left of a label.
    """
    number = {label: place for place, label in enumerate(labels)}
    rows, label = [], []
    for example, tokens in zip(examples, writer.encode([one.text for one in examples]), strict=True):
        if 0 < len(tokens) < max_tokens:
            rows.append(torch.tensor([writer.bos, *tokens.tolist(), writer.eos]))
            label.append(number[str(example.label)])
    if lost := [name for name, place in number.items() if place not in set(label)]:
        raise UserError(f"no sentence of the label {lost[0]!r} has at most {max_tokens} tokens; raise max_tokens")
    grid = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=writer.pad)
    found = Rows(grid, torch.tensor([len(row) for row in rows]), torch.tensor(label))
    return found, len(examples) - len(rows)
