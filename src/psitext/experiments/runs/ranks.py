"""Several processes, one run: the main one makes the files, all of them read what it made."""

from __future__ import annotations

import atexit
from contextlib import AbstractContextManager
from functools import cache

import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import broadcast_object_list


def accelerator() -> Accelerator:
    """The devices of this run. Without an accelerator of any kind, processes meet over the CPU's own backend."""
    _state()
    return Accelerator(cpu=not torch.accelerator.is_available())


def place() -> tuple[int, int]:
    """Which process of how many this is."""
    return int(_state().process_index), int(_state().num_processes)


def is_main() -> bool:
    """True in the one process that writes, also where there is no other."""
    return bool(_state().is_main_process)


def main_first() -> AbstractContextManager[None]:
    """The main process runs the block, then the others: what it made, they find made."""
    return _state().main_process_first()  # type: ignore[no-any-return]


def agreed(value: bool) -> bool:
    """What the main process says, in all of them: each may see the disk at another moment."""
    said = [value]
    broadcast_object_list(said)
    return said[0]


def wait() -> None:
    """Go on when every process has come this far."""
    _state().wait_for_everyone()


@cache
def _state() -> PartialState:
    state = PartialState(cpu=not torch.accelerator.is_available())
    # A process that ends with its group standing is aborted now and then, after all its work: gloo's threads still run.
    atexit.register(state.destroy_process_group)
    return state
