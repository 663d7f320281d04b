"""Sentences on a quantum machine: run, train."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from psitext.cli.circuit.options import (
    Data,
    Limit,
    ModelArgument,
    Noise,
    NoPad,
    ReadoutError,
    Seed,
    Shots,
    Split,
    State,
    Task,
)
from psitext.cli.options import DataDir, Label, Out, Pair, Text

if TYPE_CHECKING:
    from psitext.quantum.training import Method


def run(
    model: ModelArgument,
    task: Task = None,
    split: Split = None,
    data: Data = None,
    text: Text = None,
    pair: Pair = None,
    label: Label = None,
    limit: Limit = 100,
    shots: Shots = None,
    noise: Noise = None,
    readout_error: ReadoutError = 0.0,
    mitigate: Annotated[bool, typer.Option("--mitigate", help="Correct readings that flip (M3).")] = False,
    state: State = "exact",
    circuit: Annotated[
        Path | None, typer.Option("--circuit", help="A circuit file (.qasm) to run in place of the model's head.")
    ] = None,
    no_pad: NoPad = False,
    seed: Seed = 0,
    results: Annotated[Path | None, typer.Option("--results", help="Append result lines to this file.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Run labelled texts through a model's head as a circuit, and score it beside the exact answers.

    Example: psitext circuit run runs/sst2-q --task sst2 --shots 10000 --noise depolarizing:0.001
    """
    from psitext.cli import early

    early.model(model)
    if task is not None:
        early.task(task)
    from psitext.cli.terminal import rows_table
    from psitext.experiments.circuits import scoring
    from psitext.experiments.results import lines
    from psitext.model import load
    from psitext.quantum import read_qasm3

    config = scoring.CircuitConfig(
        shots=shots, noise=noise, readout_error=readout_error, mitigate=mitigate, state=state, limit=limit,
        pad=not no_pad, seed=seed,
    )  # fmt: skip
    config.machine()
    head = None if circuit is None else read_qasm3(circuit)
    found = load(model)
    wanted, splits = scoring.examples_of(found, task, split, data, _columns(text, pair, label), data_dir)
    for name, examples in splits.items():
        some = scoring.drawn(examples, config)
        graded = scoring.graded(found, wanted, some, config, head=head)
        rows_table(graded.rows())
        typer.echo(f"{wanted.name} {name}: {len(some):,} of {len(examples):,} texts, {graded.run.described()}")
        if results is not None:
            lines.append(results, scoring.line(found, wanted, name, graded, config))


def train(
    model: ModelArgument,
    out: Out = None,
    task: Task = None,
    split: Annotated[str, typer.Option("--split", help="The split to train on.")] = "train",
    data: Data = None,
    text: Text = None,
    pair: Pair = None,
    label: Label = None,
    limit: Limit = 20,
    shots: Shots = 1000,
    noise: Noise = None,
    readout_error: ReadoutError = 0.0,
    method: Annotated[str, typer.Option("--method", help="parameter-shift, or spsa (two runs a step).")] = "spsa",
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps of Adam.")] = 20,
    lr: Annotated[float, typer.Option("--lr", help="Its rate.")] = 0.05,
    seed: Seed = 0,
    data_dir: DataDir = None,
) -> None:
    """Train the angles of a hardware-efficient head by what a quantum machine reads, the encoder frozen.

    Example: psitext circuit train runs/small-q --task sst2 --limit 20 --steps 30 -o runs/small-q-trained
    """
    from psitext.cli import early
    from psitext.errors import UserError

    if out is None:
        raise UserError("name a folder for the trained model with -o")
    early.choice("--method", method, ("parameter-shift", "spsa"))
    early.model(model)
    if task is not None:
        early.task(task)
    from psitext.cli.terminal import rows_table
    from psitext.experiments.circuits import scoring, training
    from psitext.model import load
    from psitext.quantum import Course

    config = scoring.CircuitConfig(shots=shots, noise=noise, readout_error=readout_error, limit=limit, seed=seed)
    config.machine()
    found = load(model)
    wanted, splits = scoring.examples_of(found, task, split, data, _columns(text, pair, label), data_dir)
    some = scoring.drawn(next(iter(splits.values())), config)
    course = Course(method=cast("Method", method), steps=steps, lr=lr, shots=shots, seed=seed)
    better, trained = training.trained(found, wanted, some, course, config.machine())
    rows_table(training.rows(trained))
    better.save(out)
    typer.echo(f"{trained.circuits:,} circuits; written: {out}")


def _columns(text: str | None, pair: str | None, label: str | None) -> dict[str, str]:
    return {name: value for name, value in (("text", text), ("pair", pair), ("label", label)) if value is not None}


COMMANDS = (run, train)
