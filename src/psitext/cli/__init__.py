"""The command line: parse, load a recipe, call one function, print where the results went.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from psitext.cli import inspect, papers, train, use
from psitext.errors import UserError

app = typer.Typer(
    name="psitext",
    help="Sentences as states: pre-train, fine-tune, evaluate, explain and use BERT-like encoders on your own text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (papers, train, use, inspect):
    for command in group.COMMANDS:
        app.command()(command)
app.add_typer(inspect.explain, name="explain")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; a user's mistake is one sentence on standard error and exit code 2."""
    try:
        app(args=list(arguments) if arguments is not None else None, standalone_mode=True)
    except UserError as error:
        print(f"psitext: {error}", file=sys.stderr)
        sys.exit(130 if type(error).__name__ == "Stopped" else 2)
    except KeyboardInterrupt:
        print("psitext: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # `psitext ... | head` closed the pipe; nothing more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
