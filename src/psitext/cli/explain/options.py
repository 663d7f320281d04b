"""Options that the verbs of matrix product states share, and how texts for a law of words are read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLOSINGS = ("readout", "ones")  # a test compares these with what the model knows
METRICS = ("paper", "data")
BASELINES = ("mean", "zero", "pad")

CircuitArgument = Annotated[str, typer.Argument(help="A run or model folder of a recurrent arithmetic circuit.")]
LONGEST = 100_000  # words of a chain: a side of each cut is kept, D^2 numbers
LONG, SHORT = 2_000, 50  # words from which on it is said how long a chain takes, and of one that is quickly done
PATIENCE = 10  # seconds for which nothing need be said
Length = Annotated[
    int | None,
    typer.Option(
        "--length", max=LONGEST, help="T, the words of the chain.", show_default="50, or as many as the model reads"
    ),
]
Closing = Annotated[
    str,
    typer.Option("--closing", help="readout: the chain is the logit (of two classes the log-odds); ones: the paper's."),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric", help="paper: of the weights as they stand; data: under the law of the words, whatever their scale."
    ),
]
MetricOrBest = Annotated[
    str | None, typer.Option("--metric", help="paper or data.", show_default="data where the law of words is known")
]
LabelName = Annotated[
    str | None, typer.Option("--label", help="Whose logit the chain is, where there are more than two classes.")
]
Law = Annotated[
    Path | None,
    typer.Option("--law", help="A file of texts whose words make the law, in place of those of the training."),
]
LawText = Annotated[str | None, typer.Option("--text", help="The column of that file that holds the text.")]
Figure = Annotated[Path | None, typer.Option("--figure", help="Draw it: a .svg or .png file.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")]


def texts_of(law: Path | None, text: str | None) -> list[str] | None:
    """The texts that are to make the law. Errors: a column without a file; what ``load_like`` refuses."""
    from psitext.errors import UserError

    if law is None:
        if text is not None:
            raise UserError("--text names a column of the file of --law; name that file, too")
        return None
    from psitext.model import PLAIN
    from psitext.text.tasks import load_like

    columns = {} if text is None else {"text": text}
    return [example.text for example in load_like(law, PLAIN.model_copy(update=columns), labelled=False)]


def looked(
    model: str, figure: Path | None = None, law: Path | None = None, text: str | None = None, **chosen: Any
) -> None:
    """Refuse what can be refused before torch is loaded."""
    from psitext.cli import early

    choices: dict[str, Sequence[str]] = {"closing": CLOSINGS, "metric": METRICS, "baseline": BASELINES}
    for name, value in chosen.items():
        early.choice(f"--{name}", value, choices[name])
    early.ending(figure, (".svg", ".png"), "figures")
    early.output(figure, (law,), option="--figure")
    if law is not None:
        early.table(str(law), text, None)
    early.model(model)


def told_long(length: int | None, work: Callable[[int], object], instead: str) -> None:
    """Say how long a long chain takes, by the time that ``work`` takes of short ones, and what would do instead."""
    if length is None or length < LONG:
        return
    work(SHORT)  # the first time loads what it needs
    began = time.monotonic()
    work(2 * SHORT)
    seconds = (time.monotonic() - began) * length / (2 * SHORT)
    if seconds > PATIENCE:
        about = f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
        typer.echo(f"{length:,} words take about {about} here; {instead}", err=True)


def drawn(figure: Path, json: bool) -> None:
    """Say where the figure is, beside JSON on standard error."""
    typer.echo(f"figure: {figure}", err=json)
