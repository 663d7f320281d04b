"""Sentences on a quantum machine: run, train."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from psitext.cli.circuit.options import (
    Limit,
    ModelArgument,
    Noise,
    NoPad,
    ReadoutError,
    Seed,
    Shots,
    State,
    circuit_file,
    looked,
)
from psitext.cli.options import Data, DataDir, Label, Out, Pair, Split, Task, Text, columns_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psitext.quantum.training import Method
    from psitext.text.examples import Example


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

    looked(shots, noise, readout_error, mitigate=mitigate)
    early.model(model)
    early.output(results, (data, circuit), "files", "--results")
    early.scored(task, data, text, pair, label)
    from psitext.cli.terminal import rows_table
    from psitext.config import build
    from psitext.experiments.circuits import scoring
    from psitext.experiments.results import lines
    from psitext.model import load

    given = {"shots": shots, "noise": noise, "readout_error": readout_error, "mitigate": mitigate, "state": state}
    given |= {"limit": limit, "pad": not no_pad, "seed": seed}
    config = build(scoring.CircuitConfig, given, "psitext circuit run")
    config.machine()
    head = None if circuit is None else circuit_file(circuit)
    found = load(model)
    command = f"psitext circuit run {shlex.quote(model)}"
    wanted, splits = scoring.examples_of(found, task, split, data, columns_given(text, pair, label), data_dir, command)
    for name, examples in splits.items():
        some = scoring.drawn(examples, config)
        _tell_empty(some)
        graded = scoring.graded(found, wanted, some, config, head=head)
        rows_table(graded.rows())
        typer.echo(f"{wanted.name} {name}: {len(some):,} of {len(examples):,} texts, {graded.run.described()}")
        if results is not None:
            lines.append(results, scoring.line(found, wanted, name, graded, config))


def train(
    model: ModelArgument,
    out: Out = None,
    task: Task = None,
    split: Annotated[
        str | None, typer.Option("--split", help="The split of a task to train on.", show_default="train")
    ] = None,
    data: Data = None,
    text: Text = None,
    pair: Pair = None,
    label: Label = None,
    limit: Limit = 20,
    shots: Shots = 1000,
    noise: Noise = None,
    readout_error: ReadoutError = 0.0,
    method: Annotated[
        str, typer.Option("--method", help="parameter-shift, or spsa (three circuits a text and step).")
    ] = "spsa",
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
    looked(shots, noise, readout_error)
    early.model(model)
    early.folder(out)
    early.scored(task, data, text, pair, label)
    from psitext.cli.terminal import rows_table
    from psitext.config import build
    from psitext.experiments.circuits import scoring, training
    from psitext.model import load
    from psitext.model.folder import check_place
    from psitext.quantum import Course

    check_place(out)
    given = {"shots": shots, "noise": noise, "readout_error": readout_error, "limit": limit, "seed": seed}
    config = build(scoring.CircuitConfig, given, "psitext circuit train")
    course = Course(method=cast("Method", method), steps=steps, lr=lr, shots=shots, seed=seed)
    config.machine()
    found = load(model)
    command = f"psitext circuit train {shlex.quote(model)} -o {shlex.quote(str(out))}"
    part = split or ("train" if data is None else None)
    wanted, splits = scoring.examples_of(found, task, part, data, columns_given(text, pair, label), data_dir, command)
    some = scoring.drawn(next(iter(splits.values())), config)
    _tell_empty(some)
    better, trained = training.trained(found, wanted, some, course, config.machine())
    rows_table(training.rows(trained))
    better.save(out)
    typer.echo(f"{trained.circuits:,} circuits; written: {out}")


def _tell_empty(examples: Sequence[Example]) -> None:
    """Say how many texts have no word: they are scored like any other, by what the model makes of nothing."""
    empty = sum(not example.text.strip() for example in examples)
    if empty:
        which = f"{empty:,} of {len(examples):,} texts " + ("is empty" if empty == 1 else "are empty")
        typer.echo(f"{which}; their ket is that of no words", err=True)


COMMANDS = (run, train)
