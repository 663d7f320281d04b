"""Verbs that write: ``psitext generate sample``, ``reconstruct``, ``interpolate`` and so on; ``--help`` lists them."""

from __future__ import annotations

import typer

from psitext.cli.generate import labels, moving, responding, writing
from psitext.cli.options import Once

app = typer.Typer(help="Write sentences from a model's latent space.", no_args_is_help=True)
app.callback(invoke_without_command=True)(labels.by_option)
for command in (*writing.COMMANDS, *moving.COMMANDS, *labels.COMMANDS, *responding.COMMANDS):
    app.command(cls=Once)(command)
