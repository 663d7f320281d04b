"""A run's folder: ``recipe.json`` (frozen when the run starts), ``metrics.jsonl``, ``checkpoints/``, ``model/``,
``result.json``.

It is all that ``psitext resume`` needs. A folder belongs to one recipe; another recipe in the same place is
refused, never mixed in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.config import build
from psitext.errors import UserError
from psitext.experiments.results.stamp import commit, threads, versions
from psitext.experiments.runs.recipes import VERBS, Recipe
from psitext.files import append_line, write_atomic
from psitext.train import checkpoint
from psitext.train.settings import BUDGETS

RECIPE, METRICS, RESULT = "recipe.json", "metrics.jsonl", "result.json"
TOKENIZER, TOKENS = "tokenizer.json", "tokens"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths and files of one run."""

    path: Path

    @property
    def model(self) -> Path:
        """Where the finished model lies."""
        return self.path / "model"

    @property
    def finished(self) -> bool:
        """True once the model and the result are written."""
        return (self.path / RESULT).is_file()

    def recipe(self) -> Recipe | None:
        """The frozen recipe, or None in a folder that no run has started in."""
        try:
            tree = json.loads((self.path / RECIPE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path / RECIPE} cannot be read ({error})") from None
        return build(VERBS[tree["recipe"]["verb"]], tree["recipe"], str(self.path / RECIPE))

    def start(self, recipe: Recipe) -> None:
        """Freeze a resolved recipe into the folder, with the versions it starts under."""
        stamp = {"versions": versions(), "commit": commit(), "threads": threads()}
        text = json.dumps({"recipe": recipe.tree(), **stamp}, indent=2, ensure_ascii=False)
        write_atomic(self.path / RECIPE, text)

    def claim(self, recipe: Recipe) -> Recipe | None:
        """The frozen recipe when this one may go on here; None when the folder is free; an error when it is
        another's.
        """
        found = self.recipe()
        if found is None:
            if self.path.is_dir() and any(not _prepared(file.name) for file in self.path.iterdir()):
                raise UserError(f"{self.path} holds files that are no run's; give --out another folder")
            return None
        if _without_budget(found) != _without_budget(recipe):
            raise UserError(
                f"{self.path} holds a run of another recipe; give --out another folder, or `psitext resume {self.path}`"
            )
        return found

    def log(self, event: dict[str, Any]) -> None:
        """Append one event of the training to ``metrics.jsonl``."""
        append_line(self.path / METRICS, json.dumps(event, ensure_ascii=False))

    def events(self) -> list[dict[str, Any]]:
        """Every logged event in order; a line that a crash cut off is left out."""
        file = self.path / METRICS
        if not file.exists():
            return []
        found = []
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def rewind(self) -> int:
        """Drop logged events that lie beyond the newest good checkpoint; returns its step."""
        newest = checkpoint.latest(self.path / "checkpoints")
        step = int(newest.name.removeprefix("step-")) if newest else 0
        if (self.path / METRICS).exists():
            kept = [json.dumps(event, ensure_ascii=False) for event in self.events() if event["step"] <= step]
            write_atomic(self.path / METRICS, "".join(line + "\n" for line in kept))
        return step

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result; from here on the run is done."""
        write_atomic(self.path / RESULT, json.dumps(result, indent=2, ensure_ascii=False))

    def result(self) -> dict[str, Any]:
        """The result of a finished run."""
        try:
            found: dict[str, Any] = json.loads((self.path / RESULT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise UserError(f"{self.path} holds no finished run") from None
        return found


def _prepared(name: str) -> bool:
    """What a run makes before it freezes its recipe, and what a kill may leave of it."""
    return name in (TOKENIZER, TOKENS) or name.endswith((".part", ".old"))


def _without_budget(recipe: Recipe) -> dict[str, Any]:
    """A recipe without the values that are worked out when a run starts."""
    tree = recipe.tree()
    tree["train"] = {
        key: value
        for key, value in tree["train"].items()
        if key not in (*BUDGETS, "evaluate_every", "checkpoint_every", "precision")
    }
    tree["encoder"] = {**(tree["encoder"] or {}), "vocab_size": 0}
    return tree
