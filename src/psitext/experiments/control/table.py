"""A row of the paper's table 6: one way to write with a label, judged on a task's held-out sentences.

Every way learns from the same sentences and is judged by the same judge on as many sentences of each label; all of them
write greedily but copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from psitext.baselines.control import CtrlGenConfig, RivalConfig
from psitext.config import Config
from psitext.errors import UserError
from psitext.experiments.control import fitting
from psitext.experiments.control.data import Parts, key, parts_of
from psitext.experiments.control.judging import judge_of, judged
from psitext.experiments.control.rivals import train_rival
from psitext.experiments.latents.telling import fitted, posterior
from psitext.explain.latent.neighbours import nearest
from psitext.explain.latent.prior import standard
from psitext.model import Model, load
from psitext.randomness import below
from psitext.state import Posterior
from psitext.text.examples import Example
from psitext.train.adversarial import GanConfig
from psitext.train.loop import Hook

Way = Literal["gan", "gaussian", "mixture", "rival", "nearest", "copies"]
FEWEST = 100  # sentences of each label that are worth a row


class ControlRow(Config):
    """What is judged, and how.

    ``way``: "gan", the paper's; "gaussian" and "mixture", a density fitted to the latents of each label, which no game
    is needed for; "rival", trained from nothing with the space's tokenizer; "nearest", the sentence of the label whose
    latent is nearest to a draw from N(0, 1); "copies", training sentences of the label.
    """

    way: Way = "gan"
    gan: GanConfig = GanConfig()
    rival: RivalConfig = CtrlGenConfig()
    scale: float = Field(default=1.0, ge=0)  # of the generator's noise
    sentences: int = Field(default=500, gt=0)  # of each label
    limit: int | None = Field(default=20_000, gt=0)  # training sentences of generators and densities; rivals take all
    held_out: int = Field(default=10_000, gt=0)
    judge: str | None = None  # a fine-tuned model in place of the logistic regression


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is said of a row."""

    metrics: dict[str, float]
    rows: dict[str, int]
    seconds: float  # of learning and writing
    notes: dict[str, Any]


Writes = Callable[[str, int], list[str]]  # a label and how many


def row(
    config: ControlRow,
    task: str,
    space: str,
    data_dir: Path | None = None,
    seed: int = 1,
    tell: Hook = lambda event: None,
) -> Outcome:
    """Learn, write, judge. ``space`` is the model that writes, or whose tokenizer a rival uses.

    Errors: as those of the parts; fewer than ``FEWEST`` sentences to judge by.
    """
    if config.sentences < FEWEST:
        raise UserError(f"a row judges at least {FEWEST} sentences of each label, not {config.sentences}")
    parts = parts_of(task, data_dir, config.held_out, None if config.way == "rival" else config.limit)
    model = load(space)
    judge = judge_of(parts, None if config.judge is None else load(config.judge))
    began = time.monotonic()
    write, notes = WAYS[config.way](config, parts, model, seed, tell)
    written = {label: write(label, config.sentences) for label in parts.labels}
    seconds = time.monotonic() - began
    rows = {"train": len(parts.train), "judge": len(parts.judge), "held out": len(parts.held_out)}
    rows["written"] = config.sentences * len(parts.labels)
    own = {label: [one for one in texts if key(one) not in judge.seen] for label, texts in written.items()}
    examples = {label: texts[:5] for label, texts in own.items()}  # no sentence of the data goes into result lines
    return Outcome(judged(judge, written).metrics(), rows, seconds, {**notes, "examples": examples})


def _gan(config: ControlRow, parts: Parts, model: Model, seed: int, tell: Hook) -> tuple[Writes, dict[str, Any]]:
    gan = config.gan.model_copy(update={"seed": seed})
    control = fitting.fit(model, parts.train, parts.labels, gan, fitting.events(tell))
    notes = {key: value for key, value in control.facts.items() if key != "sentences"}
    return lambda label, n: control.write(label, n, seed=seed, scale=config.scale), notes


def _density(config: ControlRow, parts: Parts, model: Model, seed: int, tell: Hook) -> tuple[Writes, dict[str, Any]]:
    kind: Literal["gaussian", "mixture"] = "mixture" if config.way == "mixture" else "gaussian"
    priors = {
        label: fitted(model, [one.text for one in some], kind, seed=seed) for label, some in _by_label(parts).items()
    }
    return lambda label, n: model.decode(priors[label].sample(n, seed).float()), {}


def _rival(config: ControlRow, parts: Parts, model: Model, seed: int, tell: Hook) -> tuple[Writes, dict[str, Any]]:
    rival = train_rival(config.rival, parts.train, parts.labels, model.writer, seed, fitting.events(tell))
    return lambda label, n: rival.write(label, n, seed=seed), dict(rival.facts)


def _nearest(config: ControlRow, parts: Parts, model: Model, seed: int, tell: Hook) -> tuple[Writes, dict[str, Any]]:
    texts = {label: [one.text for one in some] for label, some in _by_label(parts).items()}
    latents = {label: posterior(model, some) for label, some in texts.items()}

    def write(label: str, n: int) -> list[str]:
        mean = standard(latents[label].width).sample(n, seed + parts.labels.index(label)).float()
        asked = Posterior(mean, mean.new_zeros(mean.shape))
        return [texts[label][at] for at in nearest(asked, latents[label], 1, "euclidean").index[:, 0].tolist()]

    return write, {}


def _copies(config: ControlRow, parts: Parts, model: Model, seed: int, tell: Hook) -> tuple[Writes, dict[str, Any]]:
    texts = {label: [one.text for one in some] for label, some in _by_label(parts).items()}

    def write(label: str, n: int) -> list[str]:
        return [texts[label][at] for at in below(len(texts[label]), seed, "copies", np.arange(n)).tolist()]

    return write, {}


WAYS: dict[Way, Callable[[ControlRow, Parts, Model, int, Hook], tuple[Writes, dict[str, Any]]]] = {
    "gan": _gan,
    "gaussian": _density,
    "mixture": _density,
    "rival": _rival,
    "nearest": _nearest,
    "copies": _copies,
}


def _by_label(parts: Parts) -> dict[str, list[Example]]:
    return {label: [example for example in parts.train if example.label == label] for label in parts.labels}
