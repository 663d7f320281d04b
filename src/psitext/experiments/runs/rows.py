"""Which rows a fine-tuning began with (``data.json``), so that a run never goes on, or counts as done, with others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from psitext.errors import UserError
from psitext.experiments.runs import ranks
from psitext.experiments.runs.folder import DATA, RunFolder, Taken
from psitext.files import write_atomic
from psitext.text.examples import Example


def check(folder: RunFolder, splits: Mapping[str, Sequence[Example]]) -> None:
    """Write down the rows that a run begins with; later, compare with what is written there.

    A run that began before rows were written down has nothing to compare with; an unfinished one gets it now.
    Errors: rows that are others than those of the beginning.
    """
    _compare(
        folder, {name: {"rows": len(examples), "sha256": fingerprint(examples)} for name, examples in splits.items()}
    )


def check_texts(folder: RunFolder, texts: Sequence[str]) -> None:
    """The same for sentences without labels."""
    digest = sha256()
    for text in texts:
        digest.update(text.encode() + b"\n")
    _compare(folder, {"train": {"rows": len(texts), "sha256": digest.hexdigest()}})


def _compare(folder: RunFolder, now: dict[str, dict[str, Any]]) -> None:
    then = recorded(folder)
    if then is None:
        if ranks.is_main() and not folder.finished:
            write_atomic(folder.path / DATA, json.dumps(now, indent=2))
        return
    for name in {**then, **now}:
        if then.get(name) != now.get(name):
            counts = [f"{found[name]['rows']:,}" if name in found else "none" for found in (then, now)]
            how = f"{counts[0]} then, {counts[1]} now" if counts[0] != counts[1] else f"still {counts[0]}, but others"
            raise Taken(
                f"the {name} rows are not those that the run in {folder.path} began with ({how})",
                "bring those back, or give --out another folder",
            )


def recorded(folder: RunFolder) -> dict[str, Any] | None:
    """What was written down: rows and sha256 of every split; None where a run has nothing."""
    path = folder.path / DATA
    try:
        return {name: {"rows": int(one["rows"]), "sha256": str(one["sha256"])} for name, one in _tree(path).items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UserError(f"{path} is damaged; delete it to go on without comparing the rows") from None


def _tree(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def fingerprint(examples: Sequence[Example]) -> str:
    """SHA-256 of what the examples say, in their order; where their file lies is no part of it."""
    digest = sha256()
    for one in examples:
        digest.update(json.dumps((one.text, one.pair, one.label, one.words, one.tags, one.answer)).encode() + b"\n")
    return digest.hexdigest()
