"""``psitext compare``: read the table, say what is wrong with it at once, then train and judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from psitext.cli.options import Pair


def compare(
    data: Annotated[str, typer.Argument(help="A labelled table: CSV, TSV, JSONL, Parquet (.gz, .zst), hub:<name>.")],
    text: Annotated[str, typer.Option("--text", help="The column that holds the text.")] = "text",
    label: Annotated[str, typer.Option("--label", help="The column that holds the label.")] = "label",
    pair: Pair = None,
    dev: Annotated[
        str | None,
        typer.Option("--dev", help="A file to judge by, of the same columns; without one a fifth is held out."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="classification or regression; without it the label column tells."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="What decides: accuracy, macro_f1, f1, matthews; pearson, rmse ...")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=20, help="At most so many rows, drawn at random.")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help="A further model: a run, a folder, hf:<folder or hub id>; may be repeated."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this contender; may be repeated.", show_default="all")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="All but this contender; may be repeated.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="Trainings of every contender.", show_default="3")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.05, help="For all of it, shared out among trainings.", show_default="15"),
    ] = None,
    config: Annotated[
        str, typer.Option("--config", help="A preset of contenders: usual, or a TOML file (docs/comparing.md).")
    ] = "usual",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of it all.", show_default="runs/compare-<table>")
    ] = None,
) -> None:
    """Train and judge every family and the classical baselines on a table of your own; goes on where it was stopped.

    Example: psitext compare reviews.csv --text review --label sentiment
    """
    from psitext.cli import early, output
    from psitext.experiments.compare.rows import Columns, read_rows
    from psitext.experiments.compare.settings import chosen, read_preset

    preset = read_preset(config)
    contenders = chosen(preset, also or [], only or [], without or [])
    for name in also or []:
        early.model(name)
    columns = Columns(text, label, pair, cast("None", kind))
    with output.stopping(f"{data} was read"):
        rows = read_rows(data, columns, preset, dev=dev, metric=metric, limit=limit)
    from psitext.cli.terminal import rows_table, shown
    from psitext.experiments.compare import comparing
    from psitext.experiments.compare.starts import check_also

    folder = out or comparing.default_folder(rows)
    early.inside(folder, "report.html")

    def tell(sentence: str) -> None:
        typer.echo(sentence, err=True)

    for sentence in check_also(also or [], contenders):
        tell(sentence)
    found = comparing.compare_rows(
        rows,
        contenders,
        comparing.with_limits(preset, seeds, minutes),
        folder,
        without=without or [],
        show=shown,
        tell=tell,
    )
    rows_table(found.table())
    typer.echo(found.verdict.sentence)
    typer.echo(f"report: {found.report}")


COMMANDS = (compare,)
