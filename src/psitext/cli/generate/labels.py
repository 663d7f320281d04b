"""Sentences with a label that is asked for: what learns the labels, and what writes by them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psitext.cli.generate import sentences
from psitext.cli.generate.options import (
    MOST_SENTENCES,
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
from psitext.cli.options import DataDir, Label, ModelName, Text

POSTERIORS = ("samples", "means")  # a test compares these with what there is

Space = Annotated[
    str | None, typer.Option("--space", help="The model that the labels belong to, where it lies elsewhere by now.")
]
Count = Annotated[int, typer.Option("--n", "-n", help="How many sentences of each label.")]
Scale = Annotated[
    float,
    typer.Option("--scale", help="Of the noise: below 1 sentences are plainer and more alike, above 1 bolder."),
]
Labelled = Annotated[str, typer.Option("--model", "-m", help="What `psitext generate fit` made.")]


def fit(
    model: ModelName,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for what was learnt.")],
    data: Annotated[str | None, typer.Option("--data", help="A file of sentences with labels.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="A task in place of a file: its training split.")] = None,
    text: Text = None,
    label: Label = None,
    data_dir: DataDir = None,
    limit: Annotated[int, typer.Option("--limit", help="Sentences at most, drawn by a key.")] = 20_000,
    steps: Annotated[int | None, typer.Option("--steps", help="Of the training.", show_default="3000")] = None,
    posterior: Annotated[
        str, typer.Option("--posterior", help="What is learnt: samples of every sentence's posterior, or its means.")
    ] = "samples",
    clarity: Annotated[
        float,
        typer.Option("--clarity", help="How plain the label is to be; at 0 it is as plain as in the sentences given."),
    ] = 5.0,
    seed: Seed = 0,
) -> None:
    """Learn to write by label: a small generator of latents, the space itself unchanged.

    Example: psitext generate fit --model runs/space --data reviews.csv --text sentence --label sentiment -o runs/mood
    """
    from psitext.cli import early
    from psitext.errors import UserError

    if (data is None) == (task is None):
        raise UserError("the labels are those of a file (--data) or of a task (--task); give one of them")
    if task is not None and (text is not None or label is not None):
        raise UserError("--text and --label name columns of a file of your own (--data); a task says them itself")
    early.choice("--posterior", posterior, POSTERIORS)
    positive("--limit", limit)
    positive("--steps", steps)
    if not 0 <= clarity < float("inf"):
        raise UserError(f"--clarity is 0 or above, not {clarity:g}")
    early.model(model)
    early.folder(out)
    from psitext.cli.terminal import rows_table, shown
    from psitext.experiments import control
    from psitext.experiments.control import fitting
    from psitext.experiments.control.data import labelled
    from psitext.experiments.control.folder import check_place
    from psitext.model import load
    from psitext.train.adversarial import GanConfig

    check_place(out)
    given = labelled(data, task, text or "text", label or "label", data_dir, limit)
    tree = {"posterior": posterior, "clarity": clarity, "seed": seed, **({} if steps is None else {"steps": steps})}
    for note in given.notes:
        typer.echo(f"{task or data}: {note}", err=True)
    with shown("generate fit") as hook:
        config = GanConfig.model_validate(tree)
        found = control.fit(load(model), given.examples, given.labels, config, fitting.events(hook))
    control.save(found, out, model)
    rows_table(
        [
            {"label": name, "sentences": found.facts["sentences"][name], "spread": f"{like.spread:.2f}",
             "directions": f"{like.directions:.2f}", "off": f"{like.off:.2f}"}
            for name, like in zip(given.labels, found.likeness, strict=True)
        ]
    )  # fmt: skip
    for warning in found.warnings():
        typer.echo(warning, err=True)
    typer.echo(f"labels: {out}\nnext: psitext generate label {given.labels[0]} --model {out}")


def label(
    labels: Annotated[list[str], typer.Argument(help="One label or several.")],
    model: Labelled,
    n: Count = 10,
    scale: Scale = 1.0,
    space: Space = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:
    """Write sentences that have a label.

    Example: psitext generate label positive negative --model runs/mood -n 20
    """
    from psitext.cli import early
    from psitext.errors import UserError

    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    positive("--n", n, MOST_SENTENCES)
    if not 0 <= scale < float("inf"):
        raise UserError(f"--scale is 0 or above, not {scale:g}")
    sentences.looked(model, out)
    if space is not None:
        early.model(space)
    from psitext.experiments import control
    from psitext.experiments.control.control import number_of
    from psitext.experiments.control.folder import read

    known = read(Path(model)).labels
    for name in labels:
        number_of(name, known)  # before the model is loaded
    found = control.load(Path(model), space)
    ways = how(found.model, given)
    written = {name: found.write(name, n, ways, seed=seed, scale=scale) for name in labels}
    lines = [
        {"label": name, "number": number, "text": one}
        for name, texts in written.items()
        for number, one in enumerate(texts, 1)
    ]
    if out is not None:
        sentences.kept(lines, out)
        return
    for line in lines:
        one = " ".join(str(line["text"]).split())  # what a model writes may hold line ends
        typer.echo(sentences.line(one) if len(labels) == 1 else f"{line['label']}\t{sentences.line(one)}")


def by_option(
    context: typer.Context,
    asked: Annotated[
        list[str] | None, typer.Option("--label", help="Write sentences with this label; may be repeated.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Goes with --label: what `psitext generate fit` made.")
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", help="Goes with --label: how many sentences.")] = 10,
) -> None:
    """Write sentences from a model's latent space."""
    from psitext.errors import UserError

    if context.invoked_subcommand is not None:
        if asked or model is not None:
            raise UserError(f"options of `psitext generate {context.invoked_subcommand}` stand behind its name")
        return
    if not asked or model is None:
        raise UserError(
            "psitext generate takes --label and --model together (what `psitext generate fit` made), or a verb; "
            "`psitext generate --help` lists them"
        )
    label(labels=asked, model=model, n=n)


COMMANDS = (fit, label)
