"""A run's events for TensorBoard, beside the JSON lines that are always written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from psitext.errors import UserError
from psitext.train.loop import Event


class TensorBoard:
    """A hook that writes every number of an event under ``<kind>/<name>`` at its step."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError("--tensorboard needs a package more: pip install 'psitext[track]'") from None
        self.folder = folder
        self._open = SummaryWriter
        self._writer: Any = None

    def __call__(self, event: Event) -> None:
        """Write one event; the first one hides what an earlier life of the run wrote at later steps."""
        step = int(event["step"])
        if self._writer is None:
            self._writer = self._open(str(self.folder), purge_step=step)
        for name, value in event.items():
            if isinstance(value, int | float) and name != "step":
                self._writer.add_scalar(f"{event['kind']}/{name}", value, step)
        self._writer.flush()  # so that a kill loses nothing
