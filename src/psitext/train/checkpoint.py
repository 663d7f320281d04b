"""Checkpoints: everything a run needs to go on, in one folder that is whole or not there.

A folder ``step-00000120`` holds ``model.safetensors`` (parameters and buffers by name, shared ones once),
``optimizer.safetensors`` (moments by parameter name), ``counters.json`` and ``checksums.json``; ``best-00000100``
holds the best weights so far and their checksum, named by their step, so that each checkpoint finds those it knows
of. Sharded tensors are gathered before they are written and cut again when they are read, so a run may go on with
another number of ranks (then equal to float tolerance, not bit for bit).

Damage never changes a run. Best weights are made again from the checkpoint of the same step, where that is kept.
Else the run goes on from an earlier checkpoint that does not need what is lost, and comes to the same weights again,
bit for bit; where there is none it is refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from psitext.errors import UserError
from psitext.files import folder_atomic, os_error, sha256, usual_mode, write_atomic

MODEL, OPTIMIZER, COUNTERS, CHECKSUMS = (
    "model.safetensors",
    "optimizer.safetensors",
    "counters.json",
    "checksums.json",
)


@dataclass(frozen=True, slots=True)
class Counters:
    """How far a run has come."""

    step: int = 0  # optimiser steps done
    epoch: int = 0  # the epoch that the next step belongs to
    batch: int = 0  # its next batch in that epoch
    tokens: int = 0  # real tokens trained on, all ranks
    seconds: float = 0.0  # spent training, over all starts
    best: float | None = None  # best headline value on the development set
    best_step: int = 0
    stale: int = 0  # evaluations since the best one
    loss: float | None = None  # of the last logged interval
    unlogged: int = 0  # steps since that was logged ...
    sums: Mapping[str, float] = field(default_factory=dict)  # ... and the sums of their losses


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name on the CPU, whole, each shared tensor once. Every rank must call
    this.
    """
    return {name: _whole(value) for name, value in _own(module).items()}


def load_tensors(module: nn.Module, tensors: Mapping[str, Tensor], origin: str) -> None:
    """Copy tensors into a module; a missing, unknown or misshapen one is refused before anything is changed."""
    own = _own(module)
    missing, unknown = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    if missing or unknown:
        what = f"lacks {missing[0]!r}" if missing else f"holds {unknown[0]!r}, which it has no place for"
        raise UserError(f"{origin} does not fit this model: it {what} ({len(missing)} missing, {len(unknown)} unknown)")
    for name, value in own.items():
        if value.shape != tensors[name].shape:
            have, want = tuple(tensors[name].shape), tuple(value.shape)
            raise UserError(f"{origin} does not fit this model: {name!r} is {have}, not {want}")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(_like(tensors[name], value))


def save(folder: Path, network: nn.Module, optimizer: Optimizer, counters: Counters, *, writer: bool = True) -> Path:
    """Write ``folder/step-NNNNNNNN``; every rank takes part in gathering, the one with ``writer`` writes."""
    _reshard(network)
    model, state = tensors_of(network), _moments(network, optimizer)
    path = folder / _step(counters.step)
    if writer and not whole(path):
        with folder_atomic(path) as part:
            write_tensors(model, part / MODEL)
            write_tensors(state, part / OPTIMIZER)
            write_atomic(part / COUNTERS, json.dumps(asdict(counters)))
            _seal(part, MODEL, OPTIMIZER, COUNTERS)
    return path


def restore(path: Path, network: nn.Module, optimizer: Optimizer) -> Counters:
    """Load what ``save`` wrote into a network and an optimiser of the same shape."""
    load_tensors(network, read_tensors(path / MODEL), str(path))
    _load_moments(network, optimizer, read_tensors(path / OPTIMIZER))
    return Counters(**json.loads((path / COUNTERS).read_text()))


def latest(folder: Path) -> Path | None:
    """The newest checkpoint that is whole, as are the best weights that it names; damaged ones are passed over.

    Errors: every whole checkpoint names best weights that are lost or damaged; without them the run would end with
    others.
    """
    lost = None
    for path in sorted(folder.glob("step-*"), reverse=True):
        if whole(path):
            step = _best_step(path)
            if step is None or whole(folder / _best(step)):
                return path
            lost = folder / _best(step)
    if lost is not None:
        raise UserError(
            f"{lost} is missing or damaged, and every checkpoint that is left needs it; put a copy of it back, or "
            f"delete {folder} to train from the start"
        )
    return None


