"""Labelled sentences to a generator of latents with a label; the space itself is not changed.

Letters: S sentences, P latent numbers, K labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import torch

from psitext.errors import UserError
from psitext.experiments.control.control import Control
from psitext.experiments.latents.telling import posterior
from psitext.model import Model
from psitext.text.examples import Example
from psitext.train.adversarial import GanConfig, Latents, fit_generator
from psitext.train.loop import Hook

Tell = Callable[[int, Mapping[str, float]], None]
EVERY = 50  # steps of a game between two that are told


def fit(
    model: Model,
    examples: Sequence[Example],
    labels: Sequence[str],
    config: GanConfig | None = None,
    tell: Tell = lambda step, losses: None,
) -> Control:
    """A generator for K labels, from sentences that have one of them each; empty ones are left out.

    The same model, sentences and settings give the same generator. Errors: a label without two sentences; a model
    without a latent space.
    """
    config = config or GanConfig()
    fitted = fit_generator(latents_of(model, examples, labels), config, tell)
    counts = {label: sum(example.label == label for example in examples) for label in labels}
    facts = {
        "sentences": counts,
        "losses": dict(fitted.losses),
        "likeness": {label: asdict(like) for label, like in zip(labels, fitted.likeness, strict=True)},
    }
    return Control(model, fitted.generator, tuple(labels), config, fitted.likeness, facts)


def events(hook: Hook) -> Tell:
    """Steps of a game as events of a run, one in ``EVERY``."""

    def tell(step: int, losses: Mapping[str, float]) -> None:
        if step % EVERY == 0:
            hook({"kind": "train", "step": step, **{f"loss_{name}": value for name, value in losses.items()}})

    return tell


def latents_of(model: Model, examples: Sequence[Example], labels: Sequence[str]) -> Latents:
    """The posteriors of labelled sentences, read once."""
    full = [example for example in examples if example.text.strip()]
    if not full:
        raise UserError("there is no sentence to learn a label from")
    number = {label: place for place, label in enumerate(labels)}
    strange = next((example for example in full if example.label not in number), None)
    if strange is not None:
        where = f"{strange.source} line {strange.line}" if strange.source else "a sentence"
        raise UserError(f"{where} has the label {strange.label!r}, which is none of: {', '.join(labels)}")
    for label in labels:
        if sum(example.label == label for example in full) < 2:
            raise UserError(f"a generator learns a label from two sentences at least, and {label!r} has fewer")
    found = posterior(model, [example.text for example in full])
    numbers = torch.tensor([number[str(example.label)] for example in full])
    return Latents(found.vector, found.log_var, numbers, len(labels))
