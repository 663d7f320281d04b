"""What is known of each sentence, kept in a folder line by line, so that an evaluation that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from psitext.errors import UserError
from psitext.experiments.runs.folder import Stopped
from psitext.files import append_line, write_atomic

FILE = "bounds.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """A sentence's bound, nats."""

    sentence: int  # its place in the source
    log_p: float
    rec: float
    kl: float


class Records:
    """The file of one evaluation, named ``of`` by what its numbers depend on; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, of: str) -> None:
        self.path = None if folder is None else folder / FILE
        self.of = of

    def check(self) -> None:
        """Refuse a place that is no folder, or one that holds something else than the records of an evaluation."""
        folder = None if self.path is None else self.path.parent
        if folder is None or not folder.exists():
            return
        if not folder.is_dir():
            raise UserError(f"{folder} is a file; what is done of an evaluation is kept in a folder, so name one")
        other = sorted(one.name for one in folder.iterdir() if one.name != FILE)
        if other:
            raise UserError(f"{folder} holds something else than an evaluation ({other[0]}); name another folder")

    def read(self) -> dict[int, Record]:
        """What is done, by sentence. Errors: a line that is none, or one of another evaluation."""
        if self.path is None or not self.path.is_file():
            return {}
        text = self.path.read_text(encoding="utf-8")
        lines = text.splitlines()
        if lines and not text.endswith("\n"):  # cut off while it was written; what is missing is measured again
            write_atomic(self.path, "".join(f"{line}\n" for line in lines[:-1]))
            lines = lines[:-1]
        found = [self._parsed(line, number) for number, line in enumerate(lines, 1)]
        return {record.sentence: record for record in found}

    def add(self, record: Record) -> None:
        """Keep one more."""
        if self.path is not None:
            append_line(self.path, json.dumps({"of": self.of, **asdict(record)}))

    def _parsed(self, line: str, number: int) -> Record:
        try:
            tree: dict[str, Any] = json.loads(line)
            of, record = tree.pop("of"), Record(**tree)
        except (ValueError, KeyError, TypeError, AttributeError):
            names = ", ".join(["of", *(field.name for field in fields(Record))])
            raise UserError(f"{self.path} line {number} is no record of a sentence with {names}") from None
        if of != self.of:
            raise UserError(
                f"{self.path} holds bounds of another model, of other sentences or of other settings; name another "
                "folder, or take that file away"
            )
        return record


def interrupted(folder: Path | None) -> Stopped:
    """The error of an evaluation that was asked to stop: what is kept of it, and how to go on."""
    file = None if folder is None else folder / FILE
    if file is None:
        return Stopped(
            Path(), how="nothing of it is kept, but the same command with --out <folder> keeps what is done and"
        )
    done = len(file.read_bytes().splitlines()) if file.is_file() else 0
    return Stopped(file.parent, how=f"the bounds of {done:,} sentences are kept in {folder}, and the same command")


def fingerprint(module: nn.Module, tensors: Iterable[Tensor], settings: str = "") -> str:
    """Twelve hexadecimal digits that name weights, other numbers, and settings."""
    digest = hashlib.sha256(settings.encode())
    for value in (*module.state_dict().values(), *tensors):
        plain = value.detach().cpu().contiguous()
        digest.update(str((plain.dtype, tuple(plain.shape))).encode())
        digest.update(plain.view(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b"")
    return digest.hexdigest()[:12]
