"""Verbs of quantum circuits: ``psitext circuit cost|export|run|train``."""

from __future__ import annotations

import typer

from psitext.cli.circuit import look, work
from psitext.cli.options import Once

app = typer.Typer(help="Run a model's measurement head as a quantum circuit.", no_args_is_help=True)
for command in (*look.COMMANDS, *work.COMMANDS):
    app.command(cls=Once)(command)
