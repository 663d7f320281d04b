"""The command line: parse, load a recipe, call one function, print where the results went.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once; and what can be refused by names
and first lines alone (``early``) is refused before torch is loaded.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn, TextIO

import typer

from psitext import __version__, interrupts
from psitext.cli import circuit, compare, explain, export, generate, inspect, papers, studio, train, use
from psitext.cli.options import Once
from psitext.errors import UserError, near

USAGE: type[Exception] = typer.BadParameter.__bases__[
    0
]  # a mistake in the command itself, wherever this typer keeps the class

INTERRUPTED = 130  # the exit code of Ctrl-C

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
    with interrupts.heard() as interrupted:
        try:
            code = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
            if stream is not None:
                stream.flush()
        except (Exception, SystemExit) as error:
            if not interrupted() or getattr(error, "exit_code", None) == INTERRUPTED:  # which says more of it
                _end(error, stream, file)
            code = INTERRUPTED
    if code == INTERRUPTED:  # how typer reports Ctrl-C, too
        _fail("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _end(error: BaseException, stream: TextIO | None, file: tuple[int, int] | None) -> NoReturn:
    """End with what an error says, in one sentence; one that nobody foresaw is raised."""
    if isinstance(error, UserError):
        _fail(str(error), getattr(error, "exit_code", 2))
    if isinstance(error, USAGE):
        _fail(_usage(error), 2)
    if isinstance(error, BrokenPipeError | SystemExit):  # typer and rich make the latter of the former
        # rich has put the null device in the place of a broken pipe
        if _file(stream) == file and not isinstance(_refused(stream), BrokenPipeError):
            _fail("a pipe to another process broke", 1)
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0)  # `psitext ... | head` has read what it wanted
    if isinstance(error, OSError):  # what no part of psitext foresaw is still no reason for a traceback
        full = error.filename is None and error.errno == errno.ENOSPC and _refused(stream) is not None
        where = "standard output" if full else error.filename or "the system"
        _fail(f"{where}: {(error.strerror or str(error)).lower()}", 2)
    raise error


def _file(stream: TextIO | None) -> tuple[int, int] | None:
    """Which file or pipe a stream goes to."""
    try:
        found = os.fstat(stream.fileno()) if stream is not None else None
    except (OSError, ValueError):
        return None
    return found and (found.st_dev, found.st_ino)


def _refused(stream: TextIO | None) -> OSError | None:
    """Why nothing can be printed, which only printing tells: whoever read it has gone, or the disk is full."""
    try:
        print(file=stream, flush=True)
    except OSError as error:
        return error
    return None


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
