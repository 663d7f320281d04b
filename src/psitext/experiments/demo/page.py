"""The demo's page: the table of all classifiers, then a section for every family."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from psitext.experiments.demo.plan import Part, Section
from psitext.experiments.demo.reviews import Reviews
from psitext.experiments.results import report, stamp
from psitext.experiments.results.figures import Interval
from psitext.experiments.results.report import Cell

BASELINES = ("majority", "bag of words")


def write(path: Path, sections: Sequence[Section], rows: Sequence[dict[str, Any]], reviews: Reviews) -> None:
    """Write it; without matplotlib its figures are left out."""
    metric = reviews.task.headline
    best = max(str(one[metric]) for one in rows)
    table = report.Table(
        "Sentiment of generated reviews",
        list(rows[0]),
        [[Cell(value, best=key == metric and value == best) for key, value in one.items()] for one in rows],
        note=f"{len(reviews.train):,} reviews to learn from, judged on {len(reviews.test):,} others. Word order "
        "decides, so bags of words do poorly.",
    )
    scores = report.Comparison(
        f"{metric.capitalize()} on reviews that nothing was chosen by",
        [Interval(one["model"], float(one[metric]), baseline=one["model"] in BASELINES) for one in rows],
        x=metric,
    )
    parts: list[Part] = [table, scores, *(part for one in sections for part in one.parts)]
    report.write_report(
        report.Report(
            title="psitext demo",
            lead="Sentences as states, four ways: a BERT, a complex one, a matrix product state, a sentence space.",
            facts={one["model"]: one[metric] for one in rows if one["model"] not in BASELINES},
            parts=[part for part in parts if drawable(part)],
            settings={name: tree for one in sections for name, tree in one.settings.items()},
            versions=stamp.versions(),
            made=f"commit {stamp.commit()}, {stamp.threads()} threads",
        ),
        path,
    )


def drawable(part: Part) -> bool:
    """True for a table, and for a figure where matplotlib is there."""
    return isinstance(part, report.Table) or find_spec("matplotlib") is not None