def mend(folder: Path) -> None:
    """Make best weights that are lost or damaged again from the checkpoint of their step, which holds the same."""
    for step in {step for step in map(_best_step, folder.glob("step-*")) if step is not None}:
        same = folder / _step(step)
        if not whole(folder / _best(step)) and whole(same):
            with folder_atomic(folder / _best(step)) as part:
                shutil.copyfile(same / MODEL, part / MODEL)
                _seal(part, MODEL)


def whole(path: Path) -> bool:
    """True when every file of the folder is as it was written."""
    try:
        sums: dict[str, str] = dict(json.loads((path / CHECKSUMS).read_text(encoding="utf-8")))
        return MODEL in sums and all(sha256(path / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, TypeError):
        return False


def prune(folder: Path, newest: Path, keep: int) -> None:
    """Keep the ``keep`` checkpoints that end with ``newest`` and the best weights that they name; delete the others.

    What is later than ``newest`` is damaged, or the run would have gone on from there; hidden folders are what a
    kill left half-written.
    """
    good = [path for path in sorted(folder.glob("step-*")) if path.name <= newest.name][-keep:]
    kept = {path.name for path in good} | {_best(step) for step in map(_best_step, good) if step is not None}
    for path in (*folder.glob("step-*"), *folder.glob("best-*"), *folder.glob(".step-*"), *folder.glob(".best-*")):
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def save_best(folder: Path, network: nn.Module, step: int, *, writer: bool = True) -> None:
    """Keep the weights of ``step`` as the best so far; every rank takes part in gathering."""
    tensors = tensors_of(network)
    if writer:
        with folder_atomic(folder / _best(step)) as part:
            write_tensors(tensors, part / MODEL)
            _seal(part, MODEL)


def load_best(folder: Path, network: nn.Module, step: int) -> None:
    """Put the best weights, which are those of ``step``, into the network."""
    path = folder / _best(step)
    if not whole(path):
        raise UserError(f"{path} is missing or damaged; when the run goes on, it does so from before that")
    load_tensors(network, read_tensors(path / MODEL), str(path))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read one safetensors file, or say that it is damaged."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path} is missing or damaged ({error}); an earlier checkpoint or a fresh copy is needed"
        ) from None


def write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write one safetensors file (inside a folder that becomes visible as a whole); a full disk is an OSError."""
    try:
        with usual_mode(path):
            save_file({name: value.contiguous() for name, value in tensors.items()}, path)
    except SafetensorError as error:  # how the library reports a full disk
        raise os_error(error, path) from None


def _own(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, each shared tensor once."""
    persistent = module.state_dict().keys()
    return dict(module.named_parameters()) | {n: b for n, b in module.named_buffers() if n in persistent}


def _seal(folder: Path, *names: str) -> None:
    """Note the checksums of a folder's files beside them."""
    write_atomic(folder / CHECKSUMS, json.dumps({name: sha256(folder / name) for name in names}))


def _step(step: int) -> str:
    return f"step-{step:08d}"


def _best(step: int) -> str:
    return f"best-{step:08d}"


def _best_step(path: Path) -> int | None:
    """The step of the best weights that a checkpoint knows of."""
    try:
        found = json.loads((path / COUNTERS).read_text())
        return int(found["best_step"]) if found["best"] is not None else None
    except (OSError, ValueError, TypeError, KeyError):  # damaged
        return None


def _moments(network: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    found = {}
    for name, parameter in network.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if torch.is_tensor(value):
                found[f"{key}/{name}"] = _whole(value)
    return found


def _load_moments(network: nn.Module, optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    parameters = dict(network.named_parameters())
    for full_name, value in tensors.items():
        key, _, name = full_name.partition("/")
        parameter = parameters[name]
        # The step counter is a scalar beside the parameter; moments have the parameter's shape and sharding.
        restored = _like(value, parameter) if value.shape == parameter.shape else value.to(parameter.device)
        optimizer.state[parameter][key] = restored.clone()


def _reshard(network: nn.Module) -> None:
    """Put FSDP's shards back in place of the whole parameters that an evaluation leaves behind: the optimiser knows
    its moments by the shards.
    """
    for module in network.modules():
        reshard = getattr(module, "reshard", None)
        if reshard is not None:
            reshard()


# Sharded tensors are told by what they can do: loading their class takes longer than loading most models.
def _whole(value: Tensor) -> Tensor:
    value = value.detach()
    return (value.full_tensor() if hasattr(value, "full_tensor") else value).cpu().clone()


def _like(value: Tensor, model: Tensor) -> Tensor:
    value = value.to(model.device)
    mesh, placements = getattr(model, "device_mesh", None), getattr(model, "placements", None)
    if mesh is None:
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value, mesh, placements)
