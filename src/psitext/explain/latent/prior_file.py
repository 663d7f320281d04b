"""A fitted prior as one file: tensors in safetensors' form, and in its header what they are, as JSON. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from psitext.errors import UserError
from psitext.explain.latent.prior import Prior
from psitext.files import write_atomic

ENDING, KEY, FORMAT = ".safetensors", "psitext.prior", 1
NAMES = ("weights", "means", "scales")


def write(prior: Prior, path: Path) -> None:
    """Write the file in one step. Errors: another ending; what ``write_atomic`` refuses."""
    if path.suffix != ENDING:
        raise UserError(f"a prior is written as {ENDING}, not as {path.name!r}")
    header = json.dumps({"format": FORMAT, "facts": dict(prior.facts)}, sort_keys=True)
    write_atomic(path, save({name: getattr(prior, name).contiguous() for name in NAMES}, {KEY: header}))


def read(path: Path) -> Prior:
    """Read it again, exactly. Errors: no such file; one that is damaged, or no prior of psitext's."""
    if not path.is_file():
        raise UserError(f"there is no prior at {path}")
    try:
        with safe_open(path, "pt") as file:
            header: dict[str, Any] = json.loads((file.metadata() or {})[KEY])
            found = {name: file.get_tensor(name) for name in NAMES}
    except (SafetensorError, OSError, LookupError, ValueError) as error:
        raise UserError(f"{path} is damaged, or no prior that psitext has written ({error})") from None
    if header.get("format") != FORMAT:
        raise UserError(f"{path} has format {header.get('format')}; this psitext reads format {FORMAT} of a prior")
    try:
        prior = Prior(**found, facts=header["facts"])
    except (LookupError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not _is_a_density(prior):
        raise UserError(f"{path} is damaged: its numbers are those of no density")
    return prior


def _is_a_density(prior: Prior) -> bool:
    sizes = prior.scales if prior.scales.ndim == 2 else prior.scales.diagonal(dim1=1, dim2=2)
    whole = all(bool(getattr(prior, name).isfinite().all()) for name in NAMES)
    one = abs(float(prior.weights.sum()) - 1) < torch.finfo(torch.float32).eps
    return whole and one and bool((prior.weights >= 0).all()) and bool((sizes > 0).all())
