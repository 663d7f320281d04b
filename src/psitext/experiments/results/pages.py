"""Pages made from result lines and run folders, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from psitext.config import recipe_hash
from psitext.errors import UserError
from psitext.experiments.lowresource import showing
from psitext.experiments.results import figures, lines, report, stamp, sweeps
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder, no_run
from psitext.experiments.states import showing as kets
from psitext.files import write_atomic
from psitext.score.calibration import Bin
from psitext.score.statistics import GLUE_ENTRIES, glue_average, summary

if TYPE_CHECKING:
    from psitext.experiments.queue import Queue

HEAD = """# Results

Every number here comes from the result lines under `results/`, one JSON object for each finished run, and this
page is written from them by `psitext report --results results --out docs/results.md`. Scores are on development
sets; with several seeds: mean ± standard deviation (number of seeds). A score marked *collapsed* belongs to a
model that predicts one thing only.
"""

PANELS = {"left": sweeps.left, "right": sweeps.right, "cosine": sweeps.cosine}  # of a sweep's figure
SHOWN = (showing, kets)  # ways with tables and figures of their own
RULES: tuple[Literal["entries", "tasks"], ...] = ("entries", "tasks")


def write_results(folder: Path, out: Path) -> None:
    """The Markdown page of all result lines below a folder; its figures go into ``figures/`` beside it."""
    from psitext.experiments.queue import queue_names, read_queue

    if not folder.is_dir():
        raise UserError(f"there is no folder of result lines at {folder}")
    known = {name.replace("/", "-"): name for name in queue_names()}
    parts = [HEAD]
    for file in sorted(folder.glob("*.jsonl")):
        if file.stem not in known:
            parts.append(measurements(file))
            continue
        queue = read_queue(known[file.stem])
        drawn = drawings(queue, file)
        for name, drawing in drawn.items():
            write_atomic(out.parent / "figures" / f"{file.stem}{name}.svg", drawing)
        parts.append(section(queue, file, [f"figures/{file.stem}{name}.svg" for name in drawn]))
    write_atomic(out, "\n".join(parts))


def section(queue: Queue, file: Path, drawn: Sequence[str] = ()) -> str:
    """One queue's table: the paper's own rows, one for every variant, and those of other queues; a column for every
    task and split. ``drawn`` says where its figures lie.
    """
    found = lines.newest(file)
    if any(run.how == "sweep" for run in queue.runs):
        return _sweeps(queue, _of_its_sweeps(queue, found), drawn)
    for own in SHOWN:
        if any(run.how in own.WAYS for run in queue.runs):
            return _tables(queue, own.tables(queue, found), found, drawn)
    if queue.all_metrics:
        return _every_metric(queue.title, queue.note.strip(), queue.command, found, queue.paper, drawn)
    by_cell: dict[tuple[str, str], list[ResultLine]] = {}
    for line in [*found, *_beside(queue, file.parent, {line.task for line in found})]:
        by_cell.setdefault((line.run, _column(line)), []).append(line)
    columns = list(dict.fromkeys(_column(line) for line in found))
    rows = list(dict.fromkeys(row for row, _ in by_cell))
    table = [[f"*{name}*", *(_reported(scores, column) for column in columns)] for name, scores in queue.paper.items()]
    table += [[row, *(cell(by_cell.get((row, column), [])) for column in columns)] for row in rows]
    head = [f"## {queue.title}", "", queue.note.strip(), "", f"Made by: `{queue.command}`", ""]
    table.append(
        ["training tokens" if queue.curve else "training rows", *(_trained_on(column, by_cell) for column in columns)]
    )
    averages = [text for row in rows if (text := average(row, by_cell))]
    shown = [text for path in drawn for text in (f"![{queue.title}]({path})", "")]
    return "\n".join([*head, *shown, markdown(["", *columns], table), "", *averages, _cost(found), ""])


def drawings(queue: Queue, file: Path) -> dict[str, str]:
    """The figures of a queue as SVG, by what their names end in."""
    if any(run.how == "sweep" for run in queue.runs):
        found: dict[str, str] = {}
        for number, curve in enumerate(sweeps.curves(_of_its_sweeps(queue, lines.newest(file))), 1):
            if len(curve.restarts) < sweeps.FEWEST:
                continue
            panels = {side: draw(curve) for side, draw in PANELS.items()}
            found |= {f"-{number}-{side}": panel for side, panel in panels.items() if panel is not None}
        return found
    for own in SHOWN:
        if any(run.how in own.WAYS for run in queue.runs):
            return dict(own.drawings(queue, lines.newest(file)))
    drawing = figure(queue, file)
    return {} if drawing is None else {"": drawing}


def figure(queue: Queue, file: Path) -> str | None:
    """The curves of a queue that has them, as SVG: one for every variant, the mean over its seeds."""
    by_run: dict[str, list[list[dict[str, float]]]] = {}
    found = lines.newest(file)
    for line in [*_beside(queue, file.parent, {line.task for line in found}), *found]:
        if queue.curve and "curve" in line.notes:
            by_run.setdefault(line.run, []).append(line.notes["curve"])
    if not by_run:
        return None
    curves = {
        name: [
            (fmean(point["tokens"] for point in points), fmean(point[queue.curve] for point in points))
            for points in zip(*seeds, strict=False)
        ]
        for name, seeds in by_run.items()
    }
    return figures.learning_curves(curves, x="tokens trained on", y=f"{queue.curve} (dev)")


def _sweeps(queue: Queue, found: Sequence[ResultLine], drawn: Sequence[str]) -> str:
    """The tables of sweeps, one for every protocol, with their critical sizes and figures."""
    parts = [f"## {queue.title}", "", queue.note.strip(), "", f"Made by: `{queue.command}`", ""]
    if queue.paper:
        reported = "; ".join(
            f"{row}: " + ", ".join(f"{name} {value:g}" for name, value in numbers.items())
            for row, numbers in queue.paper.items()
        )
        parts += [f"*{reported}*", ""]
    for number, curve in enumerate(sweeps.curves(found), 1):
        parts += [
            f"### {curve.name}",
            "",
            markdown(sweeps.HEAD, sweeps.rows(curve)),
            "",
            sweeps.critical_line(curve),
            "",
        ]
        own = tuple(f"-{number}-{side}.svg" for side in PANELS)
        parts += [f"![{curve.name}]({path})\n" for path in drawn if path.endswith(own)]
    return "\n".join([*parts, _cost(found), ""])


def _tables(queue: Queue, tables: Sequence[showing.Table], found: Sequence[ResultLine], drawn: Sequence[str]) -> str:
    """The tables of what has its own, under their figures."""
    parts = [f"## {queue.title}", "", queue.note.strip(), "", f"Made by: `{queue.command}`", ""]
    parts += [text for path in drawn for text in (f"![{queue.title}]({path})", "")]
    for table in tables:
        parts += [f"### {table.title}", "", markdown(table.head, table.rows), ""]
    return "\n".join([*parts, _cost(found), ""])


def _of_its_sweeps(queue: Queue, found: Sequence[ResultLine]) -> list[ResultLine]:
    """The lines of the protocols that a queue has; in its file there may be those of others."""
    recipes = {recipe_hash(run.sweep.protocol) for run in queue.runs if run.sweep is not None}
    return [line for line in found if line.recipe in recipes]


def _beside(queue: Queue, folder: Path, tasks: Set[str]) -> Iterator[ResultLine]:
    """Lines of other queues that belong into this table, under their names here."""
    for name, rows in queue.beside.items():
        for line in lines.newest(folder / f"{name.replace('/', '-')}.jsonl"):
            if line.run in rows and line.task in tasks:
                yield line.model_copy(update={"run": rows[line.run]})


def _reported(scores: Mapping[str, float], column: str) -> str:
    """What a paper reports for a column, which is called "task, metric" or "task split, metric"."""
    value = scores.get(column.split(",")[0])
    return "" if value is None else f"{value:.3f}"


def average(row: str, by_cell: Mapping[tuple[str, str], Sequence[ResultLine]]) -> str:
    """Both GLUE averages of a variant, by their rules, where it has all nine entries."""
    scores = {}
    for (name, _), found in by_cell.items():
        if name == row:
            values = [next(iter(line.metrics.values())) for line in found]
            scores[_entry(found[0])] = summary(values).mean
    if not set(GLUE_ENTRIES) <= scores.keys():
        return ""
    entries, tasks = (glue_average(scores, rule=rule) for rule in RULES)
    return (
        f"- {row}: mean of the nine entries {entries:.3f}; of eight tasks, with MNLI's two averaged first, {tasks:.3f}"
    )


def cell(found: Sequence[ResultLine]) -> str:
    """The headline metric of one variant on one split, over its seeds, with the rows that it was trained on."""
    if not found:
        return ""
    name = next(iter(found[0].metrics))
    values = summary([line.metrics[name] for line in found])
    spread = "" if values.sd is None else f" ± {values.sd:.3f} ({values.n})"
    return f"{values.mean:.3f}{spread}{' *collapsed*' if any(line.collapsed for line in found) else ''}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*text, *("| " + " | ".join(row) + " |" for row in rows)])


def measurements(file: Path) -> str:
    """A table of any result lines: what was measured, with every metric."""
    found = lines.newest(file)
    command = next((str(line.notes["command"]) for line in found if "command" in line.notes), "")
    title = next(
        (str(line.notes["title"]) for line in found if "title" in line.notes),
        file.stem.replace("_", " ").capitalize(),
    )
    return _every_metric(title, "", command, found)


def _every_metric(
    title: str,
    note: str,
    command: str,
    found: Sequence[ResultLine],
    paper: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    drawn: Sequence[str] = (),
) -> str:
    """A row for every line, a column for every metric; the paper's own rows, in italics, come first."""
    names = list(dict.fromkeys(name for line in found for name in line.metrics))
    rows = [[f"*{run}*", "", *(_number(scores.get(name)) for name in names)] for run, scores in paper.items()]
    rows += [[line.run, line.task, *(_number(line.metrics.get(name)) for name in names)] for line in found]
    text = [note, ""] if note else []
    text += [part for path in drawn for part in (f"![{title}]({path})", "")]
    made = [f"Made by: `{command}`", ""] if command else []
    return "\n".join([f"## {title}", "", *text, *made, markdown(["", "of", *names], rows), "", _cost(found), ""])


