"""Verbs that look into a model: ``psitext explain similarity|entanglement|text|ket``, and ``psitext compress``."""

from __future__ import annotations

import typer

from psitext.cli.explain import chain, kets, words
from psitext.cli.options import Once

app = typer.Typer(help="Look into a model.", no_args_is_help=True)
for command in (*words.LOOKS, *chain.LOOKS, *kets.LOOKS):
    app.command(cls=Once)(command)
