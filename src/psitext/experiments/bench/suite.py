"""All benchmarks by name, and their results as lines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from psitext.errors import UserError, near
from psitext.experiments.bench import finetuning, optimiser, pretraining, tensors
from psitext.experiments.bench.complex import heads, layers, steps
from psitext.experiments.bench.latents.generation import generation_speed
from psitext.experiments.bench.latents.iwae import SPACES, iwae_speed
from psitext.experiments.bench.racing import Course
from psitext.experiments.bench.timing import Measured
from psitext.experiments.bench.using import encoding, startup
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.nn.numerics import Precision
from psitext.nn.threads import one_thread

VOCABULARIES = (8_192, 30_522)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the benchmarks run on."""

    rounds: int = 4  # measured rounds of 8 training steps; medians are over them
    only: tuple[str, ...] = ()  # names; none = all
    data_dir: Path | None = None
    init: str | None = None  # the BERT that is fine-tuned; None = a fresh BERT-mini
    seed: int = 0


@dataclass(frozen=True)
class _Inputs:
    """What several benchmarks read, read once."""

    settings: Settings
    folder: Path
    tell: Callable[[str], None]

    @cached_property
    def text(self) -> pretraining.Text:
        return pretraining.read_text(self.settings.data_dir, self.folder)

    @cached_property
    def data(self) -> finetuning.Classified:
        return finetuning.read_task(self.settings.data_dir, self.settings.init)

    @cached_property
    def encoded(self) -> encoding.Encoded:
        return encoding.read(self.settings.data_dir, self.settings.init)


def _startup(inputs: _Inputs) -> Iterator[Measured]:
    yield from startup.startup(inputs.settings.rounds, inputs.settings.seed)
    found, ours, theirs = inputs.encoded, inputs.folder / "ours", inputs.folder / "theirs"
    found.write(ours, theirs)
    yield startup.encoding(found.named, ours, theirs, inputs.settings.rounds, inputs.settings.seed)


def _encoding(inputs: _Inputs) -> Iterator[Measured]:
    if find_spec("sentence_transformers") is None:
        inputs.tell("skipped, because sentence-transformers is not installed: pip install sentence-transformers")
        return
    yield from encoding.encoding_speed(inputs.encoded, inputs.settings.rounds, inputs.settings.seed)


def _batches(inputs: _Inputs) -> Iterator[Measured]:
    rounds, seed = inputs.settings.rounds, inputs.settings.seed
    yield pretraining.building_speed(inputs.text, rounds, seed)
    yield finetuning.building_speed(inputs.data, rounds, seed)


def _pretraining(inputs: _Inputs, precision: Precision) -> Iterator[Measured]:
    course = Course(inputs.settings.rounds, pool=inputs.text.recipe.train.pool, seed=inputs.settings.seed)
    for size in VOCABULARIES:
        yield pretraining.training_speed(inputs.text, size, course, precision)


def _finetuning(inputs: _Inputs, precision: Precision) -> Iterator[Measured]:
    course = Course(inputs.settings.rounds, pool=inputs.data.recipe.train.pool, seed=inputs.settings.seed)
    yield finetuning.training_speed(inputs.data, course, precision)
    if precision == "fp32":  # their Trainer can sort by length too, though it does not by itself
        yield finetuning.training_speed(inputs.data, replace(course, their_pool=course.steps))


def _cadamw(inputs: _Inputs) -> Iterator[Measured]:
    yield from optimiser.cadamw_speed(inputs.settings.rounds, inputs.settings.seed)


def _layer(inputs: _Inputs, precision: Precision) -> Iterator[Measured]:
    yield from layers.layer_speed(layers.Setup(inputs.settings.rounds, inputs.settings.seed, precision), inputs.tell)


def _unitary(inputs: _Inputs) -> Iterator[Measured]:
    yield from heads.unitary_speed(inputs.settings.rounds, inputs.settings.seed)


def _qbert(inputs: _Inputs, precision: Precision) -> Iterator[Measured]:
    # A step of complex64 takes seconds, and none of these trainings is meant to teach anything.
    course = Course(inputs.settings.rounds, steps=2, pool=inputs.text.recipe.train.pool, seed=inputs.settings.seed)
    for size in VOCABULARIES:
        yield steps.pretraining_speed(inputs.text, size, course, precision)


def _iwae(inputs: _Inputs, precision: Precision) -> Iterator[Measured]:
    for space in SPACES:
        yield iwae_speed(inputs.settings.rounds, inputs.settings.seed, precision, space)


def _generation(inputs: _Inputs, precision: Precision) -> Iterator[Measured]:
    yield generation_speed(inputs.settings.rounds, inputs.settings.seed, precision)