def write_runs(folders: Sequence[Path], out: Path) -> None:
    """A self-contained HTML report of one or several runs: curves, scores, calibration, settings, versions."""
    parts: list[Any] = []
    settings: dict[str, Any] = {}
    for path in folders:
        folder = RunFolder(path)
        recipe = folder.recipe()
        if recipe is None:
            raise no_run(path)
        parts += run_parts(path.name, folder)
        settings[path.name] = recipe.tree()
    names = ", ".join(path.name for path in folders)
    report.write_report(
        report.Report(
            title=f"Report: {names}",
            lead=f"{len(folders)} {'run' if len(folders) == 1 else 'runs'} of psitext",
            parts=parts,
            settings=settings,
            versions=stamp.versions(),
        ),
        out,
    )


def run_parts(name: str, folder: RunFolder) -> list[Any]:
    """The curves of one run, and its scores and calibration once it has finished."""
    events = folder.events()
    parts: list[Any] = []
    curves = curves_of(events)
    if curves:
        parts.append(report.Curves(title=f"{name}: losses", curves=curves))
    dev = [event for event in events if event["kind"] == "dev"]
    scores = {key: [(event["step"], event[key]) for event in dev] for key in _scores(dev)}
    if scores:
        parts.append(report.Curves(title=f"{name}: on dev", curves=scores, y="score"))
    if folder.finished:
        result = folder.result()
        if "scores" in result:
            rows = [
                [split, metric, value]
                for split, metrics in result["scores"].items()
                for metric, value in metrics.items()
                if metric != "collapsed"
            ]
            parts.append(report.Table(title=f"{name}: scores", columns=["split", "metric", "value"], rows=rows))
        if "calibration" in result:
            bins = [Bin(**entry) for entry in result["calibration"]["bins"]]
            parts.append(report.Calibration(title=f"{name}: calibration", tables={"after temperature scaling": bins}))
    return parts


