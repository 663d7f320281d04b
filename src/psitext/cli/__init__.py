"""The command line: parse, load a recipe, call one function, print where the results went.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once; and what can be refused by names
and first lines alone (``early``) is refused before torch is loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from psitext import __version__
from psitext.cli import inspect, papers, train, use
from psitext.errors import UserError, near

USAGE: type[Exception] = typer.BadParameter.__bases__[
    0
]  # a mistake in the command itself, wherever this typer keeps the class

app = typer.Typer(
    name="psitext",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (papers, train, use, inspect):
    for command in group.COMMANDS:
        app.command()(command)
app.add_typer(inspect.explain, name="explain")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"psitext {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Sentences as states: pre-train, fine-tune, evaluate, explain and use BERT-like encoders on your own text."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; a user's mistake is one sentence on standard error and exit code 2."""
    if os.environ.get("RANK", "0") != "0":  # of several processes the main one speaks; errors are heard from all
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it lasts as long as the process
    try:
        code = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except UserError as error:
        _fail(str(error), getattr(error, "exit_code", 2))
    except USAGE as error:
        _fail(_usage(error), 2)
    except BrokenPipeError:  # `psitext ... | head` closed the pipe; nothing more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # what no part of psitext foresaw is still no reason for a traceback
        _fail(f"{error.filename or 'the system'}: {(error.strerror or str(error)).lower()}", 2)
    if code == 130:  # how typer reports Ctrl-C
        _fail("interrupted", 130)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Exception) -> str:
    """The parser's complaint as one sentence in our form; empty when it has printed the help instead."""
    message = str(getattr(error, "message", "") or error)
    context = getattr(error, "ctx", None)
    if message.startswith("No such command") and context is not None:
        name = message.split("'")[1]
        known = context.command.list_commands(context)
        return f"no command called {name!r}{near(name, known) or ';'} `{context.command_path} --help` lists them."
    message = error.format_message().strip().rstrip(".") if hasattr(error, "format_message") else message
    if not message or context is None or type(error).__name__ == "NoArgsIsHelpError":
        return ""
    return f"{message[0].lower()}{message[1:]}; see `{context.command_path} --help`"


def _fail(sentence: str, code: int) -> NoReturn:
    if sentence:
        print(f"psitext: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(code)