BENCHMARKS: dict[str, Callable[[_Inputs], Iterator[Measured]]] = {
    "startup": _startup,
    "encoding": _encoding,
    "batches": _batches,
    "pretraining": lambda inputs: _pretraining(inputs, "fp32"),
    "finetuning": lambda inputs: _finetuning(inputs, "fp32"),
    "pretraining-bf16": lambda inputs: _pretraining(inputs, "bf16"),
    "finetuning-bf16": lambda inputs: _finetuning(inputs, "bf16"),
    "cadamw": _cadamw,
    "complex-layer": lambda inputs: _layer(inputs, "fp32"),
    "complex-layer-bf16": lambda inputs: _layer(inputs, "bf16"),
    "unitary-head": _unitary,
    "qbert-pretraining": lambda inputs: _qbert(inputs, "fp32"),
    "qbert-pretraining-bf16": lambda inputs: _qbert(inputs, "bf16"),
    "rac": lambda inputs: tensors.tensor_speed(inputs.settings.rounds, inputs.settings.seed, inputs.tell),
    "rac-scale": lambda inputs: tensors.growth(inputs.settings.rounds, inputs.settings.seed),
    "iwae": lambda inputs: _iwae(inputs, "fp32"),
    "iwae-bf16": lambda inputs: _iwae(inputs, "bf16"),
    "generation": lambda inputs: _generation(inputs, "fp32"),
    "generation-bf16": lambda inputs: _generation(inputs, "bf16"),
}
# Those that compare with other things than transformers.
TORCH_ALONE = {
    "cadamw",
    "complex-layer",
    "complex-layer-bf16",
    "unitary-head",
    "qbert-pretraining",
    "qbert-pretraining-bf16",
    "rac",
    "rac-scale",
}


def run(settings: Settings, tell: Callable[[str], None]) -> Iterator[ResultLine]:
    """Run benchmarks one by one; yields a line as each is done, and tells what it does or cannot do.

    Errors: an unknown name.
    """
    unknown = next((name for name in settings.only if name not in BENCHMARKS), None)
    if unknown is not None:
        raise UserError(
            f"no benchmark called {unknown!r}{near(unknown, BENCHMARKS) or '; there are: ' + ', '.join(BENCHMARKS)}"
        )
    wanted = [name for name in BENCHMARKS if name in (settings.only or BENCHMARKS)]
    left_out = [name for name in wanted if name not in TORCH_ALONE] if find_spec("transformers") is None else []
    if left_out:
        tell(f"skipped, because transformers is not installed (pip install 'psitext[hf]'): {', '.join(left_out)}")
        wanted = [name for name in wanted if name in TORCH_ALONE]
    with one_thread(), TemporaryDirectory() as folder:
        inputs = _Inputs(settings, Path(folder), tell)
        for name in wanted:
            tell(f"{name} ...")
            began = time.monotonic()
            for found in BENCHMARKS[name](inputs):
                yield line(found, settings, time.monotonic() - began)
                began = time.monotonic()


def line(found: Measured, settings: Settings, seconds: float) -> ResultLine:
    """A measurement as a result line."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    metrics = {"ratio": found.ratio, "ours": found.ours, "theirs": found.theirs}
    if found.growth is not None:
        metrics |= {"exponent": found.growth.exponent, "exponent of the last two": found.growth.last}
    if found.losses is not None:
        metrics |= {"loss ours": found.losses[0], "loss theirs": found.losses[1]}
    return ResultLine(
        run="bench",
        task=f"{found.name} ({found.unit})",
        split="speed",
        metrics=metrics,
        recipe="bench",
        seed=settings.seed,
        rows={"train": found.rows} if found.rows else {},
        seconds=round(seconds, 1),
        threads=1,
        commit=stamp.commit(),
        versions=stamp.versions(),
        finished=lines.now(),
        notes={"title": "Speed", "command": "psitext bench", "rounds": settings.rounds, "load": load},
    )


def table(found: Sequence[ResultLine]) -> list[dict[str, str]]:
    """Lines as rows for a terminal; a column that none of them fills is left out."""
    rows = [
        {
            "benchmark": line.task,
            **{name: f"{line.metrics[name]:.3g}" for name in ("ours", "theirs", "ratio")},
            "exponents": " / ".join(f"{line.metrics[key]:.2f}" for key in line.metrics if key.startswith("exponent")),
            "last losses": " / ".join(f"{line.metrics[key]:.3f}" for key in line.metrics if key.startswith("loss")),
        }
        for line in found
    ]
    return [{name: value for name, value in row.items() if any(other[name] for other in rows)} for row in rows]
