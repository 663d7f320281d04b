"""A model's head on a quantum machine, scored on labelled texts beside its exact answers.

Letters: B sentences, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from psitext.config import Config, recipe_hash
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.model import Model
from psitext.quantum import from_model
from psitext.quantum.circuits.build import bond_of
from psitext.quantum.gates import Complex, Real
from psitext.quantum.head import HeadCircuit
from psitext.quantum.machines.machine import Machine, ideal, noisy, on
from psitext.quantum.machines.noise import Noise
from psitext.quantum.running import Run, measure
from psitext.randomness import generator
from psitext.score import metrics
from psitext.text.examples import Example, Task


class CircuitConfig(Config):
    """How sentences are run; its hash names a result line."""

    shots: int | None = None  # None: exact
    noise: str | None = None  # "depolarizing:0.001"
    readout_error: float = 0.0
    mitigate: bool = False
    state: str = "exact"  # or "mps:4"
    limit: int = Field(default=100, gt=0)  # sentences, drawn by the seed
    pad: bool = True
    seed: int = Field(default=0, ge=0)

    def machine(self, backend: Any = None) -> Machine:
        """What runs them. Errors: noise of no known kind, or on top of a backend's own."""
        noise = Noise.named(self.noise, self.readout_error)
        if backend is not None and noise:
            raise UserError("a backend has its own noise; name either it or a noise model")
        return on(backend) if backend is not None else noisy(noise) if noise else ideal()


@dataclass(frozen=True, slots=True)
class Graded:
    """A run and the task's metrics of it, and of the exact answers."""

    run: Run
    found: dict[str, float]
    exact: dict[str, float]
    collapsed: bool

    def rows(self) -> list[dict[str, object]]:
        """As a table: the machine's scores beside the exact ones, and how far apart the two are."""
        scores = [{"what": name, "circuit": self.found[name], "exact": self.exact[name]} for name in self.found]
        return [*scores, *({"what": name, "circuit": value, "exact": ""} for name, value in self.distances().items())]

    def distances(self) -> dict[str, float]:
        """How far from exact, in means over sentences."""
        found = {"total variation": float(self.run.distances.mean()), "state fidelity": float(self.run.fidelity.mean())}
        if len(self.run.head.weight) > 1:
            found["same class"] = self.run.agreement
        if self.run.head.padded and len(self.run.head.outcomes.starts) != 1 << self.run.head.measured:
            found["readings inside the width"] = float(self.run.kept.mean())
        return found


def examples_of(
    model: Model,
    name: str | None,
    split: str | None,
    data: str | None,
    columns: dict[str, str],
    data_dir: Path | None,
    command: str = "psitext circuit run MODEL",
) -> tuple[Task, dict[str, list[Example]]]:
    """The task and its labelled examples by split: the user's file with these columns, or a task's.

    Errors: a model without a task; a task without classes or a score.
    """
    task = evaluation.task_of(model, name)
    if task.kind not in ("classification", "regression"):
        raise UserError(f"{task.name} is a task of kind {task.kind}; a measurement gives a text a class or a score")
    return task, evaluation.labelled_splits(task, split, data, data_dir, columns, command)


def drawn(examples: Sequence[Example], config: CircuitConfig) -> list[Example]:
    """At most ``limit`` examples, drawn by the seed, in their own order."""
    order = generator(config.seed, "circuit rows").permutation(len(examples))[: config.limit]
    return [examples[index] for index in sorted(order)]


def kets_of(model: Model, head: HeadCircuit, examples: Sequence[Example], *, pad: bool) -> Complex:
    """The kets of texts or pairs; (B, 2^n)."""
    firsts = [example.text for example in examples]
    seconds = [example.pair or "" for example in examples] if examples[0].pair is not None else None
    return head.kets(model.encode(firsts, seconds), pad=pad)


def graded(
    model: Model,
    task: Task,
    examples: Sequence[Example],
    config: CircuitConfig,
    *,
    head: HeadCircuit | None = None,
    backend: Any = None,
) -> Graded:
    """Run examples through a model's head, or through ``head`` in its place, and score both ways."""
    head, machine, bond = head or from_model(model), config.machine(backend), bond_of(config.state)
    kets = kets_of(model, head, examples, pad=config.pad)
    run = measure(head, kets, machine, config.shots, bond=bond, mitigate=config.mitigate, seed=config.seed)
    gold = evaluation.gold(task, list(examples))
    said, ought = (predicted(task, logits) for logits in (run.logits, run.exact_logits))
    found, exact = (metrics.evaluate(task.metrics, each, gold) for each in (said, ought))
    return Graded(run, found, exact, bool(metrics.collapsed(said)))


def predicted(task: Task, logits: Real) -> npt.NDArray[Any]:
    """Class ids, or scores; (B, K) -> (B,)."""
    return logits[:, 0] if task.kind == "regression" else np.asarray(logits.argmax(1))


def line(model: Model, task: Task, split: str, result: Graded, config: CircuitConfig) -> ResultLine:
    """A result line of it."""
    exact = {f"{name} exact": value for name, value in result.exact.items()}
    return ResultLine(
        run=f"{model.facts.get('name', model.encoder.config.family)}, {_in_words(result, config)}",
        task=task.name,
        split=split,
        metrics={**result.found, **exact, **result.distances()},
        collapsed=result.collapsed,
        recipe=recipe_hash(config),
        seed=config.seed,
        rows={split: len(result.run.found)},
        seconds=round(result.run.seconds, 1),
        threads=stamp.threads(),
        commit=stamp.commit(),
        versions=stamp.versions(),
        finished=lines.now(),
        notes={
            "title": "Circuits: accuracy on sentences, beside the exact classical answers",
            "command": "psitext circuit run MODEL --task TASK --shots N --noise ... --state ... --results FILE",
            **config.tree(),
            "machine": result.run.machine,
            "qubits": result.run.head.qubits,
            "model": {key: model.facts[key] for key in ("recipe", "from") if key in model.facts},
        },
    )


def _in_words(result: Graded, config: CircuitConfig) -> str:
    """On how many qubits, with what, and how often."""
    shots = "exact" if config.shots is None else f"{config.shots:,} shots"
    machine = f", {config.noise}" if config.noise else ""
    misread = f", readings flip at {config.readout_error:g}" if config.readout_error else ""
    states = f", states {config.state}" if config.state != "exact" else ""
    return f"{result.run.head.qubits} qubits: {shots}{machine}{misread}{states}"
