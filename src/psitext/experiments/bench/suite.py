"""All benchmarks by name, and their results as lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from psitext.errors import UserError, near
from psitext.experiments.bench import finetuning, pretraining, startup
from psitext.experiments.bench.racing import Course
from psitext.experiments.bench.timing import Measured, one_thread
from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.nn.numerics import Precision

NAMES = ("startup", "batches", "pretraining", "pretraining-bf16", "finetuning")
VOCABULARIES = (8_192, 30_522)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the benchmarks run on."""

    rounds: int = 4  # measured rounds of 8 training steps; medians are over them
    only: tuple[str, ...] = ()  # names; none = all
    data_dir: Path | None = None
    init: str | None = None  # the BERT that is fine-tuned; None = a fresh BERT-mini
    seed: int = 0


def run(settings: Settings, tell: Callable[[str], None]) -> Iterator[ResultLine]:
    """Run benchmarks one by one; yields a line as each is done, and tells what it does or cannot do.

    Errors: an unknown name.
    """
    unknown = next((name for name in settings.only if name not in NAMES), None)
    if unknown is not None:
        raise UserError(f"no benchmark called {unknown!r}{near(unknown, NAMES) or '; there are: ' + ', '.join(NAMES)}")
    wanted = [name for name in NAMES if name in (settings.only or NAMES)]
    if find_spec("transformers") is None:
        tell(f"skipped, because transformers is not installed (pip install 'psitext[hf]'): {', '.join(wanted)}")
        return
    with one_thread(), TemporaryDirectory() as folder:
        for name in wanted:
            tell(f"{name} ...")
            began = time.monotonic()
            for found in _benchmark(name, settings, Path(folder)):
                yield line(found, settings, time.monotonic() - began)
                began = time.monotonic()


def _benchmark(name: str, settings: Settings, folder: Path) -> Iterator[Measured]:
    course = Course(settings.rounds, seed=settings.seed)
    if name == "startup":
        yield from startup.startup(settings.rounds, settings.seed)
        return
    if name in ("batches", "finetuning"):
        data = finetuning.read_task(settings.data_dir, settings.init)
    if name == "finetuning":
        pool = data.recipe.train.pool
        yield finetuning.training_speed(data, Course(settings.rounds, pool=pool, seed=settings.seed))
        return
    text = pretraining.read_text(settings.data_dir, folder)
    if name == "batches":
        yield pretraining.building_speed(text, course)
        yield finetuning.building_speed(data, course)
        return
    precision: Precision = "bf16" if name == "pretraining-bf16" else "fp32"
    for size in VOCABULARIES:
        pool = text.recipe.train.pool
        yield pretraining.training_speed(text, size, Course(settings.rounds, pool=pool, seed=settings.seed), precision)


def line(found: Measured, settings: Settings, seconds: float) -> ResultLine:
    """A measurement as a result line."""
    metrics = {"ratio": found.ratio, "ours": found.ours, "theirs": found.theirs}
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
        notes={"title": "Speed", "command": "psitext bench", "rounds": settings.rounds},
    )


def table(found: Sequence[ResultLine]) -> list[dict[str, str]]:
    """Lines as rows for a terminal."""
    return [
        {
            "benchmark": line.task,
            **{name: f"{line.metrics[name]:.3g}" for name in ("ours", "theirs", "ratio")},
            "last losses": " / ".join(f"{line.metrics[key]:.3f}" for key in line.metrics if key.startswith("loss")),
        }
        for line in found
    ]
