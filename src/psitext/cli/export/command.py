"""``psitext export``: what is asked for, refused where it can be before anything is loaded, and written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from psitext.cli.circuit.look import export as circuit_file
from psitext.cli.explain.options import Closing, LabelName, Law, Length, Metric, looked, texts_of
from psitext.cli.options import Out

# What is checked before the modules that know it are loaded; a test compares them.
FOLDERS = ("hf", "onnx")
CIRCUITS = ("qasm3", "qpy", "pennylane")  # what `psitext circuit export` writes, behind this door too
TENSORS = ("numpy", "quimb", "tenpy", "tensorkrowch")


def export(
    folder: Annotated[str | None, typer.Argument(metavar="MODEL", help="The model; or name it with --model.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="A run, a model folder, a name of `psitext models`, or hf:<folder or hub id>."
        ),
    ] = None,
    out: Out = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="hf: a folder that transformers loads. onnx: a folder with the encoder (and its head) as an ONNX file "
            "and the tokenizer. qasm3, qpy, pennylane: a measurement head as a circuit file. numpy, quimb, tenpy, "
            "tensorkrowch: a recurrent circuit, or with --text the ket of a sentence of any model, as a matrix product "
            "state: an .npz of arrays, and the lines of Python that make that library's object of it (their own files "
            "are pickles, which psitext never writes).",
        ),
    ] = "hf",
    length: Length = None,
    closing: Closing = "readout",
    metric: Metric = "paper",
    label: LabelName = None,
    law: Law = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            help="A text: its ket is written as a matrix product state, or comes first in a circuit file. With --law "
            "the column of that file that holds the text.",
        ),
    ] = None,
    bond: Annotated[
        int | None, typer.Option("--bond", help="Of the ket of --text: the largest bond.", show_default="exact")
    ] = None,
) -> None:
    """Write a model in another library's form.

    --length to --law are for a circuit's matrix product state, as in `psitext explain entanglement`.

    Example: psitext export --model runs/sst2 --to hf -o sst2-hf
    Example: psitext export runs/sst2 --to onnx -o sst2-onnx
    Example: psitext export runs/rac --to quimb -o rac.npz
    Example: psitext export runs/books --to quimb --text "a gripping film" --bond 8 -o film.npz
    """
    from psitext.errors import UserError

    name = _named(folder, model)
    if out is None:
        wanted = "a folder" if to in FOLDERS else "a file" if to in CIRCUITS else "an .npz file"
        raise UserError(f"name {wanted} with -o")
    ket = text is not None and law is None and to in TENSORS
    if bond is not None and not ket:
        raise UserError("--bond is that of a sentence's ket: give the sentence with --text, and --to numpy, quimb ...")
    if ket or to not in TENSORS:
        what = "the ket of a text" if ket else to
        if (length, closing, metric, label, law) != (None, "readout", "paper", None, None):
            raise UserError(
                f"--length, --closing, --metric, --label and --law are for matrix product states of models, not {what}"
            )
    if to in CIRCUITS:
        circuit_file(name, out, to, text)
    elif to in TENSORS:
        _tensors(name, out, to, length, closing, metric, label, law, text, bond)
    else:
        _folder(name, out, to, text)


def _folder(name: str, out: Path, to: str, text: str | None) -> None:
    """A folder of another library."""
    from psitext.cli import early
    from psitext.errors import UserError, near

    if to not in FOLDERS:
        known = (*FOLDERS, *CIRCUITS, *TENSORS)
        raise UserError(f"cannot export to {to!r}{near(to, known) or '; there is: ' + ', '.join(known)}")
    if text is not None:
        raise UserError(f"--text is for circuit files and matrix product states, not {to}")
    early.model(name)
    early.folder(out)
    from psitext.experiments.export import EXPORTS, PLACES
    from psitext.model import load

    PLACES[to](out)
    told = EXPORTS[to](load(name), out)
    typer.echo(f"written: {out}" + (f"\n{told}" if told else ""))


def _tensors(
    name: str,
    out: Path,
    to: str,
    length: int | None,
    closing: str,
    metric: str,
    label: str | None,
    law: Path | None,
    text: str | None,
    bond: int | None,
) -> None:
    """Arrays of a circuit's state, or of a sentence's ket; and the lines that read them."""
    from psitext.cli import early

    early.ending(out, (".npz",), "matrix product states")
    looked(name, None, law, None if law is None else text, closing=closing, metric=metric)
    early.output(out)
    if text is not None and law is None:
        early.ket(text, bond)
        from psitext.cli.generate.sentences import tell_cut
        from psitext.experiments.export import write_ket
        from psitext.model import load

        found = load(name)
        says, lines = write_ket(found, text, to, out, bond)
        typer.echo(f"written: {out}\n{says}\n{lines}", nl=False)
        tell_cut(found, [text])
        return
    from psitext.experiments.export import write_tensors
    from psitext.model import load
    from psitext.model.mps.reading import Closing as Closed
    from psitext.model.mps.reading import Metric as Measured

    found = load(name)
    state = found.to_mps(
        length, cast("Closed", closing), cast("Measured", metric), label=label, texts=texts_of(law, text)
    )
    typer.echo(f"written: {out}\n{write_tensors(found, state, to, out)}", nl=False)


def _named(folder: str | None, model: str | None) -> str:
    """The model that is named either way."""
    from psitext.errors import UserError

    if (folder is None) == (model is None):
        raise UserError("name one model, as the argument or with --model" + ("" if folder is None else ", not twice"))
    return folder if folder is not None else model or ""


COMMANDS = (export,)
