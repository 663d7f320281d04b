"""Options that the verbs of ``psitext generate`` share, and what can be refused of them before torch is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psitext.cli.options import MAX_INT

if TYPE_CHECKING:
    from psitext.heads.decoding import Writing
    from psitext.model import Model

PRIORS, FITTED = ("normal", "gaussian", "mixture"), ("gaussian", "mixture")  # a test compares these with what there is
COVARIANCES = ("full", "diagonal")
COURSES = ("linear", "spherical")
DISTANCES = ("cosine", "euclidean", "kl")
LINES = (".jsonl",)
MOST_SENTENCES, MOST_STEPS, MOST_BEAMS = 1_000_000, 10_000, 100  # beams are all held at once

Column = Annotated[str | None, typer.Option("--text", help="The column of a file that holds the sentence.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write JSON lines to this file.")]
Beams = Annotated[int, typer.Option("--beams", help="Search with so many beams; 1 is greedy.")]
Drawn = Annotated[bool, typer.Option("--sample", help="Draw words, in place of the most probable ones.")]
Temperature = Annotated[
    float | None, typer.Option("--temperature", help="Draw words at this temperature; goes with --sample.")
]
TopP = Annotated[
    float | None,
    typer.Option("--top-p", help="Draw from the most probable words that have this share; goes with --sample."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=MAX_INT, help="Decides what is drawn.")]
MaxLen = Annotated[
    int | None,
    typer.Option(
        "--max-len",
        help="Tokens of a sentence at most, its end included.",
        show_default="64, or as many as the model writes",
    ),
]


def decoding(
    beams: int, drawn: bool, temperature: float | None, top_p: float | None, seed: int, max_len: int | None
) -> dict[str, Any]:
    """What the options say of how to write. Errors: what no way of writing can be."""
    from psitext.errors import UserError

    positive("--beams", beams, MOST_BEAMS)
    positive("--max-len", max_len)
    drawn = drawn or temperature is not None or top_p is not None
    if drawn and beams > 1:
        raise UserError("sentences are drawn (--sample) or searched for (--beams), not both; leave one of them out")
    if temperature is not None and not temperature > 0:
        raise UserError(f"a temperature is above 0, not {temperature:g}; without --sample the best words are taken")
    if top_p is not None and not 0 < top_p <= 1:
        raise UserError(f"--top-p is a share, above 0 and at most 1, not {top_p:g}")
    given = {"beams": beams, "sample": drawn, "temperature": temperature, "top_p": top_p, "seed": seed}
    return {key: value for key, value in {**given, "max_len": max_len}.items() if value is not None}


def positive(option: str, value: int | None, most: int = MAX_INT) -> None:
    """Refuse 0 and less of what is counted, and what no machine would come to the end of."""
    from psitext.errors import UserError

    if value is not None and value < 1:
        raise UserError(f"{option} is at least 1, not {value}")
    if value is not None and value > most:
        raise UserError(f"{option} is at most {most:,}, not {value:,}")


def how(model: Model, given: Mapping[str, Any]) -> Writing:
    """The way to write that the options ask of this model. Errors: longer sentences than it can write."""
    from psitext.errors import UserError
    from psitext.model.writing import decoder_of, usual

    positions = decoder_of(model).config.max_len
    if given.get("max_len", 1) >= positions:
        raise UserError(f"--max-len is at most {positions - 1}: the decoder has {positions} positions")
    return replace(usual(model), **given)
