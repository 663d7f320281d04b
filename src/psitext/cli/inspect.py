"""Verbs that look at things: report, doctor, tasks, recipes, models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psitext.cli.options import Out


def report(
    runs: Annotated[list[Path] | None, typer.Argument(help="Folders of runs.")] = None,
    results: Annotated[
        Path | None, typer.Option("--results", help="A folder of result lines (*.jsonl) for a results page.")
    ] = None,
    out: Out = None,
) -> None:
    """Write a self-contained HTML report of runs, or the Markdown results page of committed result lines.

    Example: psitext report runs/books runs/sst2 -o report.html
    """
    from psitext.cli import early
    from psitext.errors import UserError

    if bool(runs) == (results is not None):
        raise UserError(f"name folders of runs, or --results with a folder of result lines{', not both' * bool(runs)}")
    # The endings keep a report from taking the place of somebody's data.
    if results is not None:
        early.ending(out, (".md",), "results pages")
    else:
        early.ending(out, (".html", ".htm"), "reports of runs")
    out = out or (runs[0] / "report.html" if runs else Path("results.md"))
    early.output(out)
    from psitext.experiments.results import pages

    if results is not None:
        pages.write_results(results, out)
    elif runs:
        pages.write_runs(runs, out)
    typer.echo(f"report: {out}")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON array.")] = False,
) -> None:
    """Say what is installed, what of it works, and what is slow on this machine.

    It ends with 1 where something that is installed is too old or does not work, and with 0 otherwise: an extra that
    is missing or a slow disk is no fault.

    Example: psitext doctor
    """
    from psitext.cli.terminal import rows_table
    from psitext.experiments.doctor import findings

    found = findings()
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
    else:
        rows_table([{"what": one.what, "found": one.found, "advice": one.advice} for one in found])
    if any(one.broken for one in found):
        raise typer.Exit(1)


def tasks() -> None:
    """List the tasks by name, with their columns, labels and metrics.

    Example: psitext tasks
    """
    from psitext.cli.terminal import rows_table
    from psitext.text.tasks import TASKS

    rows_table(
        [
            {
                "task": task.name,
                "what": task.title,
                "kind": task.kind,
                "texts": task.text + (f", {task.pair}" if task.pair else ""),
                "labels": ", ".join(task.labels[:4]) + (" ..." if len(task.labels) > 4 else ""),
                "headline": task.headline,
                "splits": ", ".join(task.splits),
            }
            for task in TASKS.values()
        ]
    )


def recipes(
    name: Annotated[str | None, typer.Argument(help="One of them: its file is printed, as --config takes it.")] = None,
) -> None:
    """List the recipes that ship with psitext, or print one; --config takes their names.

    Example: psitext recipes rac > mine.toml
    """
    from psitext.config import read_recipe, recipe_names, recipe_text

    if name is not None:
        typer.echo(recipe_text(name), nl=False)
        return
    for name, path in recipe_names().items():
        first = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        typer.echo(f"{name:24} {read_recipe(name).get('verb', ''):10} {first}")


def models(
    name: Annotated[str | None, typer.Argument(help="One of them: its card is printed.")] = None,
) -> None:
    """List the models that come with psitext, or print the card of one; --model and --init take their names.

    Example: psitext models bert-tiny
    """
    from psitext.model import shipped

    if name is not None:
        typer.echo(shipped.card(name), nl=False)
        return
    found = shipped.entries()
    if not found:
        typer.echo("no model comes with this copy of psitext")
    for entry in found:
        size = f"{entry.parameters:,} parameters, {entry.bytes / 1e6:.1f} MB"
        what = "; ".join(part for part in (entry.family, size, entry.trained_on, entry.score) if part)
        typer.echo(f"{entry.name:14} {what}")


COMMANDS = (report, doctor, tasks, recipes, models)
