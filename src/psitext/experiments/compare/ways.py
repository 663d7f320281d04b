"""How a contender answers: trained on the same rows, asked about the same rows, under one seed.

N rows to judge by.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from psitext.baselines import bag_of_words, frozen
from psitext.baselines.majority import majority
from psitext.config import build, recipe_hash
from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.compare.rows import Rows
from psitext.experiments.compare.settings import Contender
from psitext.experiments.finetune import finetune_run, limited, starting_model
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, LabelledConfig
from psitext.files import remove, write_atomic
from psitext.model import Model
from psitext.text.examples import Example
from psitext.train.loop import Hook
from psitext.train.network import parameter_count

CONTENDER = "contender.json"
WARM = 8  # rows that are answered before the clock runs

Answers = list[str] | list[float]


@dataclass(frozen=True, slots=True)
class Job:
    """One contender under one seed; ``recipe`` is that of what has an encoder."""

    contender: Contender
    seed: int
    rows: Rows
    folder: Path
    recipe: FinetuneRecipe | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it. Seconds are wall clock: of training, and of answering all N rows."""

    answers: Answers  # N labels, or N scores
    parameters: int
    train_seconds: float
    predict_seconds: float
    train_rows: int
    steps: int = 0
    truncated: int = 0  # training texts that were longer than what is read
    notes: Mapping[str, Any] = field(default_factory=dict)
    max_len: int = 0  # tokens of a text that are read; 0 of what reads all


def write_tried(path: Path, one: Contender, seed: int, tried: Tried) -> None:
    """Write down what came of a contender under a seed."""
    record = {**asdict(tried), "contender": recipe_hash(one), "seed": seed}
    write_atomic(path, json.dumps(record, ensure_ascii=False))


def read_tried(path: Path, one: Contender, rows: int) -> Tried | None:
    """What came of a contender under a seed before. Errors: it was another contender of the name."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        hashed, _ = tree.pop("contender"), tree.pop("seed")
        tried = Tried(**tree)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UserError(f"{path} is damaged; delete it, and that seed is done again") from None
    if hashed != recipe_hash(one) or len(tried.answers) != rows:
        raise UserError(f"{path} is of {one.name} under other settings; give --out another folder")
    return tried


def note_contender(folder: Path, one: Contender, leak: str) -> None:
    """Write down a contender's settings, and how it learnt from rows that judge, for later comparisons here."""
    write_atomic(folder / CONTENDER, json.dumps({"contender": one.tree(), "leak": leak}, ensure_ascii=False))


def noted_contenders(out: Path) -> dict[str, tuple[Contender, str]]:
    """The contenders of a comparison's folder by name, each with its leak. Errors: a note that is damaged."""
    found = {}
    for path in sorted(out.glob(f"*/{CONTENDER}")):
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            one, leak = build(Contender, tree["contender"], str(path)), str(tree["leak"])
        except (OSError, ValueError, LookupError, TypeError, UserError):
            raise UserError(f"{path} is damaged; delete {path.parent}, and that contender is forgotten") from None
        found[one.name] = (one, leak)
    return found


def try_out(job: Job, hook: Hook) -> Tried:
    """Train a contender and ask it."""
    return _WAYS[job.contender.how](job, hook)


def _majority(job: Job, hook: Hook) -> Tried:
    began = time.monotonic()
    answers = majority(job.rows.train, job.rows.dev)
    spent = time.monotonic() - began
    return Tried(answers, 1, spent, 0.0, len(job.rows.train))


def _bag_of_words(job: Job, hook: Hook) -> Tried:
    import sklearn.linear_model  # noqa: F401 - before the clock runs

    train = _limited(job)
    began = time.monotonic()
    fitted = bag_of_words.fit(train, job.rows.task.labels or None, job.seed)
    spent = time.monotonic() - began
    answers, seconds = _timed(fitted.predict, job.rows.dev)
    size = sum(np.size(getattr(fitted.model, name, ())) for name in ("coef_", "intercept_"))
    return Tried(answers, size, spent, seconds, len(train), notes={"strength": fitted.strength})


def _frozen(job: Job, hook: Hook) -> Tried:
    import sklearn.model_selection  # noqa: F401 - before the clock runs

    assert job.recipe is not None
    task, train = job.rows.task, _limited(job)
    model = starting_model(job.recipe)
    model = Model(model.network, model.tokenizers, job.recipe.text, model.head)
    began = time.monotonic()
    inside = _states(model, train)
    spent = time.monotonic() - began
    outside, seconds = _timed(lambda some: _states(model, some), job.rows.dev)
    began = time.monotonic()
    answers: Answers
    if task.kind == "regression":
        answers = frozen.regress(inside, evaluation.gold(task, train), outside).tolist()
    else:
        ids = frozen.classify(inside, evaluation.gold(task, train), outside, job.seed)
        answers = [task.labels[index] for index in ids]
    spent += time.monotonic() - began
    cut = sum(model.longer(*_columns(train)))
    outputs = 1 if len(task.labels) <= 2 else len(task.labels)
    size = parameter_count(model.encoder) + outputs * (inside.shape[1] + 1)
    read = job.recipe.text.max_len
    return Tried(answers, size, spent, seconds, len(train), truncated=cut, max_len=read)


def _finetune(job: Job, hook: Hook) -> Tried:
    assert job.recipe is not None
    model = finetune_run(job.recipe, job.folder, [hook])
    result = RunFolder(job.folder).result()
    remove(job.folder / "checkpoints")  # of a model that is saved
    answers, seconds = _timed(lambda some: [one.label for one in model.predict(some)], job.rows.dev)
    counters = result["counters"]
    return Tried(
        answers, result["parameters"], counters["seconds"], seconds, result["rows"]["train"], counters["step"],
        result["truncated"], max_len=model.text.max_len,
    )  # fmt: skip


_WAYS: dict[str, Callable[[Job, Hook], Tried]] = {
    "majority": _majority,
    "bag-of-words": _bag_of_words,
    "frozen": _frozen,
    "finetune": _finetune,
}


def _limited(job: Job) -> list[Example]:
    return limited(job.rows.train, LabelledConfig(limit=job.contender.most_rows))


def _states(model: Model, some: Sequence[Example]) -> np.ndarray[Any, Any]:
    """(N, D) states as real numbers."""
    found: np.ndarray[Any, Any] = model.encode(*_columns(some)).to_real().numpy()
    return found


def _columns(some: Sequence[Example]) -> tuple[list[str], list[str] | None]:
    """Texts, and the second ones where there are any."""
    return [one.text for one in some], None if some[0].pair is None else [one.pair or "" for one in some]


def _timed(answer: Callable[[Sequence[Example]], Any], rows: Sequence[Example]) -> tuple[Any, float]:
    """The answers to all rows and the seconds that they took, after a few to warm up."""
    answer(rows[:WARM])
    began = time.monotonic()
    found = answer(rows)
    return found, time.monotonic() - began
