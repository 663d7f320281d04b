"""A circuit as a whole: the entanglement of its matrix product state, and a smaller one in its place."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from psitext.cli.explain.options import (
    LONGEST,
    CircuitArgument,
    Closing,
    Figure,
    Json,
    LabelName,
    Law,
    LawText,
    Length,
    Metric,
    MetricOrBest,
    drawn,
    looked,
    texts_of,
    told_long,
)
from psitext.cli.options import DataDir, Out, columns_given

if TYPE_CHECKING:
    from psitext.model.mps import Mps

INSTEAD = "the limit of a chain without ends, which any --length shows, is mostly enough (Ctrl-C stops this)"


def entanglement(
    model: CircuitArgument,
    length: Length = None,
    closing: Closing = "readout",
    metric: Metric = "paper",
    label: LabelName = None,
    law: Law = None,
    text: LawText = None,
    figure: Figure = None,
    json: Json = False,
) -> None:
    """Show a circuit's entanglement: bits at every cut, the Schmidt spectrum in the middle, rank, correlation length.

    Example: psitext explain entanglement runs/rac --metric data --figure entanglement.svg
    """
    looked(model, figure, law, text, closing=closing, metric=metric)
    from psitext.cli.output import spoken
    from psitext.model import load

    loaded, texts = load(model), texts_of(law, text)

    def state(words: int | None) -> Mps:
        return loaded.to_mps(words, cast("Any", closing), cast("Any", metric), label=label, texts=texts)

    found = state(length)
    told_long(length, lambda words: state(words).record(), INSTEAD)
    record = found.record()
    if json:
        typer.echo(spoken(record))
    else:
        _tell(found, record)
    if figure is not None:
        from psitext.experiments.tensors import drawing

        drawing.entanglement(found, figure)
        drawn(figure, json)


def _tell(found: Mps, record: dict[str, Any]) -> None:
    from psitext.cli.terminal import rows_table

    columns = zip(record["entropy_bits"], record["bound_bits"], record["rank"], strict=True)
    rows_table(
        [{"cut": cut, "bits": bits, "bound": bound, "rank": rank} for cut, (bits, bound, rank) in enumerate(columns, 1)]
    )
    spectrum = " ".join(f"{value:.4g}" for value in record["schmidt"])
    typer.echo(f"Schmidt coefficients after {found.middle} words: {spectrum}")
    bits = record["entropy_bits"]
    most = max(range(len(bits)), key=bits.__getitem__)
    bound = math.log2(found.bond)
    typer.echo(f"most: {bits[most]:.4f} bits after {most + 1} words; bond {found.bond} bounds it by {bound:.4f}")
    limit = record["infinite"]
    typer.echo(f"far from both ends: {_four(limit['entropy_bits'])} bits; {limit['says']}")
    typer.echo(f"the state: {found.says}; {found.length} words, {found.metric} metric")
    if found.metric == "paper":
        typer.echo("in this metric entropies change with the scale of word vectors, on which no prediction depends; "
                   "--metric data does not", err=True)  # fmt: skip


def _four(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def compress(
    model: CircuitArgument,
    chi: Annotated[int | None, typer.Option("--chi", help="D', the numbers of the smaller state.")] = None,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", help="The predicted relative error that is allowed, in place of --chi."),
    ] = None,
    out: Out = None,
    task: Annotated[str | None, typer.Option("--task", help="Measure error and score on a task's dev splits.")] = None,
    split: Annotated[str | None, typer.Option("--split", help="On this split of the task.")] = None,
    data: Annotated[str | None, typer.Option("--data", help="Or on a labelled file of your own.")] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", help="Another model to score, trained at that size, say; may be repeated."),
    ] = None,
    analysis: Annotated[
        bool, typer.Option("--analysis", help="Show the predicted errors of all sizes; alone, nothing is written.")
    ] = False,
    metric: MetricOrBest = None,
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            max=LONGEST,
            help="T, the words of the texts that count.",
            show_default="the mean of the training's",
        ),
    ] = None,
    law: Law = None,
    text: Annotated[
        str | None, typer.Option("--text", help="The column that holds the text, of the files of --law and --data.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="The column of --data that holds the label.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a circuit a smaller linear recurrence (balanced truncation), a model like any other.

    Its predicted error is that of the logits, relative, over texts of independent words; --task or --data measures it.

    Example: psitext compress runs/rac --chi 8 --task imdb -o runs/rac-8
    """
    wanted = chi is not None or tolerance is not None
    _asked(model, wanted, analysis, out, beside or [])
    _scored(task, data, law, text, label)
    looked(model, None, law, text, metric=metric)
    from psitext.cli.terminal import rows_table
    from psitext.experiments import evaluation
    from psitext.experiments.tensors import comparing
    from psitext.model import load
    from psitext.model.folder import check_place
    from psitext.model.mps.smaller import analysis as sizes

    if out is not None:
        check_place(out)
    found, texts = load(model), texts_of(law, None if law is None else text)
    how: Any = {"metric": metric, "length": length, "texts": texts}

    def work(words: int) -> None:
        asked: Any = {**how, "length": words}
        if analysis:
            sizes(found, **asked)
        if wanted:
            found.compress(chi, tolerance, **asked)

    told_long(
        length,
        work,
        "without --length the texts of the training count, which are shorter (Ctrl-C stops this)",
    )
    if analysis:
        rows_table(sizes(found, **how))
    if not wanted:
        return
    splits: evaluation.Splits = {}
    if task is not None or split is not None or data is not None:
        size = f"--chi {chi}" if tolerance is None else f"--tolerance {tolerance:g}"
        command = f"psitext compress {shlex.quote(model)} {size}" + (f" -o {shlex.quote(str(out))}" if out else "")
        columns = {} if data is None else columns_given(text, None, label)
        of = evaluation.task_of(found, task)
        splits = evaluation.labelled_splits(of, split, data, data_dir, columns, command)
    smaller = found.compress(chi, tolerance, **how)
    rows_table(comparing.rows(found, [smaller], splits, {name: load(name) for name in beside or []}))
    typer.echo(f"predicted for texts of {smaller.length} words, {smaller.metric} metric")
    if smaller.warning:
        typer.echo(smaller.warning, err=True)
    if out is not None:
        smaller.model.save(out)
        typer.echo(f"model: {out}")


