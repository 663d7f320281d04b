"""What a comparison found, as a table for the terminal, ``compare.json`` and one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from psitext.experiments.compare.budget import Plan
from psitext.experiments.compare.judging import Interval, Judged, Verdict
from psitext.experiments.compare.rows import Rows
from psitext.experiments.compare.settings import CompareConfig, Contender
from psitext.experiments.compare.ways import Tried
from psitext.experiments.results import figures, lines, report, stamp
from psitext.experiments.results.report import Cell

SHOWN = 10  # rows that nothing answered rightly
LONGEST = 160  # letters of such a text on the page
_BARS = "95 % bootstrap intervals. In the text's colour: majority and bag of words, which have no encoder."
MOST_LABELS = 12  # of which the page shows how often each is found


@dataclass(frozen=True, slots=True)
class Standing:
    """A contender with what came of it under every seed."""

    contender: Contender
    tried: tuple[Tried, ...]
    judged: Judged
    metrics: Mapping[str, float]  # means over seeds
    plan: Plan | None
    dev_rows: int
    leak: str = ""  # why its scores do not count

    @property
    def name(self) -> str:
        """The contender's name."""
        return self.contender.name

    @property
    def parameters(self) -> int:
        """Numbers that were fitted, here or before."""
        return self.tried[0].parameters

    @property
    def train_seconds(self) -> float:
        """Of one training, on average."""
        return fmean(one.train_seconds for one in self.tried)

    @property
    def predict_seconds(self) -> float:
        """To answer 1,000 texts, the median over seeds."""
        return float(np.median([one.predict_seconds for one in self.tried])) * 1000 / self.dev_rows

    @property
    def remarks(self) -> tuple[str, ...]:
        """What has to be said beside the numbers."""
        first, found = self.tried[0], []
        if self.leak:
            found.append("LEAK: learnt from rows that judge")
        if self.judged.collapsed and self.contender.how != "majority":
            found.append(f"COLLAPSED in {self.judged.collapsed} of {len(self.tried)}")
        if self.plan is not None and self.plan.cut:
            found.append(f"{self.plan.steps:,} of {self.plan.wanted:,} steps, for want of time")
        if self.contender.most_rows == first.train_rows:
            found.append(f"trained on {first.train_rows:,} rows")
        if first.truncated:
            found.append(f"{first.truncated:,} texts cut at {first.max_len or self.contender.max_len} tokens")
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Compared:
    """A finished comparison: contenders best first, those that the time did not suffice for, and the verdict."""

    folder: Path
    rows: Rows
    config: CompareConfig
    standings: tuple[Standing, ...]
    left_out: Mapping[str, str]
    verdict: Verdict
    notes: tuple[str, ...]

    @property
    def metric(self) -> str:
        """What decides."""
        return self.rows.task.headline

    @property
    def report(self) -> Path:
        """The HTML page."""
        return self.folder / "report.html"

    def table(self) -> list[dict[str, object]]:
        """One record a contender, in words and rounded numbers; the columns of docs/comparing.md."""
        found = [
            {
                "contender": one.name,
                self.metric: round(one.judged.mean, 4),
                "over seeds": _range(one.judged.over_seeds),
                "over rows": _range(one.judged.over_rows),
                "behind the best": _behind(one.judged),
                "parameters": f"{one.parameters:,}",
                "train s": f"{one.train_seconds:.1f}",
                "s/1,000": f"{one.predict_seconds:.2f}",
                "seeds": len(one.tried),
                "remarks": "; ".join(one.remarks),
            }
            for one in self.standings
        ]
        empty: dict[str, object] = dict.fromkeys(found[0], "-") if found else {}
        return found + [{**empty, "contender": name, "remarks": why} for name, why in self.left_out.items()]

    def record(self) -> dict[str, Any]:
        """Every number, and what every contender answered to every row under every seed, as JSON holds it."""
        return {
            "task": self.rows.task.tree(),
            "metric": self.metric,
            "rows": {"train": len(self.rows.train), "dev": len(self.rows.dev)},
            "notes": list(self.notes),
            "recommendation": asdict(self.verdict),
            "contenders": [_record(one) for one in self.standings],
            "left out": dict(self.left_out),
            "dev": [{"line": one.line, "source": one.source, "label": one.label} for one in self.rows.dev],
            "settings": self.config.tree(),
            "commit": stamp.commit(),
            "versions": stamp.versions(),
            "threads": stamp.threads(),
            "finished": lines.now(),
        }


def _record(one: Standing) -> dict[str, Any]:
    judged = one.judged
    intervals = {"over seeds": judged.over_seeds, "over rows": judged.over_rows, "behind": judged.behind}
    return {
        "name": one.name,
        "settings": one.contender.tree(),
        "scores": list(judged.scores),
        "mean": judged.mean,
        **{name: None if found is None else asdict(found) for name, found in intervals.items()},
        "told from the best": judged.apart,
        "metrics": dict(one.metrics),
        "collapsed": judged.collapsed,
        "parameters": one.parameters,
        "train seconds": [tried.train_seconds for tried in one.tried],
        "predict seconds": [tried.predict_seconds for tried in one.tried],
        "train rows": one.tried[0].train_rows,
        "steps": one.tried[0].steps,
        "max_len": one.tried[0].max_len or None,
        "truncated": one.tried[0].truncated,
        "leak": one.leak,
        "plan": None if one.plan is None else asdict(one.plan),
        "notes": dict(one.tried[0].notes),
        "answers": [tried.answers for tried in one.tried],
    }


