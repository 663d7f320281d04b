"""What a head is as a circuit: its cost, and its forms as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psitext.cli.circuit.options import ModelArgument, NoPad, circuit_file
from psitext.cli.options import Out

if TYPE_CHECKING:
    from psitext.quantum import HeadCircuit
    from psitext.quantum.gates import Complex

CIRCUIT_FILE = ".qasm"
ENDINGS = {  # by which a file is known again
    "qasm3": ((CIRCUIT_FILE,), "circuits in OpenQASM 3"),
    "qpy": ((".qpy",), "circuits in QPY"),
    "pennylane": ((".py",), "PennyLane scripts"),
}
Sentence = Annotated[str | None, typer.Option("--text", help="A text whose ket is prepared before the head.")]


def cost(
    model: Annotated[str, typer.Argument(help="A run, a model folder, or a circuit file (.qasm).")],
    bond: Annotated[
        int, typer.Option("--state-bond", help="Bond of the matrix-product state that kets are approximated by.")
    ] = 4,
    logit_error: Annotated[float, typer.Option("--logit-error", help="How exact logits are to be.")] = 0.05,
    text: Sentence = None,
    no_pad: NoPad = False,
) -> None:
    """Say what a head costs before anything runs: qubits, two-qubit gates, depth, shots.

    Example: psitext circuit cost runs/sst2-q --text "a gripping, funny film"
    """
    _looked(model, text)
    head, ket = _read(model, text, no_pad)
    from psitext.cli.terminal import rows_table
    from psitext.quantum import cost as cost_of

    rows_table(cost_of(head, ket, bond=bond, logit_error=logit_error).rows())


def export(
    model: ModelArgument,
    out: Out = None,
    to: Annotated[
        str, typer.Option("--to", help="qasm3, qpy (keeps a matrix as it is), or pennylane (a script).")
    ] = "qasm3",
    text: Sentence = None,
    no_pad: NoPad = False,
) -> None:
    """Write a head as a circuit file, alone or behind the ket of a text.

    Example: psitext circuit export runs/sst2-q --to qasm3 -o head.qasm
    """
    from psitext.cli import early
    from psitext.errors import UserError

    if out is None:
        raise UserError("name a file with -o")
    early.output(out, (model,), "circuits")
    if to in ENDINGS:
        early.ending(out, *ENDINGS[to])
    if to == "pennylane":
        early.output(out.with_suffix(".npz"))
    _looked(model, text)
    from psitext.quantum.export import writer

    write = writer(to)
    head, ket = _read(model, text, no_pad)
    size = _large(head) if to == "qasm3" else 0
    if size:
        typer.echo(f"{size:,} gates, a line each: this takes minutes; --to qpy keeps the matrix", err=True)
    write(head, None if ket is None else ket[0], text, out)
    typer.echo(f"written: {out}")


def _looked(model: str, text: str | None) -> None:
    """Refuse what can be refused before torch is loaded."""
    from psitext.cli import early
    from psitext.errors import UserError

    if text is not None and model.endswith(CIRCUIT_FILE):
        raise UserError("a circuit file cannot read a text; give --text with the model that it was made of")
    early.ket(text)
    if not model.endswith(CIRCUIT_FILE):
        early.model(model)


def _read(model: str, text: str | None, no_pad: bool) -> tuple[HeadCircuit, Complex | None]:
    """The head of a model or circuit file, and the ket of a text."""
    if model.endswith(CIRCUIT_FILE):
        return circuit_file(Path(model)), None
    from psitext.cli.generate.sentences import tell_cut
    from psitext.model import load
    from psitext.nn.kets.qubits import check_width
    from psitext.quantum import from_model

    found = load(model)
    head = from_model(found)
    check_width(head.width, pad=not no_pad)
    if text is None:
        return head, None
    tell_cut(found, [text])
    return head, head.kets(found.encode([text]))


def _large(head: HeadCircuit) -> int:
    """Gates of a head that takes minutes to write, else 0."""
    from psitext.quantum.costs import head_counts

    counts = head_counts(head)
    return counts.one_qubit + counts.two_qubit if counts.by_formula else 0


COMMANDS = (cost, export)
