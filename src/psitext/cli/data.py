"""Verbs that list what there is: tasks, recipes."""

from __future__ import annotations

import typer


def tasks() -> None:
    """List the tasks by name, with their columns, labels and metrics.

    Example: psitext tasks
    """
    from psitext.cli.tables import rows_table
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
    from psitext.config import read_toml, recipe_names

    for name, path in recipe_names().items():
        first = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        typer.echo(f"{name:24} {read_toml(path).get('verb', ''):10} {first}")


COMMANDS = (tasks, recipes)
