"""Options that the verbs of circuits share, and the file that two of them read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psitext.cli.options import MAX_INT

if TYPE_CHECKING:
    from psitext.quantum import HeadCircuit

MOST_SHOTS = 10_000_000  # of a circuit, of which there is one for every text: a reading takes a byte of memory
SOON_READ = 20_000  # lines of OpenQASM that take the parser some seconds

ModelArgument = Annotated[str, typer.Argument(help="A run or a model folder.")]
NoPad = Annotated[
    bool, typer.Option("--no-pad", help="Refuse a width that is no power of two, in place of padding it with zeros.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many texts, drawn by the seed.")]
Shots = Annotated[int | None, typer.Option("--shots", help="How often each circuit runs; without it, exact.")]
Noise = Annotated[
    str | None, typer.Option("--noise", help="depolarizing:0.001, the error of a CX; gates on one qubit have a tenth.")
]
ReadoutError = Annotated[float, typer.Option("--readout-error", help="How often a reading flips.")]
State = Annotated[str, typer.Option("--state", help="How kets are prepared: exact, or mps:4 (bond 4).")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=MAX_INT, help="Decides which texts, and the shots.")]


def looked(shots: int | None, noise: str | None, readout_error: float, *, mitigate: bool = False) -> None:
    """Refuse what can be refused of a machine before qiskit is loaded."""
    from psitext.errors import UserError

    if shots is None and (noise is not None or readout_error or mitigate):
        raise UserError("noise, backends and corrections show in counts; name the number of shots")
    if shots is not None and shots < 1:
        raise UserError(f"{shots} shots measure nothing; one at least is needed, and a thousand to see anything")
    if shots is not None and shots > MOST_SHOTS:
        raise UserError(f"--shots is at most {MOST_SHOTS:,} a text, not {shots:,}")
    if not 0 <= readout_error <= 0.5:
        raise UserError(f"a readout error probability lies between 0 and 0.5, not at {readout_error:g}")


def circuit_file(path: Path) -> HeadCircuit:
    """The head in a circuit file; how long it takes is said where it is long."""
    from psitext.quantum import read_qasm3

    try:
        lines = path.read_bytes().count(b"\n")
    except OSError:
        lines = 0  # what reads it says why it cannot be
    if lines > SOON_READ:
        typer.echo(f"{path}: {lines:,} lines of OpenQASM, which take a while to read", err=True)
    return read_qasm3(path)