def _scored(task: str | None, data: str | None, law: Path | None, text: str | None, label: str | None) -> None:
    """Refuse columns of a file that is not named, and what cannot be scored on."""
    from psitext.cli import early
    from psitext.errors import UserError

    if data is None and label is not None:
        raise UserError("--label names a column of the file of --data; name that file, too")
    if data is None and law is None and text is not None:
        raise UserError("--text names a column of the files of --law and --data; name one of them, too")
    early.scored(task, data, text, None, label)


def _asked(model: str, wanted: bool, analysis: bool, out: Path | None, beside: list[str]) -> None:
    """Refuse what is not all there, or would write a model over the one that is read."""
    from psitext.cli import early
    from psitext.errors import UserError

    if not wanted and not analysis:
        raise UserError("say how small: --chi 8, or --tolerance 0.01; --analysis shows what each size would cost")
    if wanted and out is None and not analysis:
        raise UserError("name a folder for the smaller model with -o")
    if out is not None and not wanted:
        raise UserError("say how small the model in -o is to be: --chi 8, or --tolerance 0.01")
    for name in (model, *beside):
        early.model(name)
    if out is not None:
        _apart(out, [model, *beside])
        early.folder(out)


def _apart(out: Path, read: list[str]) -> None:
    """Refuse a place that belongs to a run, or to a model that is read."""
    from psitext.errors import UserError

    place = out.resolve()
    for name in read:
        source = Path(name).resolve()
        if source.exists() and (place == source or source in place.parents or place / "model" == source):
            raise UserError(f"-o {out} is, or lies in, a model that is read here ({name}); name another folder")
    run = next((folder for folder in place.parents if (folder / "recipe.json").is_file()), None)
    if run is not None:
        raise UserError(f"-o {out} lies in the folder of a run, {run}; name another folder")


LOOKS, COMMANDS = (entanglement,), (compress,)
