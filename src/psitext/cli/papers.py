"""Verbs that make tables: reproduce, sweep, demo, bench, discocat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from psitext.cli.options import DataDir, Out, Settings

SCALES = ("mini", "full")
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Processes of a sweep, one thread each.")]


def reproduce(
    artefact: Annotated[
        str | None, typer.Argument(help="paper/artefact, or a TOML file; without one, all are listed.")
    ] = None,
    init: Annotated[
        list[str] | None,
        typer.Option("--init", metavar="name=model", help="The model that a name in the queue stands for."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these variants, and only these tasks; may be repeated.")
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", help="mini: sizes for two cores; full: the paper's own, where they are given.")
    ] = "mini",
    jobs: Jobs = 1,
    results: Annotated[Path, typer.Option("--results", help="Folder of the result lines.")] = Path("results"),
    out: Out = None,
    data_dir: DataDir = None,
) -> None:
    """Run what a table or figure of a paper still lacks, resume what stopped, and print the table.

    Example: psitext reproduce bert/glue-minilm --init minilm=hf:all-MiniLM-L6-v2
    """
    from psitext.cli import early
    from psitext.cli.terminal import shown
    from psitext.experiments import queue
    from psitext.experiments.results import pages
    from psitext.files import write_atomic

    early.choice("--scale", scale, SCALES)
    if artefact is None:
        for name, path in queue.queue_names().items():
            typer.echo(f"{name:28} {queue.read_queue(name).title if path else ''}")
        return
    artefact = queue.at_scale(artefact, cast("Any", scale))
    wanted = queue.read_queue(artefact)
    named = _named(init or [])
    _known("--only", only or [], [name for run in wanted.runs for name in (run.name, *run.tasks)], artefact)
    _known("--init", named, [name for run in wanted.runs for name in run.models], artefact)
    stem = artefact.removesuffix(".toml").replace("/", "-")
    bench = queue.Bench(out or Path("runs") / stem, results / f"{stem}.jsonl", data_dir, named, jobs)
    early.inside(bench.out, "runs")
    early.output(bench.results, option="--results")
    queue.work(wanted, bench, shown, only or [])
    if rest := queue.left(wanted, bench, only or []):
        which = "1 run is" if len(rest) == 1 else f"{len(rest)} runs are"
        typer.echo(
            f"{which} work for one process ({rest[0].name}); the same command without the launcher does it", err=True
        )
    drawn = {bench.out / f"figure{name}.svg": svg for name, svg in pages.drawings(wanted, bench.results).items()}
    for path, drawing in drawn.items():
        write_atomic(path, drawing)
    typer.echo(pages.section(wanted, bench.results, [str(path) for path in drawn]))


def sweep(
    encoder: Annotated[str, typer.Argument(help="rac: the only family there are sweeps of.")],
    task: Annotated[str, typer.Option("--task", help="A task of two classes, by name or TOML file.")] = "imdb",
    chi: Annotated[
        str, typer.Option("--chi", help="Bond dimensions: 1:40, 1:40:3 (every third), or 1,5,20.")
    ] = "1,2,3,5,8,12,16,20,30,40",
    restarts: Annotated[
        int, typer.Option("--restarts", min=1, help="Restarts of each, with weights of their own.")
    ] = 10,
    jobs: Jobs = 1,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="dask://host:port or ray://host:port, in place of --jobs.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of lines and figures.", show_default="runs/sweep-<task>")
    ] = None,
    data_dir: DataDir = None,
    settings: Settings = None,
) -> None:
    """Train circuits of many sizes from many starts, with their entanglement; goes on where it was stopped.

    --set lays values over the protocol: --set words=joint --set steps=100 --set keep=last --set features=8.

    Example: psitext sweep rac --task imdb --chi 1:40 --restarts 50 --jobs 2
    """
    from psitext.cli import early
    from psitext.config import build, with_overrides
    from psitext.errors import UserError
    from psitext.experiments.sweep.protocol import Protocol, Sweep, bonds_of

    early.choice("ENCODER", encoder, ("rac",))
    early.task(task)
    protocol = build(Protocol, with_overrides({"task": task}, settings or []), "sweep")
    if protocol.task != task:
        raise UserError("the task of a sweep is named by --task, not by --set task")
    wanted = Sweep(protocol=protocol, bonds=bonds_of(chi), restarts=restarts)
    from psitext.experiments.queue.plan import Queue, Variant
    from psitext.experiments.results import pages
    from psitext.experiments.sweep.work import work
    from psitext.files import write_atomic

    folder = out or Path("runs") / f"sweep-{Path(task).stem}"
    early.inside(folder, "lines.jsonl")
    work(wanted, folder / "lines.jsonl", data_dir, jobs, cluster, lambda text: typer.echo(text, err=True))
    variant = Variant(name="rac", how="sweep", tasks=(task,), sweep=wanted)
    queue = Queue(title=f"RAC on {task}", command="psitext sweep", runs=(variant,))
    drawn = {folder / f"figure{name}.svg": svg for name, svg in pages.drawings(queue, folder / "lines.jsonl").items()}
    for path, drawing in drawn.items():
        write_atomic(path, drawing)
    typer.echo(pages.section(queue, folder / "lines.jsonl", [str(path) for path in drawn]))


FEW_REVIEWS = 2_000  # below, the demo's fine-tunings end near bag of words


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the runs and the report.")] = Path("runs/demo"),
    rows: Annotated[
        int,
        typer.Option("--rows", min=100, help="Generated reviews to fine-tune on; fewer are quicker, and teach less."),
    ] = 4000,
) -> None:
    """Show the four models that come along on generated text: fine-tuned, compared, explained; with a report.

    Example: psitext demo
    """
    from psitext.cli import early

    early.inside(out, "report.html")
    from psitext.cli.terminal import plain, rows_table, shown
    from psitext.experiments.demo import Plan, Section, run_demo

    def tell(section: Section) -> None:
        typer.echo(f"\n{section.family}")
        for line in section.lines:
            typer.echo(f"  {plain(line)}")

    found = run_demo(out, Plan(rows=rows), shown, tell)
    typer.echo("")
    rows_table(found.rows)
    if rows < FEW_REVIEWS:
        typer.echo(
            f"{rows:,} reviews are too few for the fine-tuned models to find out that the order of words decides"
        )
    typer.echo(f"report: {found.report}")
    typer.echo(f'now try: psitext predict "It was not dull but gripping." --model {out / "bert"}')


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
    from psitext.cli import early

    early.output(results, option="--results")
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


def discocat(
    task: Annotated[
        str, typer.Option("--task", help="A classification task that `psitext tasks` lists, or a TOML file.")
    ],
    reader: Annotated[
        str | None, typer.Option("--reader", help="pregroup, cups, stairs or spiders.", show_default="pregroup")
    ] = None,
    ansatz: Annotated[
        str | None, typer.Option("--ansatz", help="spider (tensors) or iqp (circuits).", show_default="spider")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds to train, counted up from --seed.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides weights, order and hidden words.")] = 1,
    paper: Annotated[
        bool, typer.Option("--paper", help="The settings of appendix B of the QBERT paper; they learn next to nothing.")
    ] = False,
    out: Out = None,
    data_dir: DataDir = None,
    settings: Settings = None,
) -> None:
    """Train DisCoCat, sentences as tensor networks or circuits wired up by grammar, beside majority and bag of words.

    Example: psitext discocat --task lambeq-mc --ansatz iqp --seeds 3
    """
    from psitext.baselines.discocat.settings import PAPER, DiscocatConfig
    from psitext.cli import early
    from psitext.config import build, with_overrides

    early.task(task)
    early.folder(out)
    chosen = {key: value for key, value in (("reader", reader), ("ansatz", ansatz)) if value is not None}
    tree = with_overrides((PAPER.tree() if paper else {}) | chosen, settings or [])
    config = build(DiscocatConfig, tree, "discocat")
    from psitext.cli.terminal import rows_table, score_table, shown
    from psitext.experiments import evaluation

    found = evaluation.graded(task, data_dir)
    results, reach = [], {}
    for number in range(seed, seed + seeds):
        folder = out and (out / f"seed-{number}" if seeds > 1 else out)
        with shown(f"discocat, seed {number}") as hook:
            scores = evaluation.discocat_scores(*found, config, number, [hook], folder)
        results.append({split: score for split, (score, _) in scores.items()})
        reach = {split: share for split, (_, share) in scores.items()}
    score_table(results)
    rows_table([{"split": split, **share} for split, share in reach.items()])
    rows_table(evaluation.baseline_scores(*found))


def _known(option: str, given: Iterable[str], names: Sequence[str], artefact: str) -> None:
    """Names that a queue has; a wrong one would do nothing, or nothing else than without it."""
    from psitext.errors import UserError, near

    wrong = next((name for name in given if name not in names), None)
    if wrong is not None:
        there = f"; it has: {', '.join(dict.fromkeys(names))}" if names else ""
        raise UserError(f"{option}: {artefact} has nothing called {wrong!r}{near(wrong, names) or there}")


def _named(pairs: list[str]) -> dict[str, str]:
    from psitext.errors import UserError

    wrong = next((pair for pair in pairs if "=" not in pair), None)
    if wrong is not None:
        raise UserError(f"--init takes name=model here (minilm=hf:<folder>), not {wrong!r}")
    return dict(pair.split("=", 1) for pair in pairs)


COMMANDS = (reproduce, sweep, demo, bench, discocat)
