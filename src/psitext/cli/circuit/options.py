"""Options that the verbs of circuits share."""

from __future__ import annotations

from typing import Annotated

import typer

ModelArgument = Annotated[str, typer.Argument(help="A run or a model folder.")]
NoPad = Annotated[
    bool, typer.Option("--no-pad", help="Refuse a width that is no power of two, in place of padding it with zeros.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many texts, drawn by the seed.")]
Shots = Annotated[int | None, typer.Option("--shots", help="How often each circuit runs; without it, exact.")]
Noise = Annotated[
    str | None, typer.Option("--noise", help="depolarizing:0.001, the error of a CX; gates on one qubit have a tenth.")
]
ReadoutError = Annotated[float, typer.Option("--readout-error", help="How often a reading flips.")]
State = Annotated[str, typer.Option("--state", help="How kets are prepared: exact, or mps:4 (bond 4).")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides which texts, and the shots.")]
