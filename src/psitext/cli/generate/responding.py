"""Answers to a dialogue, from a run of responses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psitext.cli.generate import sentences
from psitext.cli.generate.options import (
    Beams,
    Drawn,
    MaxLen,
    Out,
    Seed,
    Temperature,
    TopP,
    decoding,
    how,
    positive,
)
from psitext.cli.options import DataDir, Settings


def respond(
    context: Annotated[list[str], typer.Argument(help="What two people said in turn; the last is answered.")],
    model: Annotated[str, typer.Option("--model", "-m", help="A run of responses.")],
    n: Annotated[int, typer.Option("--n", "-n", help="How many answers.")] = 1,
    style: Annotated[
        float,
        typer.Option("--style", help="How far towards the style that it was trained with, from 0 to 1."),
    ] = 0.0,
    spread: Annotated[
        float | None,
        typer.Option(
            "--spread",
            help="How far several answers are drawn from the likeliest one's latent.",
            show_default="as the method has it; 0 for one answer",
        ),
    ] = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:
    """Answer what was said last in a dialogue.

    Example: psitext generate respond "Where were you?" "At the library." "Until ten?" --model runs/dialog --n 3
    """
    from psitext.errors import UserError

    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    positive("--n", n)
    if not 0 <= style <= 1:
        raise UserError(f"--style is a share of the way, from 0 to 1, not {style:g}")
    if spread is not None and not 0 <= spread < float("inf"):
        raise UserError(f"--spread is 0 or more, not {spread:g}")
    if not all(one.strip() for one in context):
        raise UserError("an utterance of the context is empty; leave it out")
    sentences.looked(model, out)
    from psitext.experiments.dialog import load_responder

    found = load_responder(model)
    writing = how(found.space, given)
    answers = found.respond(context, n, style=style, spread=spread, seed=seed, writing=writing)
    if out is not None:
        sentences.kept([{"context": context, "answer": one} for one in answers], out)
        return
    typer.echo("\n".join(map(sentences.line, answers)))


def fit_responses(
    model: Annotated[str, typer.Option("--model", "-m", help="The sentence space that answers are written from.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", help="Files of dialogues; without any those of the recipe.")
    ] = None,
    dev: Annotated[list[str] | None, typer.Option("--dev", help="Files of dialogues to judge by.")] = None,
    style: Annotated[
        list[str] | None, typer.Option("--style", help="Text to be able to answer in the style of.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The run's folder.")] = None,
    config: Annotated[str, typer.Option("--config", help="A recipe, such as dailydialog.")] = "respond",
    data_dir: DataDir = None,
    settings: Settings = None,
) -> None:
    """Learn to answer: contexts of dialogues and their responses are fused into a sentence space.

    Example: psitext generate fit-responses --model runs/space --data dialogs.tsv --out runs/dialog
    """
    from psitext.cli import early

    early.model(model)
    early.recipe(config, settings or [])
    from psitext.cli.terminal import shown, tell_notes
    from psitext.experiments.dialog import respond as train

    with shown("responses") as hook:
        folder = train(
            model, data or (), dev=dev or (), style=style or (), data_dir=data_dir, out=out, config=config,
            settings=settings or [], hooks=[hook],
        )  # fmt: skip
    tell_notes(folder)
    typer.echo(f"run: {folder}")
    typer.echo(f'next: psitext generate respond "..." --model {folder}')


COMMANDS = (fit_responses, respond)
