"""Sentences as quantum states: ``psitext explain ket``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psitext.cli.circuit.options import NoPad
from psitext.cli.explain.options import Json
from psitext.cli.options import ModelName, Text

if TYPE_CHECKING:
    from psitext.explain.ket.portrait import Portrait

ENDINGS = (".json", ".csv", ".svg", ".png", ".html")
SHOWN = 12  # sentences whose matrix of fidelities is printed


def ket(
    sentences: Annotated[list[str], typer.Argument(help="Sentences, or files of them.")],
    model: ModelName,
    text: Text = None,
    bond: Annotated[
        int | None, typer.Option("--bond", help="Also what matrix-product states of this bond keep, and their gates.")
    ] = None,
    fidelity: Annotated[
        float, typer.Option("--fidelity", help="Look for the smallest bond that keeps this fidelity.")
    ] = 0.99,
    no_pad: NoPad = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it: a .json, .csv, .svg, .png or .html file.")
    ] = None,
    json: Json = False,
) -> None:
    """Show sentences as kets: entropy in bits at every cut between qubits, Schmidt rank, bond needed, fidelities.

    Any model will do, since any vector makes a ket; a width that is no power of two is padded with zeros. With --bond
    the gates of the preparation stand beside those of the exact one (needs psitext[quantum]).

    Example: psitext explain ket "a gripping film" "a dull film" --model runs/books --bond 4 -o kets.html
    """
    _looked(sentences, model, bond, fidelity, out)
    from psitext.cli.generate.sentences import read, tell_cut
    from psitext.cli.output import spoken
    from psitext.experiments.states import writing
    from psitext.explain.ket.portrait import portrait
    from psitext.model import load

    texts = read(sentences, column=text)[0]
    if bond is not None:
        from psitext.experiments.states import gates  # without qiskit it says what to install before models load
    found_model = load(model)
    found = portrait(found_model.encode(texts), fidelity, bond, pad=not no_pad)
    costs = None if bond is None else gates.cost_record(found.qubits, bond)
    if json:
        typer.echo(spoken(writing.record(found, texts, model, costs)))
    else:
        _tell(found, texts)
        if bond is not None:
            from psitext.cli.terminal import rows_table

            rows_table(gates.cost_rows(found.qubits, bond))
    tell_cut(found_model, texts)
    if out is not None:
        writing.write(out, found, texts, model, costs)
        typer.echo(f"written: {out}", err=json)


def _looked(sentences: list[str], model: str, bond: int | None, fidelity: float, out: Path | None) -> None:
    """Refuse what can be refused before torch is loaded."""
    from psitext.cli import early
    from psitext.errors import UserError

    early.ket(None, bond)
    if not 0 < fidelity <= 1:
        raise UserError(f"--fidelity is above 0 and at most 1, not {fidelity:g}")
    early.ending(out, ENDINGS, "kets")
    early.model(model)
    early.output(out, sentences, "sentences")


def _tell(found: Portrait, texts: list[str]) -> None:
    from psitext.cli.terminal import rows_table

    rows = [{name.removeprefix("bits, "): value for name, value in row.items()} for row in found.rows(texts)]
    numbered: list[dict[str, Any]] = [{"": str(place), **row} for place, row in enumerate(rows, 1)]
    rows_table(numbered)
    typer.echo(f"{found.says}; bits at a cut: of the qubits before it with the rest")
    random = ", ".join(f"{bits:.3f}" for bits in found.random_bits)
    typer.echo(f"random kets of the same width have {random} bits on average")
    if 1 < len(texts) <= SHOWN:
        columns = [str(place) for place in range(1, len(texts) + 1)]
        matrix = found.fidelities.tolist()
        rows_table([{"fidelity": place, **dict(zip(columns, row, strict=True))} for place, row in enumerate(matrix, 1)])


LOOKS = (ket,)
