"""A run's folder: ``recipe.json``, ``metrics.jsonl``, ``checkpoints/``, ``model/``, ``result.json``.

It is all that ``psitext resume`` needs. ``recipe.json`` is written before anything else and again when the run has
settled its budget, so a kill at any moment leaves a run that can go on. A folder belongs to one recipe; another
recipe in the same place is refused, never mixed in. Of several processes the main one writes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from psitext.config import build
from psitext.errors import UserError
from psitext.experiments.results.stamp import commit, threads, versions
from psitext.experiments.runs import ranks
from psitext.experiments.runs.recipes import VERBS, FinetuneRecipe, PretrainRecipe, Recipe
from psitext.files import append_line, write_atomic
from psitext.train import checkpoint

RECIPE, METRICS, RESULT, CHECKPOINTS = "recipe.json", "metrics.jsonl", "result.json", "checkpoints"
TOKENIZER, TOKENS = "tokenizer.json", "tokens"

R = TypeVar("R", PretrainRecipe, FinetuneRecipe)


class Stopped(UserError):
    """A run that was asked to stop and can go on."""

    exit_code = 130

    def __init__(self, folder: Path, step: int | None = None) -> None:
        after = "interrupted" if step is None else f"stopped after step {step:,}"
        super().__init__(f"{after}; `psitext resume {folder}` goes on from there")


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
        """The recipe as far as it is settled, or None in a folder that no run has started in."""
        return self._read("recipe")

    @contextmanager
    def claimed(self, recipe: R) -> Iterator[R]:
        """The recipe to go on with in this folder: the one that is there, or ``recipe`` where the folder is free.

        A mistake that shows before the first step leaves a folder that was free as it was. Errors: a folder with
        another run, or with anything else.
        """
        free, existed, claimed = self._read("given") is None, self.path.exists(), False
        try:
            with ranks.main_first():
                found = self._claim(recipe)
            claimed = True
            yield found
        except KeyboardInterrupt:
            raise (Stopped(self.path) if (self.path / RECIPE).exists() else KeyboardInterrupt) from None
        except UserError:
            began = any((self.path / name).exists() for name in (METRICS, CHECKPOINTS))
            if claimed and free and not began and ranks.is_main():
                shutil.rmtree(self.path, ignore_errors=True)
                if existed:
                    self.path.mkdir()
            raise

    def _claim(self, recipe: R) -> R:
        given, settled = self._read("given"), self._read("recipe")
        if given is None:
            if self.path.is_dir() and any(self.path.iterdir()):
                raise UserError(f"{self.path} holds files that are no run's; give --out another folder")
            self._write(recipe, recipe)
            return recipe
        if recipe not in (given, settled) or not isinstance(settled, type(recipe)):
            raise UserError(
                f"{self.path} holds a run of another recipe; give --out another folder, or `psitext resume {self.path}`"
            )
        return settled

    def settle(self, recipe: Recipe) -> None:
        """Freeze what was worked out: budget and precision stay as they are now, whatever happens to the run."""
        self._write(recipe, self._read("given") or recipe)

    def _read(self, key: str) -> Recipe | None:
        path = self.path / RECIPE
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            found = tree.get(key, tree["recipe"])
            verb = found["verb"]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is no recipe of a run ({type(error).__name__}: {error})") from None
        if verb not in VERBS:
            raise UserError(f"{path} is of a run to {verb!r}, which this psitext does not know")
        return build(VERBS[verb], found, str(path))

    def _write(self, recipe: Recipe, given: Recipe) -> None:
        stamp = {"versions": versions(), "commit": commit(), "threads": threads()}
        tree = {"recipe": recipe.tree(), "given": given.tree(), **stamp}
        write_atomic(self.path / RECIPE, json.dumps(tree, indent=2, ensure_ascii=False))

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
        newest = checkpoint.latest(self.path / CHECKPOINTS)
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
