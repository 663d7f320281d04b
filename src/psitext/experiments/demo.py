"""The demo: pre-train a tiny BERT on the embedded corpus, fine-tune it, compare it, report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext.experiments import run
from psitext.experiments.evaluation import baseline_scores
from psitext.experiments.finetune import finetune_run, read_labelled
from psitext.experiments.results import pages, report, stamp
from psitext.experiments.results.report import Cell
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.train.loop import Hook

Show = Callable[[str], AbstractContextManager[Hook]]


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo leaves: its table and its report."""

    rows: list[dict[str, Any]]
    report: Path


def run_demo(out: Path, minutes: float, show: Show) -> Demo:
    """Do what is missing of the demo in ``out`` (nothing of it twice), then write the report."""
    with show("pre-train on the embedded corpus") as hook:
        pretrained = run.pretrain("demo-pretrain", out=out / "pretrained", minutes=minutes, hooks=[hook])
    runs = {"BERT, pre-trained": ("fine-tuned", False), "same BERT, not pre-trained": ("control", True)}
    rows: list[dict[str, Any]] = []
    for name, (folder, fresh) in runs.items():
        recipe = _recipe(pretrained.folder, fresh)
        with show(f"fine-tune: {name}") as hook:
            finetune_run(recipe, out / folder, [hook])
        scores = RunFolder(out / folder).result()["scores"]["dev"]
        rows.append({"model": name, **scores})
    data = read_labelled(recipe)
    for row in reversed(baseline_scores(data.task, data.train, data.dev)):
        rows.append(
            {
                "model": row["baseline"],
                **{key: value for key, value in row.items() if key not in ("baseline", "split")},
            }
        )
    rows = [{key: value for key, value in row.items() if key != "collapsed"} for row in rows]
    return Demo(rows, _report(out, rows, len(data.train), len(data.dev["dev"])))


def _recipe(init: Path, fresh: bool) -> FinetuneRecipe:
    recipe = resolve_recipe("finetune", "demo-finetune", (), {"init": str(init), "fresh": fresh})
    assert isinstance(recipe, FinetuneRecipe)
    return recipe


def _report(out: Path, rows: list[dict[str, Any]], train: int, dev: int) -> Path:
    metric = list(rows[0])[1]
    best = max(row[metric] for row in rows)
    table = report.Table(
        title="Sentiment of generated reviews",
        columns=list(rows[0]),
        rows=[[row["model"], *(Cell(value, best=value == best) for value in list(row.values())[1:])] for row in rows],
        note=f"{train:,} training examples, scored on {dev:,} others. Word order decides, so bags of words do poorly.",
        highlight=0,
    )
    folders = {name: RunFolder(out / name) for name in ("pretrained", "fine-tuned", "control")}
    facts = folders["pretrained"].result()["facts"]
    settings = {name: recipe.tree() for name, folder in folders.items() if (recipe := folder.recipe()) is not None}
    path = out / "report.html"
    report.write_report(
        report.Report(
            title="psitext demo",
            lead="A tiny BERT, pre-trained on the embedded corpus and fine-tuned for sentiment.",
            facts={
                "parameters": facts["parameters"],
                "pre-training steps": facts["steps"],
                f"{metric} on dev": rows[0][metric],
            },
            parts=[
                table,
                *(part for name, folder in folders.items() for part in pages.run_parts(name, folder)),
            ],
            settings=settings,
            versions=stamp.versions(),
            made=f"commit {stamp.commit()}, {stamp.threads()} threads",
        ),
        path,
    )
    return path
