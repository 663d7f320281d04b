"""What ships with psitext: every model with its recipe, what it starts from, what it is for and where its limits are.

The recipes themselves are ``recipes/shipped/<recipe>.toml``, the queues that judge them ``recipes/papers/shipped``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from psitext.errors import UserError, near

OLD_BOOKS = (
    "Only English, and mostly the English of books that were written before 1926: newer words are unknown or rare, and "
    "what these books take for granted about people, peoples, women and men is in the weights.",
    "Trained within half an hour on one core; the published models of these families have seen a thousand times as "
    "much text.",
    "Not for decisions about people.",
)


@dataclass(frozen=True, slots=True)
class Headline:
    """The score in a list of models: a cell of a queue's table."""

    queue: str  # a queue's name; its result lines are <queue, / as ->.jsonl
    run: str
    task: str
    split: str
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ship:
    """A model of ``make models``; one without ``purpose`` only starts another and does not ship."""

    name: str  # of the model, and of its run's folder
    verb: Literal["pretrain", "finetune"]
    encoder: str | None = None  # names of models that it starts from, as --encoder, --decoder and --words take them
    decoder: str | None = None
    words: str | None = None
    pool: str | None = None  # another sentence vector than it was trained with; its head is then left out
    purpose: str = ""
    limits: tuple[str, ...] = ()
    headline: Headline | None = None
    queues: tuple[str, ...] = ()  # whose tables go on the card

    @property
    def recipe(self) -> str:
        """The name of its recipe."""
        return f"shipped-{self.name}"


SHIPS = (
    Ship(
        name="bert-tiny",
        verb="pretrain",
        purpose="A BERT to fine-tune within minutes, and sentence vectors on any machine. For these ask for the mean "
        'of the words\' states (`--set pool=mean`, `psi.load("bert-tiny", pool="mean")`), whose cosines agree best '
        "with how alike people find two sentences; the pooled [CLS], which it comes with, has learnt which sentence "
        "follows which, and is the better start for tasks of two sentences.",
        limits=OLD_BOOKS,
        headline=Headline("shipped/encoders", "bert-tiny", "stsb", "dev", "pearson"),
        queues=("shipped/encoders",),
    ),
    Ship(
        name="qbert-tiny",
        verb="pretrain",
        purpose="A complex encoder whose sentence vector is a ket of 7 qubits: for measurement heads, circuits, "
        "entanglement. It read the same text as bert-tiny, in the same batches.",
        limits=OLD_BOOKS,
        headline=Headline("shipped/encoders", "qbert-tiny", "stsb", "dev", "pearson"),
        queues=("shipped/encoders",),
    ),
    Ship(
        name="rac-tiny",
        verb="finetune",
        purpose="A recurrent arithmetic circuit (a matrix product state) that says whether a generated review is "
        "positive, where that hangs on the order of words: for entanglement maps, exact Shapley values, compression; "
        "and to fine-tune on reviews that people wrote.",
        limits=(
            "Reviews of psitext's own grammar, of some hundred words, are all that it was taught; what it says of "
            "other reviews is close to guessing (see the scores). For reviews of your own, fine-tune it (`psitext "
            "finetune --init rac-tiny --config rac-tune`) or start a circuit from nothing (`psitext finetune "
            "--encoder rac`).",
            "Its words are 16,000 of books written before 1926 and of the embedded corpus: *film* is one of them, "
            "*movie* is not, and what it does not know it leaves out.",
            *OLD_BOOKS[-1:],
        ),
        headline=Headline("shipped/reviews", "rac-tiny", "toy-sentiment", "test", "accuracy"),
        queues=("shipped/reviews",),
    ),
    Ship(name="gpt2-tiny", verb="pretrain"),
    Ship(
        name="optimus-tiny",
        verb="pretrain",
        encoder="bert-tiny",
        decoder="gpt2-tiny",
        purpose="A sentence space of 32 dimensions: reconstruct, interpolate, sample, do arithmetic with sentences.",
        limits=(
            "It reads and writes small letters, and sentences of at most 14 words or so: what is longer, or of a kind "
            "that it has not read, comes back as something else of about its length.",
            *OLD_BOOKS,
        ),
        headline=Headline("shipped/sentences", "optimus-tiny", "generated", "test", "exact_match"),
        queues=("shipped/sentences",),
    ),
)


def ship(name: str) -> Ship:
    """A model of the plan by name. Errors: none of that name."""
    known = {one.name: one for one in SHIPS}
    if name not in known:
        raise UserError(f"no model of `make models` is called {name!r}{near(name, known) or '; ' + ', '.join(known)}")
    return known[name]
