"""The comparison itself: every contender under every seed that is not done yet, then the verdict.

Its folder holds ``settings.json``, the rows (``rows/``), a folder for each contender with ``contender.json``,
``seed-<n>.json`` and, where it is trained, the run ``seed-<n>/``; at the end ``compare.json`` and ``report.html``.
What is done is never redone, and a kill at any moment loses no more than the training since its last checkpoint.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.compare.budget import Plan, made_plan, planned, with_steps
from psitext.experiments.compare.judging import judge, recommend
from psitext.experiments.compare.outcome import Compared, Standing, page
from psitext.experiments.compare.rows import Columns, Rows, read_rows, write_rows
from psitext.experiments.compare.settings import (
    FLOOR,
    TRAINED,
    WAYS,
    CompareConfig,
    Contender,
    chosen,
    read_preset,
    with_floor,
)
from psitext.experiments.compare.starts import (
    Start,
    anchored,
    check_also,
    leak,
    look_at,
    recipe_of,
    strange,
    suspicions,
)
from psitext.experiments.compare.ways import (
    Job,
    Tried,
    note_contender,
    noted_contenders,
    read_tried,
    try_out,
    write_tried,
)
from psitext.experiments.results import report
from psitext.experiments.runs import rows as recorded_rows
from psitext.experiments.runs.folder import RunFolder, Stopped
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.files import left_over, locked, remove, write_atomic
from psitext.score import metrics
from psitext.text.examples import Kind
from psitext.train.loop import Hook

SETTINGS, RESULT, LOCK, ROWS = "settings.json", "compare.json", ".lock", "rows"

Show = Callable[[str], AbstractContextManager[Hook]]
Tell = Callable[[str], None]


def compare(
    data: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    pair: str | None = None,
    dev: str | Path | None = None,
    kind: Kind | None = None,
    metric: str | None = None,
    limit: int | None = None,
    also: Sequence[str | Path] = (),
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    seeds: int | None = None,
    minutes: float | None = None,
    config: str = "usual",
    out: str | Path | None = None,
    tell: Tell = lambda sentence: None,
) -> Compared:
    """Train and judge all contenders of a preset on a labelled table, and recommend one.

    ``also`` names further models (runs, model folders, hf:<folder or hub id>); ``only`` and ``without`` choose among
    the contenders; ``dev`` is a file to judge by, in place of a share of the rows. ``out`` is by default
    ``runs/compare-<name of the table>``; what is done there is not done again. ``tell`` is given a sentence for every
    step of the way. docs/comparing.md says what is compared, and by which rules.

    Errors: UserError for what is wrong with the table, a name or a model; before anything is trained or written.
    """
    _check_types(data, also, only, without)
    preset = with_limits(read_preset(config), seeds, minutes)
    contenders = chosen(preset, list(map(str, also)), only, without)
    columns = Columns(text, label, pair, kind)
    found = read_rows(str(data), columns, preset, dev=None if dev is None else str(dev), metric=metric, limit=limit)
    for sentence in check_also(list(map(str, also)), contenders):
        tell(sentence)
    place = Path(out) if out is not None else default_folder(found)
    return compare_rows(found, contenders, preset, place, without=without, tell=tell)


def _check_types(data: object, also: object, only: object, without: object) -> None:
    if not isinstance(data, str | os.PathLike):
        raise UserError(f"data is the path of a table, or hub:<name>, not a {type(data).__name__}")
    for name, given in (("also", also), ("only", only), ("without", without)):
        if isinstance(given, str | os.PathLike) or not isinstance(given, Sequence):
            raise UserError(f"{name} is a list of names, such as [{str(given)!r}], not a {type(given).__name__}")


def with_limits(config: CompareConfig, seeds: int | None, minutes: float | None) -> CompareConfig:
    """A preset with the seeds and minutes that are asked for. Errors: numbers that are none of such."""
    if seeds is not None and (not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1):
        raise UserError(f"seeds is a whole number from 1 on, not {seeds!r}")
    if minutes is not None and not (isinstance(minutes, int | float) and 0 < minutes < math.inf):
        raise UserError(f"minutes is a number above 0, not {minutes!r}")
    given = {"seeds": seeds, "minutes": minutes}
    return config.model_copy(update={key: value for key, value in given.items() if value is not None})


def default_folder(rows: Rows) -> Path:
    """Where a comparison goes that is given no place."""
    return Path("runs") / f"compare-{rows.task.name}"


@contextmanager
def _silent(title: str) -> Iterator[Hook]:
    yield lambda event: None


@dataclass(frozen=True, slots=True)
class _Bench:
    """What every training needs."""

    out: Path
    rows: Rows
    config: CompareConfig
    starts: Mapping[str, Start]
    deadline: float  # of time.monotonic
    show: Show
    tell: Tell

    @property
    def left(self) -> float:
        """Seconds until the time is up."""
        return self.deadline - time.monotonic()


def compare_rows(
    rows: Rows,
    contenders: Sequence[Contender],
    config: CompareConfig,
    out: Path,
    *,
    without: Sequence[str] = (),
    show: Show = _silent,
    tell: Tell = lambda sentence: None,
) -> Compared:
    """Compare contenders on rows that are read already, and with them those that were done in the folder before,
    except ``without``. Errors: a folder of another comparison, or of anything else; a model that is not there.
    """
    deadline = time.monotonic() + 60 * config.minutes
    contenders = [one.model_copy(update={"init": one.init and anchored(one.init)}) for one in with_floor(contenders)]
    _check_folder(out)
    starts = look_at(contenders, rows)
    by_init = {init: leak(init, rows) for init in starts}
    leaks = {one.name: by_init[one.init] for one in contenders if one.init is not None}
    notes = (*rows.notes, *strange(starts, config), *suspicions(starts, by_init))
    with _claimed(out, rows, config):
        for note in (f"{len(rows.train):,} rows to train on, {len(rows.dev):,} to judge by", *notes):
            tell(note)
        bench = _Bench(out, rows, config, starts, deadline, show, tell)
        tried: dict[str, list[Tried]] = {}
        plans: dict[str, Plan | None] = {}
        left_out: dict[str, str] = {}
        for place, one in enumerate(contenders):
            plans[one.name], tried[one.name], why = _all_seeds(one, contenders[place:], bench)
            if tried[one.name]:
                note_contender(out / one.name, one, leaks.get(one.name, ""))
            if why:
                left_out[one.name] = why
                tell(f"{one.name}: {why}")
        for one, earlier, plan, seen in _earlier([*(one.name for one in contenders), *without], bench):
            contenders, tried[one.name], plans[one.name], leaks[one.name] = [*contenders, one], earlier, plan, seen
        contenders.sort(key=lambda one: WAYS.index(one.how))  # of equals the cheaper one stands first
        tried = {one.name: tried[one.name] for one in contenders}
        found = _concluded(bench, contenders, tried, plans, left_out, leaks, notes)
        write_atomic(out / RESULT, json.dumps(found.record(), ensure_ascii=False))
        report.write_report(page(found), found.report)
    return found


def _all_seeds(one: Contender, ahead: Sequence[Contender], bench: _Bench) -> tuple[Plan | None, list[Tried], str]:
    """The plan of a contender, what came of every seed, and, where none did, why."""
    seeds = range(_seeds(one, bench))
    found = {seed: _done(one, seed, bench) for seed in seeds}
    missing = [seed for seed in seeds if found[seed] is None]
    plan = _plan(one, ahead, bench) if one.how == "finetune" else None
    out_of_time = f"not run: the {bench.config.minutes:g} minutes were used up"
    for seed in missing:
        if one.how in TRAINED and (bench.left <= 0 or (one.how == "finetune" and plan is None)):
            break
        found[seed] = _one(one, seed, plan, bench)
    done = [tried for tried in found.values() if tried is not None]
    return plan, done, "" if done else out_of_time


def _earlier(named: Sequence[str], bench: _Bench) -> list[tuple[Contender, list[Tried], Plan | None, str]]:
    """What was done in the folder before and is not named now, with plan and leak."""
    found = []
    for name, (one, seen) in noted_contenders(bench.out).items():
        if name in named:
            continue
        paths = sorted((bench.out / name).glob("seed-*.json"), key=lambda path: (len(path.name), path.name))
        tried = [read for path in paths if (read := read_tried(path, one, len(bench.rows.dev))) is not None]
        if tried:
            found.append((one, tried, made_plan(bench.out / name), seen))
    if found:
        bench.tell(f"kept from before: {', '.join(one.name for one, *_ in found)} (--without takes one out)")
    return found


def _seeds(one: Contender, bench: _Bench) -> int:
    """What is fitted in closed form or to the end has nothing that a seed would decide, and is done once."""
    return bench.config.seeds if one.how == "finetune" else 1


def _plan(one: Contender, ahead: Sequence[Contender], bench: _Bench) -> Plan | None:
    """The steps of a contender, whose trainings get an equal share of the time with all that are still to do."""
    waiting = [(other, seed) for other in ahead if other.how in TRAINED for seed in range(_seeds(other, bench))]
    still = sum(_done(other, seed, bench) is None for other, seed in waiting)
    recipe = _recipe(one, 0, bench)
    share = max(bench.left, 0.0) / max(still, 1)
    return planned(bench.out / one.name, one, recipe, len(bench.rows.train), share, bench.config.least_steps)


def _one(one: Contender, seed: int, plan: Plan | None, bench: _Bench) -> Tried:
    """Train and ask one contender under one seed, and write down what came of it."""
    folder = bench.out / one.name / f"seed-{seed}"
    recipe = _recipe(one, seed, bench) if one.how in TRAINED else None
    if recipe is not None and plan is not None:
        recipe = with_steps(recipe, plan.steps)
        begun = RunFolder(folder).recipe()
        if begun is not None and getattr(begun, "task", None) != recipe.task:  # the folder was moved meanwhile
            remove(folder)
    with bench.show(f"{one.name}, seed {seed}") as hook:
        try:
            tried = try_out(Job(one, seed, bench.rows, folder, recipe), hook)
        except Stopped as stopped:
            raise Stopped(folder, stopped.step, "the same command") from None
    write_tried(folder.with_suffix(".json"), one, seed, tried)
    score = _score(tried, bench.rows, bench.rows.task.headline)
    took = f"{tried.train_seconds:.1f} s to train, {tried.predict_seconds:.1f} s to answer"
    bench.tell(f"{one.name}, seed {seed}: {bench.rows.task.headline} {score:.4f}, {took}")
    return tried


def _recipe(one: Contender, seed: int, bench: _Bench) -> FinetuneRecipe:
    start = bench.starts[one.init] if one.init is not None else None
    return recipe_of(one, start, bench.out / ROWS / "task.toml", seed)


def _done(one: Contender, seed: int, bench: _Bench) -> Tried | None:
    """What came of a contender under a seed before. Errors: it was another contender of the name."""
    return read_tried(bench.out / one.name / f"seed-{seed}.json", one, len(bench.rows.dev))


def _concluded(
    bench: _Bench,
    contenders: Sequence[Contender],
    tried: Mapping[str, Sequence[Tried]],
    plans: Mapping[str, Plan | None],
    left_out: Mapping[str, str],
    leaks: Mapping[str, str],
    notes: tuple[str, ...],
) -> Compared:
    task, rows = bench.rows.task, bench.rows
    gold = evaluation.gold(task, rows.dev)
    answers = {name: [evaluation.numbers(task, one.answers) for one in some] for name, some in tried.items() if some}
    if left_out and set(answers) <= {FLOOR}:
        raise UserError(f"the {bench.config.minutes:g} minutes were used up before any contender; give more --minutes")
    aside = [name for name in answers if leaks.get(name)]
    judged = judge(task.headline, gold, answers, aside=aside)
    by_name = {one.name: one for one in contenders}
    standings = tuple(
        Standing(
            by_name[name],
            tuple(tried[name]),
            one,
            {metric: fmean(_score(seed, rows, metric) for seed in tried[name]) for metric in task.metrics},
            plans[name],
            len(rows.dev),
            leaks.get(name, ""),
        )
        for name, one in judged.items()
    )
    sizes = {one.name: one.parameters for one in standings}
    speeds = {one.name: one.predict_seconds for one in standings}
    fair = {name: one for name, one in judged.items() if name not in aside}
    verdict = recommend(fair, sizes, speeds, len(rows.dev), bench.config.least_dev)
    if aside:
        told = f"{verdict.sentence} Left out of this: {', '.join(aside)}, which learnt from rows that judge."
        verdict = replace(verdict, sentence=told)
    return Compared(bench.out, rows, bench.config, standings, left_out, verdict, notes)


def _score(tried: Tried, rows: Rows, metric: str) -> float:
    predicted = np.asarray(evaluation.numbers(rows.task, tried.answers))
    return metrics.evaluate([metric], predicted, evaluation.gold(rows.task, rows.dev))[metric]


def _check_folder(out: Path) -> None:
    """Refuse a place that holds anything else than a comparison."""
    if out.is_file():
        raise UserError(f"{out} is a file; give --out a folder")
    others = [file for file in out.iterdir() if file.name != LOCK and not left_over(file)] if out.is_dir() else []
    if others and not (out / SETTINGS).is_file():
        raise UserError(f"{out} holds files that are no comparison's; give --out another folder")


def _check_rows(out: Path, rows: Rows) -> None:
    """Write down the rows of a new comparison. Errors: it began with others."""
    splits = {"train": rows.train, "dev": rows.dev}
    then = recorded_rows.recorded(RunFolder(out))
    for name, some in splits.items():
        was = None if then is None else then.get(name)
        if was is not None and was["sha256"] != recorded_rows.fingerprint(some):
            raise UserError(
                f"the {name} rows are not those that the comparison in {out} began with ({was['rows']:,} then, "
                f"{len(some):,} now); bring those back, or give --out another folder"
            )
    recorded_rows.check(RunFolder(out), splits)


@contextmanager
def _claimed(out: Path, rows: Rows, config: CompareConfig) -> Iterator[None]:
    """The folder for this process alone, with the rows in it. Errors: one that began with other rows."""
    new = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        with locked(out / LOCK):
            _check_rows(out, rows)
            if not (out / SETTINGS).is_file():
                write_rows(rows, out / ROWS)
                write_atomic(out / SETTINGS, json.dumps(config.tree(), indent=2, ensure_ascii=False))
            yield
    except KeyboardInterrupt:  # between trainings, or while a baseline is fitted
        raise Stopped(out, how="the same command") from None
    finally:
        for folder in new:
            with suppress(OSError):  # one that holds anything stays
                folder.rmdir()
