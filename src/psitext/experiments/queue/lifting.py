"""What a lift costs: a real BERT beside the two complex encoders that compute its function, on the same sentences.

All three run in one process in turns; times are compared within a round, and medians are over
rounds. Letters: B sentences, L tokens, D numbers of a state.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from psitext.config import Config
from psitext.encoders.bert import Bert
from psitext.encoders.qbert import Qbert
from psitext.errors import UserError
from psitext.hf.lift import lift
from psitext.model import TEXT, Model, Sentences
from psitext.model.model import PLAIN
from psitext.nn.numerics import autocast
from psitext.randomness import generator
from psitext.state import SentenceState, side_by_side
from psitext.text.batches import Batch
from psitext.text.examples import Example, Task
from psitext.text.supervised import encode_examples
from psitext.text.tasks import load_split
from psitext.train.network import Network, parameter_count

CPU = torch.device("cpu")
Step = Callable[[], None]


class Lifting(Config):
    """The sentences, and how often they are timed."""

    sentences: int = Field(default=128, gt=0)  # of the task's first dev split, by a draw that is the same for all
    batch: int = Field(default=32, gt=0)  # sentences of a call
    rounds: int = Field(default=5, gt=0)  # measured; one more warms up


@dataclass(frozen=True, slots=True)
class Row:
    """What a result line says of one encoder."""

    name: str
    metrics: dict[str, float]
    rows: dict[str, int]
    notes: dict[str, Any]


def lifts(model: Model, task: Task, how: Lifting, data_dir: Path | None) -> list[Row]:
    """The BERT of ``model``, and both lifts of it: real parameters and MiB of them in float32, width and qubits of a
    state, the largest difference of a token's state from the BERT's, seconds of processor for 1,000 sentences, and
    times over the BERT's, forward alone and with gradients; MiB that a batch keeps for its gradients.

    Errors: a model that reads with no real BERT, or with one whose heads are odd.
    """
    bert = model.encoder
    if not isinstance(bert, Bert):
        raise UserError(f"a lift starts from a real BERT, and this model is a {bert.config.family}")
    encoders: dict[str, Bert | Qbert] = {
        "BERT": bert,
        "lifted, zero-imaginary": lift(bert, how="zero-imaginary"),
        "lifted, widely-linear": lift(bert, how="widely-linear"),
    }
    texts = _texts(task, how, data_dir)
    states = {name: _states(model, encoder, texts) for name, encoder in encoders.items()}
    batches = _batches(model, texts, how.batch)
    forward, training = (
        _timed({name: step(encoder, batches) for name, encoder in encoders.items()}, how.rounds)
        for step in (_forward, _with_gradients)
    )
    rows = []
    for name, encoder in encoders.items():
        metrics = {
            "real_parameters": float(parameter_count(encoder)),
            "weights_mib": _bytes(encoder) / 2**20,
            "width": float(encoder.config.width),
            "qubits": float(math.ceil(math.log2(encoder.config.width))),
            "largest_difference": _difference(states[name], states["BERT"]),
            "seconds_per_1000": statistics.median(forward[name]) * 1_000 / len(texts),
            "times_bert": _ratio(forward[name], forward["BERT"]),
            "times_bert_with_gradients": _ratio(training[name], training["BERT"]),
            "kept_for_gradients_mib": _kept(encoder, batches[-1]) / 2**20,
        }
        rows.append(Row(name, metrics, {"dev": len(texts)}, {"batch": how.batch, "rounds": how.rounds}))
    return rows


def _texts(task: Task, how: Lifting, data_dir: Path | None) -> list[str]:
    examples = load_split(task, task.dev_splits[0], data_dir)
    order = generator(0, "lifted").permutation(len(examples))[: how.sentences]
    return [examples[at].text for at in sorted(order.tolist())]


def _states(model: Model, encoder: Bert | Qbert, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """(B, L, D) states of all tokens, real numbers before imaginary ones, and which of them there are."""
    own = Model(Network(encoder, Sentences()).eval(), {TEXT: model.tokenizer}, model.text)
    found = own.encode(texts, tokens=True)
    assert isinstance(found, SentenceState)
    assert found.tokens is not None
    assert found.real is not None
    return side_by_side(found.tokens), found.real


def _difference(found: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor]) -> float:
    """The largest of all numbers of all tokens; of a lift that keeps the width imaginary parts should be 0."""
    ours, theirs = found[0][found[1]], wanted[0][wanted[1]]
    whole = torch.zeros_like(ours)
    whole[:, : theirs.shape[1]] = theirs
    return float((ours - whole).abs().max())


def _batches(model: Model, texts: Sequence[str], size: int) -> list[Batch]:
    """The sentences in batches, alike in length."""
    examples = [Example(text=text) for text in texts]
    source = encode_examples(examples, PLAIN, model.tokenizer, model.text, labelled=False)
    order = np.argsort(source.lengths(0), kind="stable")
    return [source.build(order[first : first + size], 0) for first in range(0, len(order), size)]


def _forward(encoder: Bert | Qbert, batches: Sequence[Batch]) -> Step:
    """All batches once."""

    def step() -> None:
        with torch.inference_mode(), autocast(CPU, "fp32"):
            for batch in batches:
                encoder(batch)

    return step


def _with_gradients(encoder: Bert | Qbert, batches: Sequence[Batch]) -> Step:
    """All batches once, forward and backward."""

    def step() -> None:
        for batch in batches:
            _loss(encoder, batch).backward()
            encoder.zero_grad(set_to_none=True)

    return step


def _loss(encoder: Bert | Qbert, batch: Batch) -> Tensor:
    with autocast(CPU, "fp32"):
        return side_by_side(encoder(batch).vector).square().sum()


def _timed(steps: Mapping[str, Step], rounds: int) -> dict[str, list[float]]:
    """Seconds of processor time by round; the order in a round is random, and the first only warms up."""
    spent: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for number in range(rounds + 1):
        for at in generator(0, "lifts in turn", number).permutation(len(names)).tolist():
            began = time.process_time()
            steps[names[at]]()
            spent[names[at]].append(time.process_time() - began)
    return {name: some[1:] for name, some in spent.items()}


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(own / other for own, other in zip(ours, theirs, strict=True))


def _bytes(encoder: Bert | Qbert) -> int:
    return sum(weight.numel() * weight.element_size() for weight in encoder.parameters())


def _kept(encoder: Bert | Qbert, batch: Batch) -> int:
    """Bytes that stay in memory from forward to backward, weights aside; of a batch, without dropout."""
    weights = {weight.untyped_storage().data_ptr() for weight in encoder.parameters()}
    kept: dict[int, int] = {}

    def keep(value: Tensor) -> Tensor:
        storage = value.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        loss = _loss(encoder, batch)
    del loss
    return sum(kept.values())