def curves_of(events: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Every loss of training and dev by name; a sum of one term is left out, since it is that term."""
    found: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        losses = [key for key in event if key.startswith("loss")]
        for key, value in event.items():
            if key in losses and not (key == "loss" and len(losses) == 2):
                where = "" if event["kind"] == "train" else " (dev)"
                found.setdefault(key.replace("_", " ") + where, []).append((event["step"], value))
    return found


def _scores(dev: Sequence[Mapping[str, Any]]) -> list[str]:
    hidden = ("kind", "step", "collapsed")
    return [key for key in (dev[0] if dev else {}) if key not in hidden and not key.startswith("loss")]


def _entry(line: ResultLine) -> str:
    """A line's name among GLUE's entries: MNLI has two."""
    two = {"dev_matched": "mnli-m", "dev_mismatched": "mnli-mm"}
    return two.get(line.split, line.task) if line.task == "mnli" else line.task


def _trained_on(column: str, by_cell: Mapping[tuple[str, str], Sequence[ResultLine]]) -> str:
    """How many examples the variants of a column were trained on."""
    those = [line for (_, name), found in by_cell.items() if name == column for line in found]
    counts = {line.rows["train"] for line in those if "train" in line.rows}  # a model that is judged as it is has none
    return " or ".join(f"{count:,}" for count in sorted(counts))


def _column(line: ResultLine) -> str:
    split = "" if line.split == "dev" else f" {line.split}"
    return f"{line.task}{split}, {next(iter(line.metrics))}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _cost(found: Sequence[ResultLine]) -> str:
    """Where the numbers come from: runs, time, commits, versions."""
    if not found:
        return "No run has finished yet."
    commits = ", ".join(sorted({line.commit[:10] for line in found}))
    hours = sum(line.seconds for line in found) / 3600
    newest = max(found, key=lambda line: line.finished)
    torch = newest.versions.get("torch")
    return f"{len(found)} result lines, {hours:.1f} hours, commits {commits}, torch {torch}, {newest.finished[:10]}."
