"""Verbs that make tables: reproduce, demo, bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psitext.cli.options import DataDir, Out


def reproduce(
    artefact: Annotated[
        str | None, typer.Argument(help="paper/artefact, or a TOML file; without one, all are listed.")
    ] = None,
    init: Annotated[
        list[str] | None,
        typer.Option("--init", metavar="name=model", help="The model that a name in the queue stands for."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these variants or tasks; may be repeated.")
    ] = None,
    results: Annotated[Path, typer.Option("--results", help="Folder of the result lines.")] = Path("results"),
    out: Out = None,
    data_dir: DataDir = None,
) -> None:
    """Run what a table of a paper still lacks, resume what stopped, and print the table.

    Example: psitext reproduce bert/glue-minilm --init minilm=hf:all-MiniLM-L6-v2
    """
    from psitext.cli.terminal import shown
    from psitext.experiments import queue
    from psitext.experiments.results import pages

    if artefact is None:
        for name, path in queue.queue_names().items():
            typer.echo(f"{name:28} {queue.read_queue(name).title if path else ''}")
        return
    wanted = queue.read_queue(artefact)
    stem = artefact.removesuffix(".toml").replace("/", "-")
    bench = queue.Bench(out or Path("runs") / stem, results / f"{stem}.jsonl", data_dir, _named(init or []))
    queue.work(wanted, bench, shown, only or [])
    typer.echo(pages.section(wanted, bench.results))


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the runs and the report.")] = Path("runs/demo"),
    minutes: Annotated[float, typer.Option("--minutes", min=0.05, help="Time for pre-training.")] = 2.0,
) -> None:
    """Pre-train, fine-tune and compare a tiny BERT on the embedded corpus, with a report.

    Example: psitext demo
    """
    from psitext.cli.terminal import rows_table, shown
    from psitext.experiments.demo import run_demo

    found = run_demo(out, minutes, shown)
    rows_table(found.rows)
    typer.echo(f"report: {found.report}")


def bench(
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these benchmarks; may be repeated.", show_default="all")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds that the medians are over.")] = 4,
    init: Annotated[
        str | None,
        typer.Option("--init", help="The BERT to fine-tune (hf:<folder>).", show_default="a fresh BERT-mini"),
    ] = None,
    results: Annotated[Path | None, typer.Option("--results", help="Append the result lines to this file.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Measure psitext's speed against transformers on this machine, one thread each, as ratios.

    Example: psitext bench --only startup --only batches
    """
    from psitext.cli.terminal import rows_table
    from psitext.experiments.bench import suite
    from psitext.experiments.results import lines

    settings = suite.Settings(rounds, tuple(only or ()), data_dir, init)
    found = []
    for line in suite.run(settings, typer.echo):
        found.append(line)
        if results is not None:
            lines.append(results, line)
    if found:
        rows_table(suite.table(found))


def _named(pairs: list[str]) -> dict[str, str]:
    from psitext.errors import UserError

    wrong = next((pair for pair in pairs if "=" not in pair), None)
    if wrong is not None:
        raise UserError(f"--init takes name=model here (minilm=hf:<folder>), not {wrong!r}")
    return dict(pair.split("=", 1) for pair in pairs)


COMMANDS = (reproduce, demo, bench)
