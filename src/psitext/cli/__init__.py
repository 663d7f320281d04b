"""The command line: parse, load a recipe, call one function, print where the results went.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once; and what can be refused by names
and first lines alone (``early``) is refused before torch is loaded.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn, TextIO

import typer

from psitext import __version__
from psitext.cli import circuit, compare, explain, export, generate, inspect, papers, studio, train, use
from psitext.cli.options import Once
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


for group in (papers, train, use, export, compare, explain.chain, inspect, studio):
    for command in group.COMMANDS:
        app.command(cls=Once)(command)
app.add_typer(explain.app, name="explain")
app.add_typer(circuit.app, name="circuit")
app.add_typer(generate.app, name="generate")


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
    stream = sys.stdout
    if hasattr(stream, "reconfigure"):  # a sign that the terminal's encoding lacks is written as its number
        stream.reconfigure(errors="backslashreplace")
    file = _file(stream)
    try:
        code = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
        if stream is not None:
            stream.flush()
    except UserError as error:
        _fail(str(error), getattr(error, "exit_code", 2))
    except USAGE as error:
        _fail(_usage(error), 2)
    except (BrokenPipeError, SystemExit):  # typer and rich make the latter of the former
        if _file(stream) == file and _is_heard(stream):  # rich has put the null device in the place of a broken pipe
            _fail("a pipe to another process broke", 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0)  # `psitext ... | head` has read what it wanted
    except OSError as error:  # what no part of psitext foresaw is still no reason for a traceback
        _fail(f"{error.filename or 'the system'}: {(error.strerror or str(error)).lower()}", 2)
    if code == 130:  # how typer reports Ctrl-C
        _fail("interrupted", 130)
    sys.exit(code if isinstance(code, int) else 0)


def _file(stream: TextIO | None) -> tuple[int, int] | None:
    """Which file or pipe a stream goes to."""
    try:
        found = os.fstat(stream.fileno()) if stream is not None else None
    except (OSError, ValueError):
        return None
    return found and (found.st_dev, found.st_ino)


def _is_heard(stream: TextIO | None) -> bool:
    """False when whoever read our output has gone, which only writing to it tells."""
    try:
        print(file=stream, flush=True)
    except BrokenPipeError:
        return False
    return True


def _usage(error: Exception) -> str:
    """The parser's complaint as one sentence in our form; empty when it has printed the help instead."""
    message = str(getattr(error, "message", "") or error)
    context = getattr(error, "ctx", None)
    if message.startswith("No such command") and context is not None:
        name = message.split("'")[1]
        known = context.command.list_commands(context)
        return f"no command called {name!r}{near(name, known) or ';'} `{context.command_path} --help` lists them."
    message = error.format_message().strip().rstrip(".") if hasattr(error, "format_message") else message
    if not message or type(error).__name__ == "NoArgsIsHelpError":
        return ""
    message = re.sub(r"^Option '(\S+)' requires an argument$", r"option \1 needs a value", message)
    told = f"{message[0].lower()}{message[1:]}"
    # Of an option without its value the parser does not say which command it was for.
    return told if context is None else f"{told}; see `{context.command_path} --help`"


def _fail(sentence: str, code: int) -> NoReturn:
    if sentence:
        print(f"psitext: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(code)
