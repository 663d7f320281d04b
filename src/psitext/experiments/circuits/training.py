"""A model whose hardware-efficient head is trained on a quantum machine, its encoder frozen."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

from psitext.experiments import evaluation
from psitext.experiments.circuits.scoring import kets_of
from psitext.heads.measurement import MeasurementHead
from psitext.model import Model
from psitext.quantum import from_model
from psitext.quantum.machines.machine import Machine
from psitext.quantum.training import Course, Trained, assign, train
from psitext.text.examples import Example, Task
from psitext.train.network import Network

SHOWN = 8  # steps of a table


def trained(
    model: Model, task: Task, examples: Sequence[Example], course: Course, machine: Machine
) -> tuple[Model, Trained]:
    """The model with a head trained on examples; the one given stays as it was."""
    head = from_model(model)
    gold = evaluation.gold(task, list(examples))
    found = train(head, kets_of(model, head, examples, pad=True), gold, course, machine)
    module = copy.deepcopy(model.network.head)
    assert isinstance(module, MeasurementHead)  # from_model has looked
    assign(module, found.head)
    facts = {**model.facts, "trained on": f"{machine.name}, {course.method}, {course.steps} steps"}
    return replace(model, network=Network(model.network.encoder, module).eval(), facts=facts), found


def rows(found: Trained) -> list[dict[str, object]]:
    """Some steps as a table: loss before the step, and size of the angles' gradient."""
    last = len(found.losses) - 1
    steps = sorted({round(last * place / (SHOWN - 1)) for place in range(SHOWN)})
    return [{"step": step, "loss": found.losses[step], "gradient": found.gradient_norms[step]} for step in steps]
