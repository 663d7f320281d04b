"""The protocol of a sweep: every choice of NJP 24 053032, section 3, and every one that it leaves open, as one value.

The defaults are the paper's where it says them, and Keras' where it does not, since that is what it was made with.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from psitext.config import Config
from psitext.encoders.rac import Init
from psitext.errors import UserError

# Beyond these a sweep would be a matter of months, or of more memory than there is.
MOST_BOND, MOST_WORDS, MOST_STEPS, MOST_FEATURES = 2_000, 1_000_000, 20_000, 10_000


class Protocol(Config):
    """How the circuits of a sweep are trained; ``words`` decides whether it is figure 4 or figure 5."""

    task: str = "imdb"
    pooled: bool = True  # all labelled rows of the task, cut anew; false: its own train, and test or dev
    share: float = Field(default=0.8, gt=0, lt=1)  # of the pooled rows that are trained on: 40,000 of 50,000
    rows: int | None = Field(default=None, gt=1)  # at most so many of them, drawn by the seed
    tokens: Literal["plain-words", "words"] = "plain-words"  # Keras' Tokenizer takes no punctuation mark for a word
    vocabulary: int = Field(default=10_000, ge=2, le=MOST_WORDS)  # N, the most frequent words of the training rows
    steps: int = Field(default=50, gt=1, le=MOST_STEPS)  # T
    keep: Literal["first", "last"] = "first"  # which T words of a longer text
    unknown: Literal["keep", "drop"] = "drop"  # Keras' Tokenizer drops before the cut
    pad: Literal["word", "zero"] = "word"  # 0s in front are a word with a vector of its own (Keras: mask_zero = False)
    features: int = Field(default=4, gt=0, le=MOST_FEATURES)  # d_I
    words: Literal["flatten", "joint"] = (
        "flatten"  # vectors trained under a flatten layer and fixed, or with the circuit
    )
    init: Init = "orthogonal"
    biases: bool = True
    batch: int = Field(default=128, gt=0, le=1_000_000)
    lr: float = Field(default=1e-3, gt=0)
    eps: float = Field(default=1e-7, gt=0)  # Keras' Adam
    clip: float = Field(default=0.0, ge=0)  # largest gradient norm of a restart; 0 = never clip
    epochs: int = Field(default=200, gt=0)
    flatten_epochs: int = Field(default=100, gt=0)
    min_delta: float = Field(default=1e-3, ge=0)  # a restart stops when its training loss has not
    patience: int = Field(default=4, gt=0)  # fallen by min_delta for so many epochs
    seed: int = Field(default=0, ge=0)  # of the split, the order and the weights


class Sweep(Config):
    """Protocols, each over the same bond dimensions and restarts."""

    protocol: Protocol = Protocol()
    bonds: tuple[int, ...] = Field(default=(1, 2, 3, 5, 8, 12, 16, 20, 30, 40), min_length=1)  # chi
    restarts: int = Field(default=50, gt=0, le=100_000)


def bonds_of(text: str) -> tuple[int, ...]:
    """Bond dimensions as a user writes them: "1:40", "1:40:3" (every third) or "1,5,20"."""
    try:
        if ":" in text:
            low, high, *step = (int(part) for part in text.split(":"))
            found = tuple(range(low, min(high, MOST_BOND + 1) + 1, *step))
        else:
            found = tuple(int(part) for part in text.split(","))
    except (ValueError, TypeError):  # no numbers; too many of them
        found = ()
    if not found or min(found) < 1 or max(found) > MOST_BOND:
        raise UserError(f"--chi takes bond dimensions from 1 to {MOST_BOND:,} as 1:40, 1:40:3 or 1,5,20, not {text!r}")
    return found