def page(found: Compared) -> report.Report:
    """The report."""
    task = found.rows.task
    parts: list[report.Table | report.Comparison] = [_main_table(found), *_remarks(found)]
    if find_spec("matplotlib") is not None:
        parts += _drawings(found)
    if task.kind == "classification" and len(task.labels) <= MOST_LABELS:
        parts.append(_by_label(found))
    if task.kind == "classification":
        parts += _hard_rows(found)
    best = found.standings[0]
    return report.Report(
        title=f"Comparison on {task.name}",
        lead=found.verdict.sentence,
        facts={
            "rows to train on": len(found.rows.train),
            "rows to judge by": len(found.rows.dev),
            f"best {found.metric}": best.judged.mean,
            "recommended": found.verdict.name or "nothing",
        },
        parts=parts,
        settings={
            **{key: value for key, value in found.config.tree().items() if key not in ("contenders", "also")},
            **{one.name: _settings(one) for one in found.standings},
        },
        versions=stamp.versions(),
        made=f"{lines.now()}, commit {stamp.commit()}, {stamp.threads()} threads",
    )


def _settings(one: Standing) -> dict[str, Any]:
    """A contender's settings, with the tokens that were read where its model reads fewer."""
    read = one.tried[0].max_len
    return {**one.contender.tree(), **({"max_len": read} if read else {})}


def _main_table(found: Compared) -> report.Table:
    table = [{key: value for key, value in record.items() if key != "remarks"} for record in found.table()]
    rows: list[Sequence[Any]] = []
    for record, one in zip(table, (*found.standings, *[None] * len(found.left_out)), strict=True):
        cells: list[Any] = list(record.values())
        if one is not None:
            flag = "leak" if one.leak else "collapsed" if "COLLAPSED" in "".join(one.remarks) else ""
            cells[1] = Cell(f"{one.judged.mean:.4f}", flag=flag, best=one is found.standings[0])
        rows.append(cells)
    note = (
        "Over seeds: 95 % interval of the mean under Student's t. Over rows: 95 % bootstrap interval over the rows to "
        "judge by. Behind the best: its lead, with a paired bootstrap interval over rows and seeds (95 % for all leads "
        "together); an interval that holds 0 does not tell the two apart. Seconds are wall clock on this machine."
    )
    chosen = next((place for place, one in enumerate(found.standings) if one.name == found.verdict.name), None)
    notes = " ".join(f"{text[0].upper()}{text[1:]}." for text in found.notes)
    return report.Table("Contenders", list(table[0]), rows, note=f"{note} {notes}".strip(), highlight=chosen)


def _remarks(found: Compared) -> list[report.Table]:
    """What is said of contenders, below the table, which would be too wide with it."""
    said = {one.name: "; ".join(one.remarks) for one in found.standings if one.remarks} | dict(found.left_out)
    rows = [[name, why] for name, why in said.items()]
    return [report.Table("Remarks", ["contender", "remark"], rows)] if rows else []


def _drawings(found: Compared) -> list[report.Comparison]:
    scores = [
        figures.Interval(one.name, one.judged.mean, one.judged.over_rows.low, one.judged.over_rows.high, _plain(one))
        for one in found.standings
    ]
    leads = [
        figures.Interval(one.name, one.judged.behind.value, one.judged.behind.low, one.judged.behind.high, _plain(one))
        for one in found.standings
        if one.judged.behind is not None
    ]
    title = f"{found.metric.replace('_', ' ').capitalize()} with its interval over rows"
    drawn = [report.Comparison(title, scores, x=found.metric, note=f"Dots: means over seeds; bars: {_BARS}")]
    if leads:
        title = f"How far behind {found.standings[0].name}"
        note = f"A bar that reaches 0 does not tell the two apart. Dots: differences; bars: {_BARS}"
        drawn.append(report.Comparison(title, leads, x=f"difference of {found.metric}", note=note))
    return drawn


def _plain(one: Standing) -> bool:
    return one.contender.how in ("majority", "bag-of-words")


def _by_label(found: Compared) -> report.Table:
    """The share of every label's rows that is answered rightly."""
    gold = np.asarray([one.label for one in found.rows.dev])
    labels = [label for label in found.rows.task.labels if np.any(gold == label)]
    rows: list[list[Any]] = []
    for one in found.standings:
        right = [np.asarray(tried.answers) == gold for tried in one.tried]
        rows.append([one.name, *(float(np.mean([some[gold == label].mean() for some in right])) for label in labels)])
    rows.append(["rows", *(str(int(np.sum(gold == label))) for label in labels)])
    return report.Table("Recall by label", ["contender", *labels], rows, note="Means over seeds.")


def _hard_rows(found: Compared) -> list[report.Table]:
    """Rows that no contender answers rightly under any seed: hard ones, or wrong labels."""
    rows: list[list[str | int]] = []
    for place, one in enumerate(found.rows.dev):
        said = [tried.answers[place] for standing in found.standings for tried in standing.tried]
        if one.label not in said and len(rows) < SHOWN:
            text = one.text if one.pair is None else f"{one.text} | {one.pair}"
            rows.append([one.line, text[:LONGEST] + ("..." if len(text) > LONGEST else ""), str(one.label)])
    note = f"The first {SHOWN} at most: hard, or labelled wrongly."
    return [report.Table("Rows that nothing answers rightly", ["line", "text", "label"], rows, note)] if rows else []


def _range(found: Interval | None) -> str:
    return "-" if found is None else f"{found.low:.3f} to {found.high:.3f}"


def _behind(judged: Judged) -> str:
    if judged.behind is None:
        return "best"
    apart = "" if judged.apart else ", level"
    return f"{judged.behind.value:.3f} ({_range(judged.behind)}){apart}"
