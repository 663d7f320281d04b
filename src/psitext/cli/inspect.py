"""Verbs that look at things: report, doctor, tasks, recipes."""

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
    from psitext.experiments.results import pages

    if results is not None:
        out = out or Path("results.md")
        pages.write_results(results, out)
    elif runs:
        out = out or (runs[0] / "report.html")
        pages.write_runs(runs, out)
    typer.echo(f"report: {out}")


def doctor() -> None:
    """Say what is installed, what this machine can do, and what would be slow.

    Example: psitext doctor
    """
    from psitext.cli.terminal import rows_table
    from psitext.experiments.doctor import findings

    rows_table([{"what": f.what, "found": f.found, "advice": f.advice} for f in findings()])


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


def recipes() -> None:
    """List the recipes that ship with psitext; --config takes their names.

    Example: psitext recipes
    """
    from psitext.config import read_recipe, recipe_names

    for name, path in recipe_names().items():
        first = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        typer.echo(f"{name:24} {read_recipe(name).get('verb', ''):10} {first}")


COMMANDS = (report, doctor, tasks, recipes)
