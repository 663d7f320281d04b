"""A run's folder: ``recipe.json``, ``data.json``, ``metrics.jsonl``, ``checkpoints/``, ``model/``, ``result.json``.

It is all that ``psitext resume`` needs. ``recipe.json`` is written before anything else and again when the run has
settled its budget, so a kill at any moment leaves a run that can go on. A folder belongs to one recipe; another
recipe in the same place is refused, never mixed in. Of several processes of one run the main one writes; ``.lock``
keeps those of another start out while it is at work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from psitext.config import build
from psitext.errors import UserError
from psitext.experiments.results.stamp import commit, threads, versions
from psitext.experiments.runs import ranks
from psitext.experiments.runs.recipes import (
    VERBS,
    AutoencodeRecipe,
    FinetuneRecipe,
    PretrainRecipe,
    Recipe,
    RespondRecipe,
)
from psitext.files import UNCHANGED, Unwritten, append_line, left_over, locked, remove, write_atomic
from psitext.train import checkpoint

RECIPE, METRICS, RESULT, CHECKPOINTS = "recipe.json", "metrics.jsonl", "result.json", "checkpoints"
TOKENIZER, WRITER, TOKENS, DATA, LOCK = "tokenizer.json", "writer.json", "tokens", "data.json", ".lock"

R = TypeVar("R", PretrainRecipe, FinetuneRecipe, AutoencodeRecipe, RespondRecipe)


class Stopped(UserError):
    """A run that was asked to stop and can go on."""

    exit_code = 130

    def __init__(self, folder: Path, step: int | None = None, how: str | None = None) -> None:
        self.step = step
        after = "interrupted" if step is None else f"stopped after step {step:,}"
        super().__init__(f"{after}; {how or f'`psitext resume {folder}`'} goes on from there")


class Taken(UserError):
    """A place that belongs to something else: ``what`` says so, ``remedy`` is what the command line advises."""

    def __init__(self, what: str, remedy: str = "give --out another folder") -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


def no_run(path: Path, what: str = "") -> UserError:
    """The error of a folder in which no run has started; one with a run for each seed names these."""
    seeds = sorted((file.parent for file in path.glob(f"seed-*/{RECIPE}")), key=lambda one: (len(one.name), one.name))
    if not seeds:
        return UserError(f"{path} holds no run{what}: it has no {RECIPE}")
    named = ", ".join(map(str, seeds[:12])) + (" ..." if len(seeds) > 12 else "")
    return UserError(
        f"{path} holds a run for each seed; name one of {named} (the same finetune command goes on with all of them)"
    )


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
        return (self.path / RESULT).is_file() and self.model.is_dir()

    def recipe(self) -> Recipe | None:
        """The recipe as far as it is settled, or None in a folder that no run has started in."""
        return self._read("recipe")

    @contextmanager
    def claimed(self, recipe: R) -> Iterator[R]:
        """The recipe to go on with in this folder: the one that is there, or ``recipe`` where the folder is free.

        A mistake that shows before the first step leaves a folder that was free as it was. Errors: a folder with
        another run, or with anything else, or in which another process is at work; a full disk says what is kept.
        """
        try:
            with ExitStack() as alone:
                with ranks.main_first():
                    if ranks.is_main() and not self.finished:  # a finished run is only read
                        alone.enter_context(self._alone())
                    found = self._claim(recipe)
                yield found
        except KeyboardInterrupt:
            raise (Stopped(self.path) if (self.path / RECIPE).exists() else KeyboardInterrupt) from None
        except Unwritten as error:
            goes_on = f"the run in {self.path} is kept, and `psitext resume {self.path}` goes on with it"
            left = goes_on if (self.path / RECIPE).exists() else UNCHANGED
            raise Unwritten(error.path, error.why, left) from error.__cause__

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The folder for this process alone; a mistake before the first step takes back what is new."""
        self._check_free()  # before there is a lock in another's folder
        new = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        try:
            with locked(self.path / LOCK):
                free = self._check_free()
                self._remove(left_over)
                try:
                    yield
                except UserError:
                    if free and not any((self.path / name).exists() for name in (METRICS, CHECKPOINTS)):
                        self._remove(lambda file: True)
                    raise
        finally:
            for folder in new:
                with suppress(OSError):  # one that holds anything stays
                    folder.rmdir()

    def _check_free(self) -> bool:
        """Whether no run has started here. Errors: files that are no run's."""
        if self._read("given") is not None:
            return False
        if self.path.is_dir() and any(file.name != LOCK and not left_over(file) for file in self.path.iterdir()):
            raise Taken(f"{self.path} holds files that are no run's")
        return True

    def _remove(self, what: Callable[[Path], bool]) -> None:
        for file in sorted(self.path.glob("*")):  # none where, without locks, nothing has made the folder yet
            if file.name != LOCK and what(file):
                remove(file)

    def _claim(self, recipe: R) -> R:
        given, settled = self._read("given"), self._read("recipe")
        if given is None:
            self._write(recipe, recipe)
            return recipe
        if recipe not in (given, settled) or not isinstance(settled, type(recipe)):
            raise Taken(
                f"{self.path} holds a run of another recipe",
                f"give --out another folder, or `psitext resume {self.path}`",
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
        """Every logged event in order; a line that a crash cut off, or that is no event, is left out."""
        file = self.path / METRICS
        if not file.exists():
            return []
        found = []
        for line in file.read_bytes().splitlines():
            try:
                event = json.loads(line.decode())
            except ValueError:
                continue
            if isinstance(event, dict) and "kind" in event and isinstance(event.get("step"), int):
                found.append(event)
        return found

    def rewind(self) -> int:
        """Make the checkpoints whole and drop logged events beyond the newest good one; returns its step."""
        checkpoint.mend(self.path / CHECKPOINTS)
        newest = checkpoint.latest(self.path / CHECKPOINTS)
        step = int(newest.name.removeprefix("step-")) if newest else 0
        if (self.path / METRICS).exists():
            kept = [json.dumps(event, ensure_ascii=False) for event in self.events() if event["step"] <= step]
            write_atomic(self.path / METRICS, "".join(line + "\n" for line in kept))
        return step

    def damaged_after(self, step: int) -> list[str]:
        """Checkpoints beyond the one that the run goes on from: it would go on from them if they were whole."""
        found = (path.name for path in (self.path / CHECKPOINTS).glob("step-*"))
        return sorted(name for name in found if int(name.removeprefix("step-")) > step)

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
