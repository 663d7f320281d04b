"""Verbs that write: ``psitext generate sample|reconstruct|interpolate|analogy|neighbours|traverse``."""

from __future__ import annotations

import typer

from psitext.cli.generate import moving, writing

app = typer.Typer(help="Write sentences from a model's latent space.", no_args_is_help=True)
for command in (*writing.COMMANDS, *moving.COMMANDS):
    app.command()(command)
