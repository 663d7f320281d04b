"""The demo, for a newcomer: the four models that come along, on the embedded corpus, and one page.

Read in this order: ``plan`` (from what, how much), ``reviews`` (the rows and the fine-tuning that two families share),
then a family a file, and ``page``. What needs no training comes first, so that something is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.errors import UserError
from psitext.experiments.demo import bert, optimus, page, qbert, rac, reviews
from psitext.experiments.demo.plan import Plan, Section, Show
from psitext.experiments.runs.folder import RunFolder, Stopped
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.files import saying_why
from psitext.model import load
from psitext.nn.threads import one_thread

__all__ = ["Demo", "Plan", "Section", "run_demo"]

ORDER = ("BERT", "QBERT", "RAC", "Optimus")


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo leaves: its table and its report."""

    rows: list[dict[str, Any]]
    report: Path


def run_demo(out: Path, plan: Plan, show: Show, tell: Callable[[Section], None] = lambda section: None) -> Demo:
    """Do what is missing of the demo in ``out`` (nothing is trained twice), then write the report.

    ``tell`` is given every family as soon as it is done. The nets are so small that a second thread gains a third of
    the time when nothing else runs, and costs ten times as much on a busy machine: the demo takes one. Errors, before
    anything is trained: a model that is not there, a folder that cannot be written or holds a demo of other rows.
    """
    circuit, space = load(plan.rac), load(plan.optimus)
    for name in (plan.bert, plan.qbert):
        load(name)
    _check_free(out, plan)
    rows = reviews.read(plan)
    found: list[Section] = []
    makers: tuple[Callable[[], Section], ...] = (
        lambda: rac.section(plan, rows, circuit),
        lambda: optimus.section(plan, space),
        lambda: bert.section(plan, rows, out, show),
        lambda: qbert.section(plan, rows, out, show),
    )
    for make in makers:
        try:
            with one_thread():
                found.append(make())
        except Stopped as stopped:
            raise Stopped(out, stopped.step, how="the same `psitext demo`") from stopped
        tell(found[-1])
    sections = sorted(found, key=lambda one: ORDER.index(one.family))
    table = [row for one in sections for row in one.rows if rows.task.headline in row]
    table.sort(key=lambda row: row["model"] in page.BASELINES)
    page.write(out / "report.html", sections, table, rows)
    return Demo(table, out / "report.html")


def _check_free(out: Path, plan: Plan) -> None:
    with saying_why(out):
        out.mkdir(parents=True, exist_ok=True)
    begun = RunFolder(out / "bert").recipe()
    if isinstance(begun, FinetuneRecipe) and begun.data.limit != plan.rows:
        raise UserError(f"{out} holds a demo of {begun.data.limit} rows; give --out another folder, or the same --rows")
