"""A control on disk: ``control.json`` (labels, settings, which model it belongs to), ``generator.safetensors``,
``checksums.json``. No pickles; the model's weights stay where they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, field_validator

from psitext import __version__
from psitext.config import Config, build
from psitext.errors import UserError
from psitext.experiments.control.control import Control
from psitext.experiments.latents.records import fingerprint
from psitext.files import folder_atomic, holds_another, sha256, write_atomic
from psitext.model import Model
from psitext.model import load as load_model
from psitext.model.shipped import located, names
from psitext.train import checkpoint
from psitext.train.adversarial import GanConfig, LatentGenerator, Likeness

FORMAT = 1  # raised when a field changes its meaning
CONTROL, GENERATOR = "control.json", "generator.safetensors"


class Saved(Config):
    """What ``control.json`` holds."""

    format: int = FORMAT
    psitext: str
    labels: tuple[str, ...] = Field(min_length=2)
    model: str  # where the model lies, from this folder; hf:..., or the name of one that ships with psitext
    fingerprint: str  # of its weights
    latent: int = Field(gt=0)  # P
    settings: GanConfig
    likeness: tuple[dict[str, float], ...]
    facts: dict[str, Any] = Field(default_factory=dict)

    @field_validator("format")
    @classmethod
    def _known(cls, value: int) -> int:
        if value != FORMAT:
            raise ValueError(f"this version of psitext reads format {FORMAT}")
        return value


def save(control: Control, folder: Path, model: str | Path) -> None:
    """Write a control in one step, in the place of an older one; ``model`` is where its model was loaded from.

    Errors: a place that holds something else.
    """
    check_place(folder)
    name = str(model)
    place = name if name.startswith("hf:") or located(name) != Path(name) else os.path.relpath(name, folder)
    saved = Saved(
        psitext=__version__,
        labels=control.labels,
        model=place,
        fingerprint=fingerprint(control.model.network, []),
        latent=control.generator.latent,
        settings=control.settings,
        likeness=tuple(asdict(one) for one in control.likeness),
        facts=dict(control.facts),
    )
    with folder_atomic(folder) as part:
        write_atomic(part / CONTROL, json.dumps(saved.tree(), ensure_ascii=False, indent=2) + "\n")
        checkpoint.write_tensors(checkpoint.tensors_of(control.generator), part / GENERATOR)
        sums = {name: sha256(part / name) for name in (CONTROL, GENERATOR)}
        write_atomic(part / checkpoint.CHECKSUMS, json.dumps(sums, indent=2))


def check_place(folder: Path) -> None:
    """Refuse a place that holds something else."""
    if holds_another(folder, (CONTROL,)):
        raise UserError(f"{folder} holds something else than a control; name another folder")


def load(folder: Path, space: str | None = None) -> Control:
    """Read what ``save`` wrote, and its model: where it lay, or at ``space``.

    Errors: no control there, a damaged one; no model there, or another one than the generator was trained on.
    """
    saved = read(folder)
    place = space or _place(saved.model, folder)
    model = _model(place, folder, space)
    if fingerprint(model.network, []) != saved.fingerprint:
        raise UserError(
            f"{os.path.normpath(place)} is not the model that {folder} was made for: its weights differ; name that one "
            "with --space, or fit the labels again"
        )
    generator = network(saved)
    checkpoint.load_tensors(generator, checkpoint.read_tensors(folder / GENERATOR), str(folder / GENERATOR))
    likeness = tuple(Likeness(**one) for one in saved.likeness)
    return Control(model, generator, saved.labels, saved.settings, likeness, saved.facts)


def read(folder: Path) -> Saved:
    """The settings in a folder whose files are as they were written."""
    if not (folder / CONTROL).is_file():
        what = "there is no such folder" if not folder.exists() else f"it has no {CONTROL}"
        raise UserError(f"{folder} holds no labels to write by: {what}; `psitext generate fit` makes them")
    try:
        sums: Mapping[str, str] = dict(json.loads((folder / checkpoint.CHECKSUMS).read_text(encoding="utf-8")))
        wrong = next((name for name in (CONTROL, GENERATOR) if sha256(folder / name) != sums[name]), None)
        tree = json.loads((folder / CONTROL).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{folder} is damaged ({error}); fit the labels again") from None
    if wrong is not None:
        raise UserError(f"{folder / wrong} is damaged: its checksum is not the one it was saved with")
    return build(Saved, tree, str(folder / CONTROL))


def network(saved: Saved) -> LatentGenerator:
    """The generator that the settings describe, its weights not read yet."""
    with torch.random.fork_rng(devices=[]):  # weights of a fresh one are drawn
        settings = saved.settings
        made = LatentGenerator(saved.latent, len(saved.labels), settings.noise, settings.width, settings.layers)
    return made.requires_grad_(False).eval()


def _place(model: str, folder: Path) -> str:
    """Where the model of a folder is to be looked for."""
    there = folder / model
    return (
        model if model.startswith("hf:") else str(there if there.exists() or model not in names() else located(model))
    )


def _model(place: str, folder: Path, space: str | None) -> Model:
    if space is None and not place.startswith("hf:") and not Path(place).exists():
        raise UserError(
            f"the model that {folder} belongs to is not at {os.path.normpath(place)} any more; name it with --space"
        )
    return load_model(place)
