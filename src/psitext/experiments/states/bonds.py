"""The experiment on sentence kets: entanglement before and after fine-tuning, and the bond that keeps the accuracy.

A fine-tuned measurement head reads each [CLS] ket as a matrix-product state of growing bond in place of the ket
itself; the smaller the bond that still gets the answers right, the shallower the circuit that prepares it. Beside the
kets stand controls: those of the encoder before fine-tuning and without any training, random kets of the same
field and width, and the fine-tuned kets in another order of their coordinates (explain/ket/controls.py), which the
head undoes before it reads them.

Letters: B sentences, D width, n qubits, K classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from psitext.config import Config
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.finetune import finetune_run, starting_model
from psitext.experiments.lowresource.fewlabels import Finding
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.explain.ket.controls import random_kets, shuffle, unshuffle
from psitext.heads.measurement import MeasurementHead
from psitext.model import Model
from psitext.randomness import generator
from psitext.score import metrics
from psitext.state import Ket, State
from psitext.text.examples import Example, Task
from psitext.text.tasks import load_split, load_task
from psitext.train.loop import Hook

BEFORE, AFTER, UNTRAINED, RANDOM, OTHER = "before", "fine-tuned", "untrained", "random", "fine-tuned, other order"


class Bonds(Config):
    """What is measured of a fine-tuned model's kets."""

    bonds: tuple[int, ...] = Field(default=(1, 2, 4, 8, 16, 32), min_length=1)
    sentences: int = Field(default=1_000, gt=1)  # of the dev split, drawn by the seed
    fidelity: float = Field(default=0.99, gt=0, le=1)  # whose smallest bond is looked for
    seed: int = Field(default=0, ge=0)  # of the sentences, the random kets, the other order


class Read(NamedTuple):
    """A measurement head's answers to sentences."""

    predicted: npt.NDArray[Any]  # (B,) class ids, or scores
    score: float  # the task's headline metric


def bonds(
    recipe: FinetuneRecipe, settings: Bonds, out: Path, data_dir: Path | None, hooks: Sequence[Hook] = ()
) -> Finding:
    """Fine-tune the recipe's model in ``out`` and measure its kets on the task's first dev split.

    In the notes: "profiles" by whose kets they are, "bonds" a record for each order and bond, "gates" of preparation.
    Errors: a head that is no measurement; a task without classes or a score; the quantum extra missing.
    """
    assert recipe.task is not None
    task = load_task(recipe.task)
    if task.kind not in ("classification", "regression"):
        raise UserError(f"a measurement gives a text a class or a score, and {task.name} is a task of kind {task.kind}")
    gates = _quantum_gates()
    model = finetune_run(recipe, out, hooks)
    head = model.network.head
    if not isinstance(head, MeasurementHead):
        raise UserError("kets are read by a measurement head; give the recipe one with --set head.kind=measurement")
    split = task.dev_splits[0]
    examples = _drawn(load_split(task, split, data_dir), settings)
    state = {name: _kets(one, examples) for name, one in _encoders(recipe, model)}
    order = shuffle(model.encoder.config.width, settings.seed)
    state[OTHER] = Ket(state[AFTER].vector[:, order])
    real = not _kets(model, examples[:1]).vector.imag.any()
    state[RANDOM] = Ket(random_kets(len(examples), state[AFTER].width, settings.seed, real=real))
    gold = evaluation.gold(task, examples)
    exact = read(head, state[AFTER], task, gold)
    found = list(_by_bond(head, state, order, task, gold, exact, settings))
    notes = {
        "qubits": state[AFTER].qubits,
        "width": state[AFTER].width,
        "real": real,
        "metric": task.headline,
        "fidelity": settings.fidelity,
        "profiles": {
            name: profile(state[name], settings.fidelity) for name in (UNTRAINED, BEFORE, AFTER, OTHER, RANDOM)
        },
        "bonds": found,
        "gates": gates(state[AFTER].qubits, settings.bonds),
    }
    bits = {f"bits, {name}": float(np.mean(notes["profiles"][name]["bits"])) for name in notes["profiles"]}
    collapsed = float(metrics.collapsed(exact.predicted))
    return Finding({task.headline: exact.score, **bits, "collapsed": collapsed}, {split: len(examples)}, notes)


def profile(state: State, wanted: float) -> dict[str, Any]:
    """Means over sentences: "bits" at every cut with their deviations "sd", and "bond", the mean and the median of
    the smallest that keeps the fidelity ``wanted``.
    """
    bits, needed = state.entropy_bits(), state.bond_for(wanted).double()
    return {
        "bits": _rounded(bits.mean(0)),
        "sd": _rounded(bits.std(0)),
        "bond": round(float(needed.mean()), 3),
        "median bond": float(needed.quantile(0.5)),
    }


def read(head: MeasurementHead, state: Ket, task: Task, gold: npt.NDArray[Any]) -> Read:
    """What the head says of kets, and how right that is."""
    weight, bias = head.readout()
    with torch.inference_mode():
        shares = head.probabilities(Ket(state.vector.to(torch.complex64))).double()
        logits = shares @ weight.T + (0.0 if bias is None else bias)
    predicted = logits[:, 0] if task.kind == "regression" else logits.argmax(1)
    found = np.asarray(predicted.cpu().numpy())
    return Read(found, metrics.evaluate((task.headline,), found, gold)[task.headline])


def _by_bond(
    head: MeasurementHead,
    state: Mapping[str, Ket],
    order: Tensor,
    task: Task,
    gold: npt.NDArray[Any],
    exact: Read,
    settings: Bonds,
) -> Iterator[dict[str, Any]]:
    """A record for each order of the coordinates and each bond up to the one that is exact."""
    orders = {AFTER: torch.arange(len(order)), OTHER: unshuffle(order)}
    full = 1 << (state[AFTER].qubits // 2)
    for name, back in orders.items():
        for bond in (bond for bond in settings.bonds if bond <= full):
            made = state[name].to_product(bond)
            logical, inside = made.inside()
            said = read(head, Ket(logical[:, back]), task, gold)
            yield {
                "kets": name,
                "bond": bond,
                "fidelity": round(float(made.fidelity.mean()), 6),
                "least fidelity": round(float(made.fidelity.min()), 6),
                "inside": round(float(inside.mean()), 6),
                "score": said.score,
                **({} if task.kind == "regression" else {"same": float((said.predicted == exact.predicted).mean())}),
            }


def _encoders(recipe: FinetuneRecipe, model: Model) -> Iterator[tuple[str, Model]]:
    yield UNTRAINED, starting_model(recipe.model_copy(update={"fresh": True}))
    yield BEFORE, starting_model(recipe.model_copy(update={"fresh": False}))
    yield AFTER, model


def _kets(model: Model, examples: Sequence[Example]) -> Ket:
    pairs = None if examples[0].pair is None else [example.pair or "" for example in examples]
    return model.encode([example.text for example in examples], pairs).to_ket()


def _drawn(examples: list[Example], settings: Bonds) -> list[Example]:
    """At most so many examples, in their own order."""
    order = generator(settings.seed, "ket rows").permutation(len(examples))[: settings.sentences]
    return [examples[index] for index in sorted(order.tolist())]


def _quantum_gates() -> Any:
    from psitext.experiments.states.gates import two_qubit_gates  # needs qiskit, asked for before hours are spent

    return two_qubit_gates


def _rounded(values: Tensor) -> list[float]:
    return [round(float(value), 4) for value in values]
