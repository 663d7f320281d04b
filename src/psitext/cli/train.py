"""Verbs that train: pretrain, finetune, resume."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psitext.cli.options import Config, DataDir, Label, Out, Pair, Seed, Settings, Text


def pretrain(
    config: Config = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="Text files (plain, TSV, CSV, JSONL, Parquet; .gz, .zst), hub:<name>, or toy:<stories>.",
        ),
    ] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]", help="More text files: --data books/*.txt works.")
    ] = None,
    text: Text = None,
    data_dir: DataDir = None,
    out: Out = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, help="Time budget; takes the place of the recipe's."),
    ] = None,
    seed: Seed = None,
    settings: Settings = None,
) -> None:
    """Pre-train an encoder on text: masked words and next sentences.

    Example: psitext pretrain --config bert-mini --data books/*.txt --minutes 30 --out runs/books
    """
    from psitext.cli.progress import shown
    from psitext.experiments import run

    files = [*(data or []), *(more or [])]
    with shown("pretrain") as hook:
        result = run.pretrain(
            config, data=files, text=text, data_dir=data_dir, out=out, minutes=minutes, seed=seed,
            settings=settings or [], hooks=[hook],
        )  # fmt: skip
    typer.echo(f"model: {result.folder / 'model'}")
    typer.echo(f"next: psitext finetune --task sst2 --init {result.folder}")


def finetune(
    task: Annotated[
        str | None, typer.Option("--task", help="A task that `psitext tasks` lists, or a TOML file.")
    ] = None,
    init: Annotated[
        str | None, typer.Option("--init", help="Start from a run, a model folder, or hf:<folder or hub id>.")
    ] = None,
    config: Config = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="A labelled file of your own, in place of a task.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option("--dev", help="Its development file; without one a tenth is held out.")
    ] = None,
    text: Text = None,
    pair: Pair = None,
    label: Label = None,
    out: Out = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds to train, counted up from --seed.")] = 1,
    seed: Seed = None,
    data_dir: DataDir = None,
    settings: Settings = None,
) -> None:
    """Fine-tune an encoder on a task or on your own labelled file.

    Example: psitext finetune --data train.csv --text review --label sentiment --init runs/books
    """
    from psitext.cli.progress import shown
    from psitext.cli.tables import score_table
    from psitext.experiments import run
    from psitext.experiments.runs.folder import RunFolder

    base = out or run.RUNS / (Path(task).stem if task else data.stem if data else "finetune")
    first = seed or 0
    results = []
    for number in range(first, first + seeds):
        folder = base / f"seed-{number}" if seeds > 1 else base
        with shown(f"finetune, seed {number}") as hook:
            run.finetune(
                task, init=init, config=config, data=data, dev=dev, text=text, pair=pair, label=label,
                data_dir=data_dir, out=folder, seed=number, settings=settings or [], hooks=[hook],
            )  # fmt: skip
        results.append(RunFolder(folder).result()["scores"])
        typer.echo(f"model: {folder / 'model'}")
    score_table(results)


def resume(folder: Annotated[Path, typer.Argument(help="The folder of a run that was stopped.")]) -> None:
    """Go on with a stopped run, exactly, from its last checkpoint.

    Example: psitext resume runs/books
    """
    from psitext.cli.progress import shown
    from psitext.experiments import run

    with shown("resume") as hook:
        run.resume(folder, hooks=[hook])
    typer.echo(f"model: {folder / 'model'}")


COMMANDS = (pretrain, finetune, resume)
